// The contract of FileSystem and File, over every implementation of the seam.
#include "tests/io/io_contract.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace oncelog {
namespace {

constexpr std::size_t kFailedOpens = 10'000;

TEST_P(IoContract, ReadsBackWhatWasWritten) {
  const auto file = open("a");

  ASSERT_TRUE(file->write_at(0, bytes_of("hello world")).ok());
  ASSERT_TRUE(file->write_at(6, bytes_of("there")).ok());

  EXPECT_EQ(content(*file), "hello there");
  EXPECT_EQ(file->path(), path("a"));
}

TEST_P(IoContract, ReadsFewerBytesOnlyAtTheEnd) {
  const auto file = write_file("a", "0123456789");
  std::array<std::byte, 8> into{};

  EXPECT_EQ(*file->read_at(0, into), 8U);
  EXPECT_EQ(*file->read_at(7, into), 3U);
  EXPECT_EQ(*file->read_at(10, into), 0U);
  EXPECT_EQ(*file->read_at(1000, into), 0U);
  EXPECT_EQ(*file->read_at(3, {}), 0U);
}

TEST_P(IoContract, FillsAHoleWithZeroes) {
  const auto file = open("a");

  ASSERT_TRUE(file->write_at(3, bytes_of("x")).ok());

  EXPECT_EQ(content(*file), std::string("\0\0\0x", 4));
}

TEST_P(IoContract, EmptyWriteChangesNothing) {
  const auto file = open("a");

  EXPECT_TRUE(file->write_at(100, {}).ok());

  EXPECT_EQ(file->stat()->size, 0);
}

TEST_P(IoContract, RefusesRangesThatNoFileHas) {
  const auto file = write_file("a", "abc");
  std::array<std::byte, 4> into{};
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

  EXPECT_EQ(code_of(file->read_at(-1, into)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(file->read_at(kLast, into)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(file->write_at(-1, into)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(file->write_at(kLast, into)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(file->truncate(-1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(file->allocate(-1, 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(file->allocate(0, -1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code_of(file->start_writeback(-1, 1)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(content(*file), "abc");
}

TEST_P(IoContract, TruncateCutsAndExtends) {
  const auto file = write_file("a", "abcdef");

  ASSERT_TRUE(file->truncate(2).ok());
  EXPECT_EQ(content(*file), "ab");
  ASSERT_TRUE(file->truncate(4).ok());

  EXPECT_EQ(content(*file), std::string("ab\0\0", 4));
}

TEST_P(IoContract, AllocateKeepsTheSize) {
  const auto file = write_file("a", "abc");

  const Status allocated = file->allocate(0, 1 << 20);

  EXPECT_TRUE(allocated.ok() || allocated.error().code == ErrorCode::kUnsupported);
  EXPECT_TRUE(file->allocate(0, 0).ok());
  EXPECT_EQ(content(*file), "abc");
}

TEST_P(IoContract, SyncsAFileItsDirectoryAndTheFileSystem) {
  const auto file = write_file("a", "abc");

  const Status started = file->start_writeback(0, 3);
  EXPECT_TRUE(started.ok() || started.error().code == ErrorCode::kUnsupported);
  EXPECT_TRUE(file->start_writeback(0, 0).ok());
  EXPECT_TRUE(file->sync().ok());
  EXPECT_TRUE(files().sync_directory(root_).ok());
  EXPECT_TRUE(files().sync_file_system(root_).ok());
  EXPECT_EQ(code_of(files().sync_directory(path("none"))), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(files().sync_directory(path("a"))), ErrorCode::kIo);
  EXPECT_EQ(code_of(files().sync_file_system(path("none"))), ErrorCode::kNotFound);
}

TEST_P(IoContract, OpenModesTellMissingFromPresent) {
  EXPECT_EQ(code_of(files().open(path("a"), OpenMode::kRead)), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(files().open(path("a"), OpenMode::kReadWrite)), ErrorCode::kNotFound);
  EXPECT_TRUE(files().open(path("a"), OpenMode::kCreateExclusive).ok());
  EXPECT_EQ(code_of(files().open(path("a"), OpenMode::kCreateExclusive)),
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(code_of(files().open(path("d/a"), OpenMode::kCreate)), ErrorCode::kNotFound);
  EXPECT_TRUE(files().open(path("a"), OpenMode::kReadWrite).ok());
}

TEST_P(IoContract, OpeningAnExistingFileKeepsItsContent) {
  write_file("a", "abc");

  EXPECT_EQ(content(*open("a", OpenMode::kCreate)), "abc");
  EXPECT_EQ(content(*open("a", OpenMode::kReadWrite)), "abc");
  EXPECT_EQ(content(*open("a", OpenMode::kRead)), "abc");
}

TEST_P(IoContract, AFileOpenForReadingCannotBeChanged) {
  write_file("a", "abc");
  const auto file = open("a", OpenMode::kRead);

  EXPECT_EQ(code_of(file->write_at(0, bytes_of("x"))), ErrorCode::kIo);
  EXPECT_FALSE(file->truncate(0).ok());

  EXPECT_EQ(content(*file), "abc");
}

TEST_P(IoContract, DoesNotOpenADirectoryAsAFile) {
  ASSERT_TRUE(files().make_directory(path("d")).ok());

  EXPECT_EQ(code_of(files().open(path("d"), OpenMode::kRead)), ErrorCode::kIo);
  EXPECT_EQ(code_of(files().open(path("d"), OpenMode::kReadWrite)), ErrorCode::kIo);
  EXPECT_EQ(code_of(files().open(path("d"), OpenMode::kCreate)), ErrorCode::kIo);
}

TEST_P(IoContract, ErrorsNameThePath) {
  const Result<std::shared_ptr<File>> opened = files().open(path("none"), OpenMode::kRead);

  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().path, path("none"));
}

// H099
TEST_P(IoContract, FailedCallsLeakNoDescriptor) {
  if (!GetParam().open_descriptors) GTEST_SKIP() << "no descriptors here";
  ASSERT_TRUE(files().make_directory(path("d")).ok());
  write_file("a", "abc");
  const std::size_t before = GetParam().open_descriptors();

  for (std::size_t i = 0; i < kFailedOpens; ++i) {
    ASSERT_FALSE(files().open(path("none"), OpenMode::kRead).ok());
    ASSERT_FALSE(files().open(path("d"), OpenMode::kRead).ok());
    ASSERT_FALSE(files().open(path("a"), OpenMode::kCreateExclusive).ok());
    ASSERT_FALSE(files().list(path("a")).ok());
    ASSERT_FALSE(files().sync_directory(path("a")).ok());
  }

  EXPECT_EQ(GetParam().open_descriptors(), before);
}

// H099
TEST_P(IoContract, FilesGiveTheirDescriptorsBack) {
  if (!GetParam().open_descriptors) GTEST_SKIP() << "no descriptors here";
  write_file("a", "abc");
  const std::size_t before = GetParam().open_descriptors();

  for (int i = 0; i < 100; ++i) {
    const auto closed = open("a");
    const auto dropped = open("a");
    ASSERT_TRUE(closed->close().ok());
    ASSERT_TRUE(files().list(root_).ok());
    ASSERT_TRUE(files().sync_directory(root_).ok());
    ASSERT_TRUE(files().sync_file_system(root_).ok());
  }

  EXPECT_EQ(GetParam().open_descriptors(), before);
}

TEST_P(IoContract, StatTellsTypeSizeLinksAndTime) {
  write_file("a", "abc");
  ASSERT_TRUE(files().make_directory(path("d")).ok());
  ASSERT_TRUE(files().link(path("a"), path("b")).ok());

  const Result<FileStat> file = files().stat(path("a"));
  const Result<FileStat> directory = files().stat(path("d"));

  ASSERT_TRUE(file.ok() && directory.ok());
  EXPECT_EQ(file->type, FileType::kRegular);
  EXPECT_EQ(file->size, 3);
  EXPECT_EQ(file->link_count, 2);
  EXPECT_NEAR(static_cast<double>(file->modified_ms), static_cast<double>(io_->clock().wall_ms()),
              60'000.0);
  EXPECT_EQ(directory->type, FileType::kDirectory);
  EXPECT_EQ(code_of(files().stat(path("none"))), ErrorCode::kNotFound);
  EXPECT_GT(*files().free_bytes(root_), 0);
  EXPECT_EQ(code_of(files().free_bytes(path("none"))), ErrorCode::kNotFound);
}

TEST_P(IoContract, ListsSortedByName) {
  write_file("b", "");
  write_file("a", "");
  write_file("B", "");
  ASSERT_TRUE(files().make_directory(path("aa")).ok());

  const Result<std::vector<DirEntry>> entries = files().list(root_);

  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 4U);
  EXPECT_EQ((*entries)[0].name, "B");
  EXPECT_EQ((*entries)[1].name, "a");
  EXPECT_EQ((*entries)[2].name, "aa");
  EXPECT_EQ((*entries)[2].type, FileType::kDirectory);
  EXPECT_EQ((*entries)[3].name, "b");
  EXPECT_EQ((*entries)[3].type, FileType::kRegular);
  EXPECT_EQ(code_of(files().list(path("none"))), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(files().list(path("a"))), ErrorCode::kIo);
}

TEST_P(IoContract, RenameReplacesTheTarget) {
  const auto old_b = write_file("b", "old");
  write_file("a", "new");

  ASSERT_TRUE(files().rename(path("a"), path("b")).ok());

  EXPECT_EQ(content(*open("b", OpenMode::kRead)), "new");
  EXPECT_EQ(code_of(files().stat(path("a"))), ErrorCode::kNotFound);
  EXPECT_EQ(content(*old_b), "old");
  EXPECT_EQ(code_of(files().rename(path("none"), path("c"))), ErrorCode::kNotFound);
}

TEST_P(IoContract, RenamesADirectoryWithItsContent) {
  ASSERT_TRUE(files().make_directory(path("d")).ok());
  write_file("d/a", "abc");

  ASSERT_TRUE(files().rename(path("d"), path("e")).ok());

  EXPECT_EQ(content(*open("e/a", OpenMode::kRead)), "abc");
  EXPECT_EQ(code_of(files().stat(path("d"))), ErrorCode::kNotFound);
}

TEST_P(IoContract, UnlinkedFileStaysReadableWhileOpen) {
  const auto file = write_file("a", "abc");

  ASSERT_TRUE(files().unlink(path("a")).ok());

  EXPECT_EQ(content(*file), "abc");
  EXPECT_EQ(file->stat()->link_count, 0);
  EXPECT_EQ(code_of(files().stat(path("a"))), ErrorCode::kNotFound);
  EXPECT_EQ(code_of(files().unlink(path("a"))), ErrorCode::kNotFound);
}

TEST_P(IoContract, LinkGivesASecondNameToTheSameBytes) {
  const auto file = write_file("a", "abc");
  write_file("taken", "");

  ASSERT_TRUE(files().link(path("a"), path("b")).ok());
  ASSERT_TRUE(file->write_at(0, bytes_of("x")).ok());
  ASSERT_TRUE(files().unlink(path("a")).ok());

  EXPECT_EQ(content(*open("b", OpenMode::kRead)), "xbc");
  EXPECT_EQ(code_of(files().link(path("b"), path("taken"))), ErrorCode::kAlreadyExists);
  EXPECT_EQ(code_of(files().link(path("none"), path("c"))), ErrorCode::kNotFound);
}

TEST_P(IoContract, MakesAndRemovesDirectories) {
  ASSERT_TRUE(files().make_directory(path("d")).ok());
  write_file("d/a", "");

  EXPECT_EQ(code_of(files().make_directory(path("d"))), ErrorCode::kAlreadyExists);
  EXPECT_EQ(code_of(files().make_directory(path("x/y"))), ErrorCode::kNotFound);
  EXPECT_FALSE(files().remove_directory(path("d")).ok());
  ASSERT_TRUE(files().unlink(path("d/a")).ok());
  EXPECT_TRUE(files().remove_directory(path("d")).ok());
  EXPECT_EQ(code_of(files().remove_directory(path("d"))), ErrorCode::kNotFound);
}

// H094: a record lock would let the second one in, and its close would release the first one's.
TEST_P(IoContract, OnlyOneHoldsTheLockAndALoserReleasesNothing) {
  const auto first = open("lock");
  ASSERT_TRUE(first->lock().ok());

  for (int i = 0; i < 3; ++i) {
    const auto loser = open("lock");
    EXPECT_EQ(code_of(loser->lock()), ErrorCode::kLocked);
    EXPECT_TRUE(*loser->is_locked());
    EXPECT_TRUE(loser->close().ok());
  }
  open("lock", OpenMode::kRead).reset();  // a reader that only opens and closes

  EXPECT_EQ(code_of(open("lock")->lock()), ErrorCode::kLocked);
}

TEST_P(IoContract, TheLockGoesWithItsFile) {
  auto first = open("lock");
  const auto second = open("lock");
  const auto third = open("lock");

  ASSERT_TRUE(first->lock().ok());
  EXPECT_FALSE(*first->is_locked()) << "the holder is not someone else";
  ASSERT_TRUE(first->close().ok());
  EXPECT_FALSE(*second->is_locked());
  ASSERT_TRUE(second->lock().ok());
  EXPECT_EQ(code_of(third->lock()), ErrorCode::kLocked);

  EXPECT_TRUE(*open("lock", OpenMode::kRead)->is_locked());
}

// H095: the loser leaves the file alone, so the name still leads to the locked one.
TEST_P(IoContract, TheLockedNameStaysAfterALoser) {
  const auto first = open("lock");
  ASSERT_TRUE(first->lock().ok());

  EXPECT_EQ(code_of(open("lock")->lock()), ErrorCode::kLocked);

  EXPECT_TRUE(files().stat(path("lock")).ok());
  EXPECT_EQ(code_of(open("lock")->lock()), ErrorCode::kLocked);
}

TEST_P(IoContract, ALockNeedsAFileOpenForWriting) {
  write_file("lock", "");

  EXPECT_EQ(code_of(open("lock", OpenMode::kRead)->lock()), ErrorCode::kInvalidArgument);
}

TEST_P(IoContract, AClosedFileAnswersNotOpen) {
  const auto file = write_file("a", "abc");
  std::array<std::byte, 4> into{};

  ASSERT_TRUE(file->close().ok());

  EXPECT_EQ(code_of(file->read_at(0, into)), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->write_at(0, into)), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->truncate(0)), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->allocate(0, 1)), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->start_writeback(0, 1)), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->sync()), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->stat()), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->lock()), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->is_locked()), ErrorCode::kNotOpen);
  EXPECT_EQ(code_of(file->close()), ErrorCode::kNotOpen);
  EXPECT_EQ(content(*open("a", OpenMode::kRead)), "abc");
}

}  // namespace
}  // namespace oncelog
