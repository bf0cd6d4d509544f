// The demo's proof: what a broken engine would do makes it fail.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "oncelog/control_record.h"
#include "oncelog/store.h"

#include "tools/demo/check.h"
#include "tools/demo/workload.h"
#include "tools/io_files.h"

namespace oncelog::tools::demo {
namespace {

constexpr ProducerId kPlain = kIdempotentBase + 1;
constexpr ProducerId kTransactional = kTransactionalBase + 1;

/// A partition 1 with what the writer would have put there, and the book of its answers.
class DemoCheck : public ::testing::Test {
 protected:
  void SetUp() override {
    StoreOptions options;
    options.data_dirs = {root_.path() + "/data"};
    store_ = Store::open(options).value();
    log_ = store_->open_log(partition_name(1), demo_log_options()).value();
  }

  void append(ProducerId producer, std::int64_t number) {
    const auto result = log_->append(build_batch(1, planned_batch(producer, number)));
    ASSERT_TRUE(result.ok());
    book_.add(
        Acknowledgement{1, producer, number, false, result->first_offset, result->last_offset});
  }
  void end_transaction(std::int64_t transaction, ControlType type) {
    AppendOptions options;
    options.origin = AppendOrigin::kCoordinator;
    const auto result = log_->append(
        make_end_txn_marker(ProducerIdentity{kTransactional, 0}, EndTxnMarker{type, 0}, 0),
        options);
    ASSERT_TRUE(result.ok());
    book_.add(Acknowledgement{1, kTransactional, transaction, true, result->first_offset,
                              result->last_offset});
  }
  CheckResult check() {
    CheckResult result;
    EXPECT_TRUE(check_partition(*log_, 1, book_, result).ok());
    EXPECT_TRUE(check_retries(*log_, 1, book_, result).ok());
    return result;
  }

  TemporaryDirectory root_ = TemporaryDirectory::make("oncelog-demo-check").value();
  std::shared_ptr<Store> store_;
  std::shared_ptr<Log> log_;
  AckBook book_;
};

TEST_F(DemoCheck, AcceptsALogThatKeptItsPromises) {
  for (std::int64_t number = 0; number < 3 * kBatchesPerTransaction; ++number) {
    append(kTransactional, number);
    const std::int64_t transaction = number / kBatchesPerTransaction;
    if (number % kBatchesPerTransaction == kBatchesPerTransaction - 1)
      end_transaction(transaction,
                      ends_by_abort(transaction) ? ControlType::kAbort : ControlType::kCommit);
  }
  append(kTransactional, 3 * kBatchesPerTransaction);
  append(kPlain, 0);

  const CheckResult result = check();

  EXPECT_TRUE(result.broken.empty()) << result.broken.front();
  EXPECT_EQ(result.records_found, book_.records());
  EXPECT_GT(result.aborted_hidden, 0);
  EXPECT_GT(result.open_hidden, 0);
  EXPECT_GT(result.duplicates_answered, 0);
}

TEST_F(DemoCheck, FindsARecordThatIsGone) {
  append(kPlain, 0);
  append(kPlain, 1);
  ASSERT_TRUE(log_->truncate(1).ok());

  EXPECT_FALSE(check().broken.empty());
}

TEST_F(DemoCheck, FindsOtherBytesAtAnAcknowledgedOffset) {
  append(kPlain, 0);
  ASSERT_TRUE(log_->truncate(0).ok());
  ASSERT_TRUE(log_->append(build_batch(2, planned_batch(kPlain, 0))).ok());

  EXPECT_FALSE(check().broken.empty());
}

TEST_F(DemoCheck, FindsAnOffsetThatWasGivenTwice) {
  append(kPlain, 0);
  book_.add(Acknowledgement{1, kTransactional, 0, false, 0, 0});

  EXPECT_FALSE(check().broken.empty());
}

TEST_F(DemoCheck, FindsAnAbortedRecordThatIsVisible) {
  for (std::int64_t number = 0; number < 9; ++number)
    append(kTransactional, number);
  end_transaction(0, ControlType::kCommit);
  // The third transaction is one that the plan aborts, and the log shows it.
  book_.add(Acknowledgement{1, kTransactional, 1, true, 50, 50});
  book_.add(Acknowledgement{1, kTransactional, 2, true, 51, 51});

  EXPECT_FALSE(check().broken.empty());
}

TEST_F(DemoCheck, FindsACommittedRecordThatIsHidden) {
  for (std::int64_t number = 0; number < 3; ++number)
    append(kTransactional, number);
  end_transaction(0, ControlType::kAbort);

  EXPECT_FALSE(check().broken.empty());
}

TEST_F(DemoCheck, FindsARetryThatIsStoredAgain) {
  append(kPlain, 0);
  ASSERT_TRUE(log_->truncate_fully(0).ok());
  ASSERT_TRUE(log_->append(build_batch(1, planned_batch(kPlain, 0))).ok());
  ASSERT_TRUE(log_->truncate_fully(5).ok());
  CheckResult result;

  ASSERT_TRUE(check_retries(*log_, 1, book_, result).ok());

  EXPECT_FALSE(result.broken.empty());
  EXPECT_EQ(result.duplicates_answered, 0);
}

TEST(DemoPlan, GoesOnWithoutAGapInTheSequences) {
  Sequence next = 0;
  for (std::int64_t number = 0; number < 100; ++number) {
    const PlannedBatch batch = planned_batch(kPlain, number);
    EXPECT_EQ(batch.first_sequence, next);
    next += batch.count;
  }
}

TEST(DemoPlan, DecodesTheReportsThatItEncodes) {
  const Acknowledgement sent{3, 203, 77, true, 1000, 1002};
  const std::string line = encode(sent);

  const auto received = decode(std::string_view(line).substr(0, line.size() - 1));

  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(encode(*received), line);
  EXPECT_FALSE(decode("1 2 3").has_value());
  EXPECT_FALSE(decode("a b c d e f").has_value());
}

}  // namespace
}  // namespace oncelog::tools::demo
