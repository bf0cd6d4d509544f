// Fault rules over the simulator and over the real disk.
#include "oncelog/fault_io.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sim/sim_fixture.h"

namespace oncelog {
namespace {

FaultRule rule_on(FaultPoint on, int sys_errno = EIO) {
  FaultRule rule;
  rule.on = on;
  rule.sys_errno = sys_errno;
  return rule;
}

struct Machine {
  Machine()
      : disk(std::make_shared<SimDisk>()),
        plan(std::make_shared<FaultPlan>()),
        sim(std::make_shared<SimIo>(disk)),
        io(std::make_shared<FaultIo>(sim, plan)) {}
  void add(FaultRule rule) const { ASSERT_TRUE(plan->add(std::move(rule)).ok()); }
  std::shared_ptr<SimDisk> disk;
  std::shared_ptr<FaultPlan> plan;
  std::shared_ptr<SimIo> sim;
  std::shared_ptr<FaultIo> io;
};

int errno_of(const Status& status) {
  return status.ok() ? 0 : status.error().sys_errno;
}

IoCompletion only(IoQueue& queue) {
  std::vector<IoCompletion> done;
  EXPECT_EQ(queue.poll(done, -1), 1U);
  EXPECT_EQ(queue.in_flight(), 0U);
  return done.empty() ? IoCompletion{} : std::move(done.front());
}

TEST(FaultIo, HitsTheNthMatchingOperationSoManyTimes) {
  Machine m;
  FaultRule rule = rule_on(FaultPoint::kWrite);
  rule.file = "*.log";
  rule.nth = 2;
  rule.times = 2;
  m.add(rule);
  const auto log = open(*m.io, "d.log");
  const auto other = open(*m.io, "d.index");

  std::string answers;
  for (int i = 0; i < 5; ++i) {
    answers += log->write_at(0, text_bytes("x")).ok() ? 'y' : 'n';
    EXPECT_TRUE(other->write_at(0, text_bytes("x")).ok());
  }

  EXPECT_EQ(answers, "ynnyy");
  EXPECT_EQ(m.plan->hits(), 2);
}

TEST(FaultIo, HitsEachKindOfOperation) {
  Machine m;
  put(*m.disk, "f", "abc");
  const auto file = open(*m.io, "f");
  for (const FaultPoint point :
       {FaultPoint::kWrite, FaultPoint::kFsync, FaultPoint::kRead, FaultPoint::kCreate,
        FaultPoint::kRename, FaultPoint::kTruncate, FaultPoint::kUnlink, FaultPoint::kFsyncDir}) {
    FaultRule rule = rule_on(point, EROFS);
    rule.times = -1;
    m.add(rule);
  }
  std::array<std::byte, 3> into{};
  FileSystem& files = m.io->files();

  EXPECT_EQ(errno_of(file->write_at(0, text_bytes("x"))), EROFS);
  EXPECT_EQ(errno_of(file->sync()), EROFS);
  EXPECT_EQ(errno_of(file->read_at(0, into).status()), EROFS);
  EXPECT_EQ(errno_of(file->truncate(0)), EROFS);
  EXPECT_EQ(errno_of(files.open("new", OpenMode::kCreate).status()), EROFS);
  EXPECT_EQ(errno_of(files.make_directory("new")), EROFS);
  EXPECT_EQ(errno_of(files.rename("f", "g")), EROFS);
  EXPECT_EQ(errno_of(files.unlink("f")), EROFS);
  EXPECT_EQ(errno_of(files.remove_directory("d")), EROFS);
  EXPECT_EQ(errno_of(files.sync_directory("/")), EROFS);
  EXPECT_EQ(errno_of(files.sync_file_system("/")), EROFS);
  EXPECT_TRUE(files.open("f", OpenMode::kCreate).ok()) << "nothing is created";
  EXPECT_EQ(m.disk->paths(), std::vector<std::string>{"f"});
  m.plan->clear();
  EXPECT_TRUE(files.unlink("f").ok());
}

TEST(FaultIo, HitsQueuedOperations) {
  Machine m;
  const auto file = open(*m.io, "f");
  const auto queue = queue_of(*m.io);
  for (const FaultPoint point : {FaultPoint::kWrite, FaultPoint::kFsync, FaultPoint::kRead})
    m.add(rule_on(point, ECANCELED));

  for (const IoRequest::Kind kind :
       {IoRequest::Kind::kWrite, IoRequest::Kind::kSync, IoRequest::Kind::kRead}) {
    queue->submit(request_of(kind, 9, file, 0, "abc"));
    const IoCompletion failed = only(*queue);
    EXPECT_EQ(errno_of(failed.status), ECANCELED);
    EXPECT_EQ(failed.status.error().path, "f");
    EXPECT_EQ(failed.token, 9U);
    EXPECT_EQ(failed.buffers.size(), kind == IoRequest::Kind::kSync ? 0U : 1U);
    queue->submit(request_of(kind, 9, file, 0, "abc"));
    EXPECT_TRUE(only(*queue).status.ok());
  }
}

TEST(FaultIo, AFullDiskTakesHalfOfAWrite) {
  Machine m;
  FaultRule rule = rule_on(FaultPoint::kWrite, ENOSPC);
  rule.times = 2;
  m.add(rule);
  const auto file = open(*m.io, "f");
  const auto queue = queue_of(*m.io);

  const Status blocking = file->write_at(0, text_bytes("abcd"));
  EXPECT_EQ(text_on(*m.disk, "f"), "ab");
  queue->submit(request_of(IoRequest::Kind::kWrite, 1, file, 0, "ABCDEFGH"));
  const IoCompletion queued = only(*queue);

  EXPECT_EQ(blocking.error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(queued.status.error().code, ErrorCode::kDiskFull);
  EXPECT_EQ(queued.buffers.at(0).size(), 8U);
  EXPECT_EQ(text_on(*m.disk, "f"), "ABCD");
}

// H084: the rest of a short write is written, as an operation of its own.
TEST(FaultIo, AShortWriteIsFinishedInside) {
  Machine m;
  FaultRule rule = rule_on(FaultPoint::kWrite);
  rule.short_bytes = 3;
  rule.times = 2;
  m.add(rule);
  const auto file = open(*m.io, "f");
  const auto queue = queue_of(*m.io);

  write(*file, 0, "abcdef");
  queue->submit(request_of(IoRequest::Kind::kWrite, 1, file, 6, "ghijkl"));
  const std::uint64_t before = m.sim->operation_count();
  EXPECT_TRUE(only(*queue).status.ok());

  EXPECT_EQ(text_on(*m.disk, "f"), "abcdefghijkl");
  EXPECT_EQ(m.sim->operation_count() - before, 1U) << "the rule is used up";
}

TEST(FaultIo, AShortReadIsFinishedInside) {
  Machine m;
  put(*m.disk, "f", "abcdef");
  FaultRule rule = rule_on(FaultPoint::kRead);
  rule.short_bytes = 2;
  rule.times = -1;
  m.add(rule);
  const auto file = open(*m.io, "f");
  const auto queue = queue_of(*m.io);

  queue->submit(request_of(IoRequest::Kind::kRead, 1, file, 1, "........"));
  const IoCompletion read = only(*queue);

  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(read.bytes, 5);
  EXPECT_EQ(std::memcmp(read.buffers.at(0).bytes().data(), "bcdef...", 8), 0);
}

TEST(FaultIo, AnInterruptedCallIsRepeatedWithABound) {
  Machine m;
  FaultRule rule = rule_on(FaultPoint::kFsync, EINTR);
  rule.times = 3;
  m.add(rule);
  const auto file = open(*m.io, "f");

  EXPECT_TRUE(file->sync().ok());
  EXPECT_EQ(m.plan->hits(), 3);
  rule.times = -1;
  m.add(rule);

  EXPECT_EQ(errno_of(file->sync()), EINTR);
}

TEST(FaultIo, ALieLeavesTheDataUnsynced) {
  Machine m;
  put(*m.disk, "f", "old");
  FaultRule rule = rule_on(FaultPoint::kFsync);
  rule.lie = true;
  rule.times = 2;
  m.add(rule);
  const auto file = open(*m.io, "f");
  const auto queue = queue_of(*m.io);
  write(*file, 0, "new");

  EXPECT_TRUE(file->sync().ok());
  queue->submit(request_of(IoRequest::Kind::kSync, 1, file));
  EXPECT_TRUE(only(*queue).status.ok());
  const auto lied = m.disk->clone();
  lied->power_cut(PowerCut::kNoneKept, 1);
  EXPECT_EQ(text_on(*lied, "f"), "old");
  EXPECT_TRUE(file->sync().ok());
  m.disk->power_cut(PowerCut::kNoneKept, 1);

  EXPECT_EQ(text_on(*m.disk, "f"), "new");
}

TEST(FaultIo, ALieAboutADirectoryLeavesTheNameUnsynced) {
  Machine m;
  FaultRule rule = rule_on(FaultPoint::kFsyncDir);
  rule.lie = true;
  m.add(rule);
  open(*m.io, "f");

  EXPECT_TRUE(m.io->files().sync_directory("/").ok());
  m.disk->power_cut(PowerCut::kNoneKept, 1);

  EXPECT_EQ(text_on(*m.disk, "f"), "(missing)");
}

// H077: the retry says yes, the data is gone.
TEST(FaultIo, AFailedSyncLosesThePagesOfTheSimulator) {
  for (const bool queued : {false, true}) {
    Machine m;
    put(*m.disk, "f", "old");
    m.add(rule_on(FaultPoint::kFsync));
    const auto file = open(*m.io, "f");
    const auto queue = queue_of(*m.io);
    write(*file, 0, "new");

    if (queued) {
      queue->submit(request_of(IoRequest::Kind::kSync, 1, file));
      EXPECT_FALSE(only(*queue).status.ok());
    } else {
      EXPECT_FALSE(file->sync().ok());
    }
    EXPECT_TRUE(file->sync().ok());
    m.disk->power_cut(PowerCut::kAllKept, 1);

    EXPECT_EQ(text_on(*m.disk, "f"), "old");
  }
}

TEST(FaultIo, RulesOutliveACrash) {
  Machine m;
  FaultRule rule = rule_on(FaultPoint::kWrite);
  rule.nth = 2;
  m.add(rule);
  write(*open(*m.io, "f"), 0, "a");

  m.disk->power_cut(PowerCut::kAllKept, 1);
  FaultIo next(std::make_shared<SimIo>(m.disk), m.plan);

  EXPECT_FALSE(open(next, "f")->write_at(0, text_bytes("b")).ok());
}

TEST(FaultIo, WorksOnTheRealDisk) {
  auto system = make_system_io();
  ASSERT_TRUE(system.ok());
  const auto plan = std::make_shared<FaultPlan>();
  FaultRule rule = rule_on(FaultPoint::kWrite);
  rule.short_bytes = 1;
  ASSERT_TRUE(plan->add(rule).ok());
  ASSERT_TRUE(plan->add(rule_on(FaultPoint::kFsync)).ok());
  FaultIo io(*system, plan);
  const std::string path = (std::filesystem::temp_directory_path() / "oncelog-fault-io").string();
  const auto file = open(io, path);
  const auto queue = queue_of(io);
  std::vector<IoCompletion> done;

  queue->submit(request_of(IoRequest::Kind::kWrite, 1, file, 0, "abc"));
  while (done.empty())
    queue->poll(done, -1);
  EXPECT_TRUE(done[0].status.ok());
  EXPECT_EQ(file->stat()->size, 3);
  queue->submit(request_of(IoRequest::Kind::kSync, 2, file));
  done.clear();
  while (done.empty())
    queue->poll(done, -1);
  EXPECT_EQ(errno_of(done[0].status), EIO);
  EXPECT_TRUE(io.files().unlink(path).ok());
}

TEST(FaultPlan, RefusesRulesThatMakeNoSense) {
  FaultPlan plan;
  const auto refused = [&](const auto& change) {
    FaultRule rule;
    change(rule);
    const Status status = plan.add(rule);
    return !status.ok() && status.error().code == ErrorCode::kInvalidArgument;
  };

  EXPECT_TRUE(refused([](FaultRule& rule) { rule.nth = 0; }));
  EXPECT_TRUE(refused([](FaultRule& rule) { rule.times = 0; }));
  EXPECT_TRUE(refused([](FaultRule& rule) { rule.times = -2; }));
  EXPECT_TRUE(refused([](FaultRule& rule) { rule.sys_errno = 0; }));
  EXPECT_TRUE(refused([](FaultRule& rule) { rule.lie = true; }));
  EXPECT_TRUE(refused([](FaultRule& rule) {
    rule.on = FaultPoint::kRead;
    rule.short_bytes = 0;
  }));
  EXPECT_TRUE(refused([](FaultRule& rule) {
    rule.on = FaultPoint::kRename;
    rule.short_bytes = 5;
  }));
}

TEST(FaultPlan, MatchesGlobsOnTheBaseName) {
  const auto matches = [](const char* glob, const char* path) {
    FaultPlan plan;
    FaultRule rule;
    rule.file = glob;
    EXPECT_TRUE(plan.add(rule).ok());
    return plan.next(FaultPoint::kWrite, path).has_value();
  };

  EXPECT_TRUE(matches("*.log", "a-0/00000000000000000000.log"));
  EXPECT_TRUE(matches("*", "x"));
  EXPECT_TRUE(matches("0*?.lo*g", "/r/t-0/00.log"));
  EXPECT_TRUE(matches("t-0", "/r/t-0/"));
  EXPECT_FALSE(matches("*.log", "a.log/x"));
  EXPECT_FALSE(matches("?", "ab"));
  EXPECT_FALSE(matches("", "a"));
}

TEST(FaultPlan, KnowsItsNames) {
  EXPECT_EQ(fault_point_of("fsync_dir"), FaultPoint::kFsyncDir);
  EXPECT_EQ(to_string(FaultPoint::kUnlink), "unlink");
  EXPECT_EQ(fault_point_of("sync"), std::nullopt);
  EXPECT_EQ(fault_errno_of("ECANCELED"), ECANCELED);
  EXPECT_EQ(fault_errno_of("EPERM"), std::nullopt);
}

}  // namespace
}  // namespace oncelog
