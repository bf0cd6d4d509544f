// Splits, repeats, fails and passes on queued operations as the plan says.
#include "storage/sim/fault_io_queue.h"

#include <algorithm>
#include <iterator>

#include "storage/sim/errno_error.h"

namespace oncelog::sim {
namespace {

std::size_t bytes_of(const IoRequest& request) {
  std::size_t bytes = 0;
  if (request.kind == IoRequest::Kind::kSync) return bytes;
  for (const Buffer& buffer : request.buffers)
    bytes += buffer.size();
  return bytes;
}

/// A copy of `count` bytes of the buffers put together, from `begin` on.
Buffer slice_of(const std::vector<Buffer>& buffers, std::size_t begin, std::size_t count) {
  std::vector<std::byte> bytes;
  for (const Buffer& buffer : buffers)
    bytes.insert(bytes.end(), buffer.bytes().begin(), buffer.bytes().end());
  return Buffer::copy_of(std::span(bytes).subspan(begin, count));
}

FaultPoint point_of(IoRequest::Kind kind) {
  switch (kind) {
    case IoRequest::Kind::kWrite:
      return FaultPoint::kWrite;
    case IoRequest::Kind::kSync:
      return FaultPoint::kFsync;
    case IoRequest::Kind::kRead:
      break;
  }
  return FaultPoint::kRead;
}

/// Bytes to transfer now and what to say then; a part only when a rule hits.
WriteFault transfer_fault(const std::optional<FaultRule>& rule, const IoRequest& request,
                          std::size_t bytes_left) {
  WriteFault fault = write_fault(rule, bytes_left);
  if (request.kind != IoRequest::Kind::kWrite && fault.answer < 0) fault.bytes = 0;
  return fault;
}

}  // namespace

FaultIoQueue::Operation::Operation(IoRequest given)
    : request(std::move(given)),
      file(dynamic_cast<FaultFile*>(request.file.get())),
      transfer(request.kind, bytes_of(request)) {}

FaultIoQueue::~FaultIoQueue() {
  std::vector<IoCompletion> done;
  while (!operations_.empty())
    poll(done, -1);
}

void FaultIoQueue::submit(IoRequest request) {
  const std::uint64_t token = ++last_token_;
  operations_.emplace(token, Operation(std::move(request)));
  go_on(token);
  // The inner queue knows nothing of it, and a caller that watches the descriptor must come.
  if (!ready_.empty()) inner_->wake();
}

void FaultIoQueue::submit_whole(std::uint64_t token, Operation& operation) {
  IoRequest inner;
  inner.kind = operation.request.kind;
  inner.token = token;
  inner.file = operation.file == nullptr ? operation.request.file : operation.file->inner();
  inner.position = operation.request.position;
  inner.buffers = std::move(operation.request.buffers);
  operation.whole = true;
  inner_->submit(std::move(inner));
}

void FaultIoQueue::submit_part(std::uint64_t token, Operation& operation, std::size_t bytes) {
  IoRequest inner;
  inner.kind = operation.request.kind;
  inner.token = token;
  inner.file = operation.file->inner();
  const std::size_t begin = operation.transfer.bytes_done();
  inner.position = operation.request.position + static_cast<std::int64_t>(begin);
  inner.buffers.push_back(slice_of(operation.request.buffers, begin, bytes));
  inner_->submit(std::move(inner));
}

void FaultIoQueue::go_on(std::uint64_t token) {
  Operation& operation = operations_.at(token);
  const IoRequest& request = operation.request;
  // What is impossible anyway gets its error from the inner queue.
  const bool odd_read = request.kind == IoRequest::Kind::kRead && request.buffers.size() != 1;
  if (operation.file == nullptr || !operation.transfer.needs_os() || odd_read)
    return submit_whole(token, operation);
  for (;;) {
    const auto rule = plan_->next(point_of(request.kind), operation.file->path());
    if (!rule && operation.transfer.bytes_done() == 0) return submit_whole(token, operation);
    if (rule && rule->lie) return finish(token, {}, 0);
    const WriteFault fault = transfer_fault(rule, request, operation.transfer.bytes_left());
    operation.answer = fault.answer;
    if (fault.bytes > 0) return submit_part(token, operation, fault.bytes);
    if (operation.transfer.advance(fault.answer) == Transfer::Next::kFail) {
      if (request.kind == IoRequest::Kind::kSync) operation.file->lose_unsynced();
      return finish(token,
                    errno_error(operation.transfer.error_number(), operation.file->path(),
                                request.kind == IoRequest::Kind::kSync ? -1 : request.position),
                    0);
    }
  }
}

void FaultIoQueue::part_done(IoCompletion completion) {
  const std::uint64_t token = completion.token;
  Operation& operation = operations_.at(token);
  if (operation.whole) {
    operation.request.buffers = std::move(completion.buffers);
    return finish(token, std::move(completion.status), completion.bytes);
  }
  if (!completion.status.ok()) return finish(token, std::move(completion.status), 0);
  if (completion.kind == IoRequest::Kind::kRead) {
    operation.answer = completion.bytes;
    const auto read = completion.buffers.front().bytes();
    std::copy_n(read.begin(), completion.bytes,
                operation.request.buffers.front().mutable_bytes().begin() +
                    static_cast<std::ptrdiff_t>(operation.transfer.bytes_done()));
  }
  switch (operation.transfer.advance(operation.answer)) {
    case Transfer::Next::kContinue:
      return go_on(token);
    case Transfer::Next::kFail:
      return finish(token,
                    errno_error(operation.transfer.error_number(), operation.file->path(),
                                operation.request.position),
                    0);
    case Transfer::Next::kDone:
      break;
  }
  const bool is_read = completion.kind == IoRequest::Kind::kRead;
  finish(token, {}, is_read ? static_cast<std::int64_t>(operation.transfer.bytes_done()) : 0);
}

void FaultIoQueue::finish(std::uint64_t token, Status status, std::int64_t bytes) {
  const auto found = operations_.find(token);
  IoRequest& request = found->second.request;
  IoCompletion completion;
  completion.kind = request.kind;
  completion.token = request.token;
  completion.status = std::move(status);
  completion.bytes = bytes;
  completion.buffers = std::move(request.buffers);
  operations_.erase(found);
  ready_.push_back(std::move(completion));
}

std::size_t FaultIoQueue::poll(std::vector<IoCompletion>& done, std::int64_t timeout_ns) {
  for (;;) {
    std::vector<IoCompletion> parts;
    inner_->poll(parts, ready_.empty() ? timeout_ns : 0);
    for (IoCompletion& part : parts)
      part_done(std::move(part));
    const std::size_t count = ready_.size();
    std::move(ready_.begin(), ready_.end(), std::back_inserter(done));
    ready_.clear();
    // Parts of operations are nobody's completion: a caller that waits goes on waiting.
    if (count > 0 || parts.empty() || timeout_ns == 0) return count;
  }
}

}  // namespace oncelog::sim
