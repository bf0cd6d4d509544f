// Collects the batches of a page: bytes into the reader's buffer, ranges of the files they lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "oncelog/fetch.h"

#include "storage/segment_scanner.h"

namespace oncelog {

class FetchPageBuilder {
 public:
  FetchPageBuilder(FetchBuffer& buffer, bool with_bytes)
      : bytes_(buffer.bytes_), with_bytes_(with_bytes) {
    bytes_.clear();
  }

  /// Adds a batch that lies in `file`. Legacy ones are rebuilt as v2: kInvalidRecord,
  /// kCorruptBatch when their records cannot be read.
  Status add(const ScannedBatch& batch, const std::shared_ptr<File>& file);
  std::size_t count() const { return spans_.size(); }
  std::int64_t stored_bytes() const { return stored_bytes_; }
  const std::vector<BatchHeader>& headers() const { return headers_; }

  FetchPage finish(std::vector<AbortedRange> aborted, std::vector<BatchVerdict> verdicts);

 private:
  struct Span {
    std::size_t begin = 0;
    std::size_t bytes = 0;
  };
  std::vector<std::byte>& bytes_;
  const bool with_bytes_;
  std::vector<Span> spans_;
  std::vector<BatchHeader> headers_;
  std::vector<FileRange> ranges_;
  std::int64_t stored_bytes_ = 0;
};

}  // namespace oncelog
