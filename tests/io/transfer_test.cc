// When a read, write or sync is done, sent again, or failed: every answer of the OS.
#include "storage/io/transfer.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "storage/io/os_error.h"
#include "storage/io/uring_refusal.h"

namespace oncelog {
namespace {

using Kind = IoRequest::Kind;
using Next = Transfer::Next;

constexpr int kErrnoMax = 133;  // EHWPOISON, the last one of Linux

// H080, H084: a sync that follows may only be sent when the write says kDone.
TEST(Transfer, AShortWriteIsNotDoneUntilTheRestIsWritten) {
  Transfer transfer(Kind::kWrite, 100);

  EXPECT_EQ(transfer.advance(1), Next::kContinue);
  EXPECT_EQ(transfer.bytes_done(), 1U);
  EXPECT_EQ(transfer.bytes_left(), 99U);
  EXPECT_EQ(transfer.advance(49), Next::kContinue);
  EXPECT_EQ(transfer.bytes_done(), 50U);
  EXPECT_EQ(transfer.advance(49), Next::kContinue);
  EXPECT_EQ(transfer.advance(1), Next::kDone);
  EXPECT_EQ(transfer.bytes_left(), 0U);
}

TEST(Transfer, AWriteOfNothingIsAnErrorH080) {
  Transfer transfer(Kind::kWrite, 100);

  EXPECT_EQ(transfer.advance(40), Next::kContinue);
  EXPECT_EQ(transfer.advance(0), Next::kFail);
  EXPECT_EQ(transfer.error_number(), EIO);
  EXPECT_EQ(transfer.bytes_done(), 40U);
}

TEST(Transfer, AShortReadGoesOnUntilTheEndOfTheFile) {
  Transfer transfer(Kind::kRead, 100);

  EXPECT_EQ(transfer.advance(60), Next::kContinue);
  EXPECT_EQ(transfer.advance(0), Next::kDone);
  EXPECT_EQ(transfer.bytes_done(), 60U);
}

TEST(Transfer, MoreBytesThanAskedForIsAnError) {
  Transfer transfer(Kind::kRead, 10);

  EXPECT_EQ(transfer.advance(11), Next::kFail);
  EXPECT_EQ(transfer.error_number(), EIO);
}

TEST(Transfer, OnlyAnEmptyReadOrWriteNeedsNoOs) {
  EXPECT_FALSE(Transfer(Kind::kRead, 0).needs_os());
  EXPECT_FALSE(Transfer(Kind::kWrite, 0).needs_os());
  EXPECT_TRUE(Transfer(Kind::kSync, 0).needs_os());
  EXPECT_TRUE(Transfer(Kind::kWrite, 1).needs_os());
}

TEST(Transfer, ASyncIsDoneWithItsFirstSuccess) {
  Transfer transfer(Kind::kSync, 0);

  EXPECT_EQ(transfer.advance(0), Next::kDone);
}

// H086: EAGAIN and EINTR are sent again, ECANCELED is not done, nothing is a success.
TEST(Transfer, EveryErrnoFailsExceptInterruptionsH086) {
  for (const Kind kind : {Kind::kRead, Kind::kWrite, Kind::kSync}) {
    for (int number = 1; number <= kErrnoMax; ++number) {
      Transfer transfer(kind, kind == Kind::kSync ? 0 : 10);
      const bool again = number == EINTR || number == EAGAIN;

      const Next next = transfer.advance(-number);

      EXPECT_EQ(next, again ? Next::kContinue : Next::kFail) << number;
      EXPECT_EQ(transfer.error_number(), again ? 0 : number);
      EXPECT_EQ(transfer.bytes_done(), 0U);
    }
  }
}

TEST(Transfer, AnInterruptionAfterAShortWriteKeepsWhatIsDone) {
  Transfer transfer(Kind::kWrite, 10);

  EXPECT_EQ(transfer.advance(4), Next::kContinue);
  EXPECT_EQ(transfer.advance(-EINTR), Next::kContinue);
  EXPECT_EQ(transfer.bytes_done(), 4U);
  EXPECT_EQ(transfer.advance(6), Next::kDone);
}

TEST(Transfer, EndlessInterruptionsFail) {
  Transfer transfer(Kind::kWrite, 10);

  for (int i = 0; i < Transfer::kRetriesMax; ++i)
    ASSERT_EQ(transfer.advance(i % 2 == 0 ? -EINTR : -EAGAIN), Next::kContinue);

  EXPECT_EQ(transfer.advance(-EAGAIN), Next::kFail);
  EXPECT_EQ(transfer.error_number(), EAGAIN);
}

TEST(Transfer, ProgressAllowsNewInterruptions) {
  Transfer transfer(Kind::kWrite, 10);

  for (int i = 0; i < Transfer::kRetriesMax; ++i)
    ASSERT_EQ(transfer.advance(-EINTR), Next::kContinue);
  ASSERT_EQ(transfer.advance(1), Next::kContinue);

  EXPECT_EQ(transfer.advance(-EINTR), Next::kContinue);
}

TEST(OsError, ChoosesTheCodeByWhatTheCallerCanDo) {
  for (int number = 1; number <= kErrnoMax; ++number) {
    const ErrorCode expected = number == ENOSPC || number == EDQUOT || number == EFBIG
                                   ? ErrorCode::kDiskFull
                               : number == ENOENT ? ErrorCode::kNotFound
                               : number == EEXIST ? ErrorCode::kAlreadyExists
                                                  : ErrorCode::kIo;

    const Error error = os_error(number, "cannot write", "dir/file");

    EXPECT_EQ(error.code, expected) << number;
    EXPECT_EQ(error.sys_errno, number);
    EXPECT_EQ(error.path, "dir/file");
  }
}

TEST(UringRefusal, NamesTheCause) {
  EXPECT_EQ(uring_refusal(EPERM, 2), "EPERM: sysctl kernel.io_uring_disabled=2");
  EXPECT_EQ(uring_refusal(EPERM, 1), "EPERM: sysctl kernel.io_uring_disabled=1");
  EXPECT_NE(uring_refusal(EPERM, 0).find("seccomp"), std::string::npos);
  EXPECT_NE(uring_refusal(EPERM, -1).find("seccomp"), std::string::npos);
  EXPECT_NE(uring_refusal(ENOSYS, 0).find("ENOSYS"), std::string::npos);
  EXPECT_NE(uring_refusal(ENOMEM, 0).find("RLIMIT_MEMLOCK"), std::string::npos);
  EXPECT_FALSE(uring_refusal(EMFILE, 0).empty());
}

}  // namespace
}  // namespace oncelog
