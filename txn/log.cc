// The public log: hands calls to the shard and waits, or reads.
#include "oncelog/log.h"

#include <optional>
#include <utility>

#include "txn/log_core.h"

namespace oncelog {
namespace {

/// Runs `start(done)` on the shard and waits until `done` was called.
template <class T, class Start>
Result<T> wait_for(Shard& shard, Start start) {
  std::optional<Result<T>> answer;
  ONCELOG_TRY(shard.run_blocking([&](Shard::Waiter& waiter) {
    start([&answer, &waiter](Result<T> result) {
      answer = std::move(result);
      waiter.finish();
    });
  }));
  return std::move(*answer);
}

/// A function that queues `callback(answer)`. The callback moves there, so that it is destroyed
/// where it runs: it may own the last reference to the store, which a driver must not end.
template <class Answer>
std::function<void(Answer)> answer_once(Shard& shard, std::function<void(Answer)> callback) {
  const auto held = std::make_shared<std::function<void(Answer)>>(std::move(callback));
  return [&shard, held](Answer answer) {
    shard.call_back([callback = std::exchange(*held, nullptr), answer = std::move(answer)] {
      callback(answer);
    });
  };
}

struct Nothing {};

template <class Start>
Status wait_for_status(Shard& shard, Start start) {
  return wait_for<Nothing>(shard,
                           [&](std::function<void(Result<Nothing>)> done) {
                             start([done = std::move(done)](const Status& status) {
                               if (status.ok()) {
                                 done(Nothing{});
                               } else {
                                 done(status.error());
                               }
                             });
                           })
      .status();
}

/// Runs `read` on the shard and gives what it returned.
template <class T, class Read>
Result<T> ask(Shard& shard, Read read) {
  return wait_for<T>(shard, [&](const std::function<void(Result<T>)>& done) { done(read()); });
}

}  // namespace

Log::Log(std::shared_ptr<LogCore> core, std::shared_ptr<StoreCore> store)
    : store_(std::move(store)), core_(std::move(core)) {}

Log::~Log() = default;

void Log::append(Buffer bytes, const AppendOptions& options, AppendCallback done) {
  Shard& shard = core_->shard();
  auto answer = answer_once<Result<AppendResult>>(shard, std::move(done));
  Result<ValidatedAppend> input = core_->validate(std::move(bytes), options);
  if (!input.ok()) {
    shard.post([answer, error = std::move(input).error()] { answer(error); });
    return;
  }
  const auto op = std::make_shared<AppendOp>();
  op->input = std::move(input).value();
  op->options = options;
  op->done = std::move(answer);
  shard.post([core = core_, op] { core->append(std::move(*op)); });
}

Result<AppendResult> Log::append(Buffer bytes, const AppendOptions& options) {
  ONCELOG_TRY_ASSIGN(ValidatedAppend input, core_->validate(std::move(bytes), options));
  return wait_for<AppendResult>(core_->shard(), [&](AppendDone done) {
    AppendOp op;
    op.input = std::move(input);
    op.options = options;
    op.may_wait = true;
    op.done = std::move(done);
    core_->append(std::move(op));
  });
}

Result<FetchPage> Log::fetch(const FetchRequest& request, FetchBuffer& buffer) const {
  return core_->fetch(request, buffer);
}

Result<TimestampOffset> Log::offset_for_timestamp(TimestampMs timestamp,
                                                  Isolation isolation) const {
  return core_->offset_for_timestamp(timestamp, isolation);
}

void Log::when(Offset offset, Isolation isolation, std::function<void(Status)> ready) {
  Shard& shard = core_->shard();
  const Done answer = answer_once<Status>(shard, std::move(ready));
  shard.post([core = core_, offset, isolation, answer] { core->when(offset, isolation, answer); });
}

LogOffsets Log::offsets() const {
  const Marks marks = core_->view().marks();
  return {marks.log_start, marks.last_stable, marks.high_watermark, marks.durable_end,
          marks.written_end};
}

Result<Offset> Log::set_high_watermark(Offset offset) {
  return ask<Offset>(core_->shard(), [&] { return core_->set_high_watermark(offset); });
}

Status Log::assign_leader_epoch(LeaderEpoch epoch) {
  return wait_for_status(core_->shard(),
                         [&](Done done) { core_->assign_leader_epoch(epoch, std::move(done)); });
}

LeaderEpoch Log::leader_epoch() const {
  const std::optional<EpochEntry> latest = core_->epochs().latest();
  return latest ? latest->epoch : kNoLeaderEpoch;
}

Result<LeaderEpochEnd> Log::end_offset_for_epoch(LeaderEpoch epoch) const {
  const Marks marks = core_->view().marks();
  if (!marks.open) return make_error(ErrorCode::kNotOpen, "the log is closed").at(directory());
  const EpochEnd end = core_->epochs().end_offset_for(epoch, marks.written_end);
  return LeaderEpochEnd{end.epoch, end.end_offset};
}

Result<Offset> Log::delete_records(Offset offset) {
  return wait_for<Offset>(core_->shard(), [&](std::function<void(Result<Offset>)> done) {
    core_->delete_records(offset, std::move(done));
  });
}

Status Log::truncate(Offset offset) {
  return wait_for_status(core_->shard(),
                         [&](Done done) { core_->truncate(offset, false, std::move(done)); });
}

Status Log::truncate_fully(Offset offset) {
  return wait_for_status(core_->shard(),
                         [&](Done done) { core_->truncate(offset, true, std::move(done)); });
}

Result<Offset> Log::roll() {
  return wait_for<Offset>(core_->shard(), [&](std::function<void(Result<Offset>)> done) {
    core_->roll(std::move(done));
  });
}

Status Log::flush() {
  return wait_for_status(core_->shard(), [&](Done done) { core_->flush(std::move(done)); });
}

Result<VerificationToken> Log::start_verification(ProducerId producer_id, ProducerEpoch epoch,
                                                  Sequence sequence, int transaction_version) {
  return ask<VerificationToken>(core_->shard(), [&] {
    return core_->start_verification(producer_id, epoch, sequence, transaction_version);
  });
}

Result<std::size_t> Log::expire_producers() {
  return ask<std::size_t>(core_->shard(), [&] { return core_->expire_producers(); });
}

Result<std::size_t> Log::apply_retention() {
  return wait_for<std::size_t>(core_->shard(), [&](std::function<void(Result<std::size_t>)> done) {
    core_->apply_retention(std::move(done));
  });
}

Result<LogState> Log::state() const {
  return ask<LogState>(core_->shard(), [&] { return core_->state(); });
}

const TopicPartition& Log::name() const {
  return core_->name();
}

const std::string& Log::directory() const {
  return core_->directory();
}

std::string Log::topic_id() const {
  return core_->topic_id();
}

const RecoveryReport& Log::recovery_report() const {
  return core_->report();
}

LogOptions Log::options() const {
  return core_->options();
}

Status Log::set_options(const LogOptions& options) {
  return wait_for_status(core_->shard(),
                         [&](Done done) { core_->set_options(options, std::move(done)); });
}

Status Log::close() {
  return core_->close_and_wait();
}

}  // namespace oncelog
