// Picks which operations in flight complete, and makes them happen.
#include "storage/sim/sim_io_queue.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "storage/sim/errno_error.h"

namespace oncelog::sim {
namespace {

std::shared_ptr<const std::vector<std::byte>> joined(const std::vector<Buffer>& buffers) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const Buffer& buffer : buffers)
    bytes->insert(bytes->end(), buffer.bytes().begin(), buffer.bytes().end());
  return bytes;
}

std::int64_t bytes_of(const std::vector<Buffer>& buffers) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : buffers)
    bytes += static_cast<std::int64_t>(buffer.size());
  return bytes;
}

SimOperationKind kind_of(IoRequest::Kind kind) {
  switch (kind) {
    case IoRequest::Kind::kWrite:
      return SimOperationKind::kWrite;
    case IoRequest::Kind::kSync:
      return SimOperationKind::kSync;
    case IoRequest::Kind::kRead:
      break;
  }
  return SimOperationKind::kRead;
}

}  // namespace

SimIoQueue::~SimIoQueue() {
  std::vector<IoCompletion> done;
  while (!in_flight_.empty() && !process_->dead())
    poll(done, -1);
}

void SimIoQueue::submit(IoRequest request) {
  Operation operation;
  operation.file = dynamic_cast<SimFile*>(request.file.get());
  operation.was_open = operation.file != nullptr && operation.file->is_open();
  operation.sequence = process_->disk().last_sequence();
  operation.request = std::move(request);
  const bool possible = !process_->dead() && check(operation).ok();
  if (possible) {
    // The file may be closed and unlinked before the operation completes.
    operation.handle = process_->disk().open_handle(operation.file->inode(), process_->id());
  }
  if (possible && operation.request.kind == IoRequest::Kind::kWrite) {
    operation.bytes = joined(operation.request.buffers);
    operation.in_flight_id = process_->disk().add_in_flight(
        {process_->id(), operation.file->inode(), operation.request.position, operation.bytes});
  }
  in_flight_.push_back(std::move(operation));
}

std::size_t SimIoQueue::poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) {
  const bool woken = std::exchange(woken_, false);
  const bool waits = timeout_ns != 0 && !woken;
  if (in_flight_.empty()) {
    if (waits && timeout_ns > 0) process_->clock().advance_ns(timeout_ns);
    return 0;
  }
  std::size_t count = process_->random().below(in_flight_.size() + 1);
  if (waits) count = std::max<std::size_t>(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(in_flight_[process_->random().below(in_flight_.size())], in_flight_.back());
    Operation operation = std::move(in_flight_.back());
    in_flight_.pop_back();
    done.push_back(complete(std::move(operation)));
  }
  return count;
}

IoCompletion SimIoQueue::complete(Operation operation) {
  IoCompletion completion;
  completion.kind = operation.request.kind;
  completion.token = operation.request.token;
  completion.status = run(operation, completion.bytes);
  process_->disk().close_handle(operation.handle);
  completion.buffers = std::move(operation.request.buffers);
  return completion;
}

Status SimIoQueue::check(const Operation& operation) {
  const IoRequest& request = operation.request;
  if (operation.file == nullptr)
    return make_error(ErrorCode::kInvalidArgument, "not a file of the simulator");
  const std::string& path = operation.file->path();
  if (!operation.was_open) return make_error(ErrorCode::kNotOpen, "the file is closed").at(path);
  if (request.kind == IoRequest::Kind::kRead && request.buffers.size() != 1)
    return make_error(ErrorCode::kInvalidArgument, "a read needs exactly one buffer").at(path);
  if (request.kind == IoRequest::Kind::kSync) return {};
  return check_range(path, request.position, bytes_of(request.buffers));
}

Status SimIoQueue::run(Operation& operation, std::int64_t& bytes) {
  ONCELOG_TRY(check(operation));
  IoRequest& request = operation.request;
  SimFile& file = *operation.file;
  SimOperation numbered;
  numbered.kind = kind_of(request.kind);
  numbered.path = file.path();
  numbered.position = request.position;
  numbered.bytes = bytes_of(request.buffers);
  numbered.queued = true;
  Status begun = process_->begin(std::move(numbered));
  // A dead process leaves its write on the disk's list: the crash decides about it.
  if (!process_->dead()) process_->disk().remove_in_flight(operation.in_flight_id);
  if (request.kind == IoRequest::Kind::kSync) return file.apply_sync(begun, operation.sequence);
  if (!begun.ok()) return begun;
  if (request.kind == IoRequest::Kind::kWrite)
    return file.apply_write(request.position, *operation.bytes);
  auto read = file.apply_read(request.position, request.buffers.front().mutable_bytes());
  if (read.ok()) bytes = static_cast<std::int64_t>(*read);
  return read.status();
}

}  // namespace oncelog::sim
