// What a log that was opened again shows, it keeps: also after a sync that failed.
#include <gtest/gtest.h>

#include "tests/txn/log_support.h"

namespace oncelog::testing {
namespace {

// A failed fsync leaves pages that read well, count as clean and are never written. A log that was
// opened again in the same boot served them, and the next power cut took what readers had seen;
// now the unproved tail is written once more before it is served (H-077).
TEST(LogFsync, WhatIsShownAfterAFailedSyncSurvivesThePowerCut) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  ASSERT_TRUE(log->append(make_batch({.count = 1})).ok());
  // An append is a write and a sync.
  store.io().fail_at(store.io().operation_count() + 1, EIO);
  const Result<AppendResult> failed = log->append(make_batch({.count = 1}));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);

  log.reset();
  store.kill();
  store.open();
  log = store.open_log();
  const Offset shown = log->offsets().high_watermark;
  log.reset();
  store.power_cut(PowerCut::kNoneKept, 1);
  store.open();
  log = store.open_log();

  EXPECT_EQ(shown, 2);
  EXPECT_EQ(log->offsets().high_watermark, shown);
}

TEST(LogSidecar, ARollWhereItEndsIsNoForeignWriter) {
  SimStore store;
  std::shared_ptr<Log> log = store.open_log();
  ASSERT_TRUE(log->append(make_batch({.count = 1})).ok());
  ASSERT_TRUE(log->close().ok());
  log = store.open_log();

  ASSERT_TRUE(log->roll().ok());
  ASSERT_TRUE(log->flush().ok());
  ASSERT_TRUE(log->append(make_batch({.count = 1})).ok());
  log.reset();
  store.kill();
  store.open();
  log = store.open_log();

  EXPECT_TRUE(log->recovery_report().sidecar_used);
  for (const std::string& note : log->recovery_report().notes) {
    EXPECT_EQ(note.find("another writer"), std::string::npos) << note;
  }
}

}  // namespace
}  // namespace oncelog::testing
