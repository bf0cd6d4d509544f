// Ack queue: who is answered when.
#include "txn/ack_queue.h"

#include <algorithm>
#include <utility>

namespace oncelog {
namespace {

bool satisfied(const AckQueue::Append& append, const Watermarks& watermarks) {
  return append.end <= (append.durable ? watermarks.durable_end() : watermarks.written_end());
}

}  // namespace

Offset limit_of(Isolation isolation, const Marks& marks) {
  switch (isolation) {
    case Isolation::kReadUncommitted:
      return marks.high_watermark;
    case Isolation::kReadCommitted:
      return marks.last_stable;
    case Isolation::kLogEnd:
      return marks.written_end;
  }
  return marks.last_stable;
}

void AckQueue::add_duplicate(Append duplicate) {
  const Offset end = duplicate.end;
  duplicates_.emplace(end, std::move(duplicate));
}

void AckQueue::add_poll(Offset offset, Isolation isolation, Done ready) {
  polls_.push_back({offset, isolation, std::move(ready)});
}

void AckQueue::answer(Append append, const Watermarks& watermarks, Offset log_start) {
  append.result.durable = append.end <= watermarks.durable_end();
  append.result.log_start = log_start;
  append.done(std::move(append.result));
}

void AckQueue::advance(const Watermarks& watermarks, const Marks& marks) {
  while (!appends_.empty() && satisfied(appends_.front(), watermarks)) {
    Append append = std::move(appends_.front());
    appends_.pop_front();
    acked_end_ = std::max(acked_end_, append.end);
    answer(std::move(append), watermarks, marks.log_start);
  }
  for (auto entry = duplicates_.begin();
       entry != duplicates_.end() && entry->first <= watermarks.written_end();) {
    if (!satisfied(entry->second, watermarks)) {
      ++entry;
      continue;
    }
    Append duplicate = std::move(entry->second);
    entry = duplicates_.erase(entry);
    acked_end_ = std::max(acked_end_, duplicate.end);
    answer(std::move(duplicate), watermarks, marks.log_start);
  }
  // An answer may add to the lists, so each is taken out before it is called.
  for (std::size_t i = 0; i < flushes_.size();) {
    if (flushes_[i].first > watermarks.durable_end()) {
      ++i;
      continue;
    }
    const Done done = std::move(flushes_[i].second);
    flushes_.erase(flushes_.begin() + static_cast<std::ptrdiff_t>(i));
    done({});
  }
  for (std::size_t i = 0; i < polls_.size();) {
    if (polls_[i].offset >= limit_of(polls_[i].isolation, marks)) {
      ++i;
      continue;
    }
    const Done ready = std::move(polls_[i].ready);
    polls_.erase(polls_.begin() + static_cast<std::ptrdiff_t>(i));
    ready({});
  }
}

void AckQueue::fail(const Error& error) {
  const std::deque<Append> appends = std::exchange(appends_, {});
  const std::multimap<Offset, Append> duplicates = std::exchange(duplicates_, {});
  const std::vector<std::pair<Offset, Done>> flushes = std::exchange(flushes_, {});
  for (const Append& append : appends)
    append.done(error);
  for (const auto& [end, duplicate] : duplicates)
    duplicate.done(error);
  for (const auto& [end, done] : flushes)
    done(error);
}

void AckQueue::fail_polls(const Error& error) {
  const std::vector<Poll> polls = std::exchange(polls_, {});
  for (const Poll& poll : polls)
    poll.ready(error);
}

}  // namespace oncelog
