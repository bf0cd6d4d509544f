// The fixture of the contract suites.
#include "tests/io/io_contract.h"

#include <utility>

namespace oncelog {
namespace {

constexpr std::int64_t kPollNs = 1'000'000'000;
constexpr int kPollsMax = 60;

}  // namespace

void IoContract::SetUp() {
  io_ = GetParam().make_io();
  if (io_ == nullptr) GTEST_SKIP() << GetParam().name << " is not available on this machine";
  root_ = GetParam().make_root(*io_);
}

void IoContract::TearDown() {
  if (io_ != nullptr) GetParam().remove_root(*io_, root_);
}

std::shared_ptr<File> IoContract::open(std::string_view name, OpenMode mode) {
  Result<std::shared_ptr<File>> opened = files().open(path(name), mode);
  if (!opened.ok()) {
    ADD_FAILURE() << to_string(opened.error());
    return nullptr;
  }
  return std::move(opened).value();
}

std::shared_ptr<File> IoContract::write_file(std::string_view name, std::string_view content) {
  std::shared_ptr<File> file = open(name, OpenMode::kCreateExclusive);
  if (file != nullptr) {
    EXPECT_TRUE(file->write_at(0, bytes_of(content)).ok());
  }
  return file;
}

std::string IoContract::content(File& file) {
  const Result<FileStat> stat = file.stat();
  if (!stat.ok()) {
    ADD_FAILURE() << to_string(stat.error());
    return {};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(stat->size));
  const Result<std::size_t> read = file.read_at(0, bytes);
  EXPECT_TRUE(read.ok());
  if (read.ok()) bytes.resize(*read);
  return text_of(bytes);
}

std::unique_ptr<IoQueue> IoContract::make_queue() {
  Result<std::unique_ptr<IoQueue>> queue = io_->make_queue();
  if (!queue.ok()) {
    ADD_FAILURE() << to_string(queue.error());
    return nullptr;
  }
  return std::move(queue).value();
}

std::vector<IoCompletion> IoContract::collect(IoQueue& queue, std::size_t count) {
  std::vector<IoCompletion> done;
  for (int polls = 0; done.size() < count && polls < kPollsMax;) {
    if (queue.poll(done, kPollNs) == 0) ++polls;
  }
  EXPECT_EQ(done.size(), count);
  return done;
}

IoRequest write_request(std::uint64_t token, std::shared_ptr<File> file, std::int64_t position,
                        std::vector<Buffer> buffers) {
  IoRequest request;
  request.kind = IoRequest::Kind::kWrite;
  request.token = token;
  request.file = std::move(file);
  request.position = position;
  request.buffers = std::move(buffers);
  return request;
}

IoRequest sync_request(std::uint64_t token, std::shared_ptr<File> file) {
  IoRequest request;
  request.kind = IoRequest::Kind::kSync;
  request.token = token;
  request.file = std::move(file);
  return request;
}

IoRequest read_request(std::uint64_t token, std::shared_ptr<File> file, std::int64_t position,
                       std::size_t bytes) {
  IoRequest request;
  request.kind = IoRequest::Kind::kRead;
  request.token = token;
  request.file = std::move(file);
  request.position = position;
  request.buffers.emplace_back(std::vector<std::byte>(bytes));
  return request;
}

}  // namespace oncelog
