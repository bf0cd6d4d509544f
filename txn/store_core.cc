// Store core: directories, opening, creating and deleting logs.
#include "txn/store_core.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "index/derived_file.h"
#include "recovery/recover.h"
#include "storage/file_names.h"
#include "storage/io/background_thread.h"

namespace oncelog {
namespace {

constexpr std::int64_t kTickMs = 50;

Status check_options(const StoreOptions& options) {
  if (options.data_dirs.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "data_dirs is empty");
  }
  std::set<std::string> seen;
  for (const std::string& directory : options.data_dirs) {
    if (directory.empty()) return make_error(ErrorCode::kInvalidArgument, "a data_dir is empty");
    if (!seen.insert(directory).second) {
      return make_error(ErrorCode::kInvalidArgument, "a data_dir is given twice").at(directory);
    }
  }
  if (options.open_files_max < 8) {
    return make_error(ErrorCode::kInvalidArgument, "open_files_max is below 8");
  }
  if (options.recovery_threads < 1 || options.recovery_threads > 64) {
    return make_error(ErrorCode::kInvalidArgument, "recovery_threads is not in 1..64");
  }
  return {};
}

}  // namespace

StoreCore::StoreCore(StoreOptions options, std::shared_ptr<Io> io, std::unique_ptr<IoQueue> queue)
    : options_(std::move(options)),
      io_(std::move(io)),
      cache_(io_->files(), options_.open_files_max),
      shard_(io_, std::move(queue)) {}

void StoreCore::elsewhere(const std::function<void()>& task) {
  Result<std::thread> started = start_background_thread("oncelog-end", task);
  if (started.ok()) {
    started->detach();
  } else {
    task();
  }
}

Result<std::shared_ptr<StoreCore>> StoreCore::open(const StoreOptions& options) {
  ONCELOG_TRY(check_options(options));
  std::shared_ptr<Io> io = options.io;
  if (!io) {
    ONCELOG_TRY_ASSIGN(io, make_system_io());
  }
  ONCELOG_TRY_ASSIGN(std::unique_ptr<IoQueue> queue, io->make_queue());
  // The last log may go inside a callback, on the very thread that the core would join.
  const std::shared_ptr<StoreCore> core(new StoreCore(options, std::move(io), std::move(queue)),
                                        [](StoreCore* ended) {
                                          if (Shard::in_callback()) {
                                            elsewhere([ended] { delete ended; });
                                          } else {
                                            delete ended;
                                          }
                                        });
  ONCELOG_TRY(core->open_directories());
  if (options.background) core->shard_.set_tick(kTickMs, [raw = core.get()] { raw->tick(); });
  if (options.driver == Driver::kOwnThread && core->io_->has_threads()) {
    ONCELOG_TRY(core->shard_.start_thread());
  }
  return core;
}

Status StoreCore::open_directories() {
  // All are locked and read before anything is changed, so that a failed open leaves clean
  // directories clean.
  std::vector<std::string> leftovers;
  for (const std::string& path : options_.data_dirs) {
    DataDir::Options directory;
    directory.path = path;
    directory.broker_epoch = options_.broker_epoch;
    ONCELOG_TRY_ASSIGN(std::unique_ptr<DataDir> root,
                       DataDir::open(io_->files(), directory, notes_));
    roots_.push_back(std::move(root));
    ONCELOG_TRY(scan(*roots_.back(), leftovers));
  }
  ONCELOG_TRY(check_cluster());
  std::string cluster_id = options_.cluster_id;
  for (const std::unique_ptr<DataDir>& root : roots_) {
    if (root->meta()) cluster_id = root->meta()->cluster_id;
  }
  if (cluster_id.empty()) {
    cluster_id = to_string(
        make_uuid(options_.data_dirs.front(), io_->clock().wall_ms(), io_->clock().monotonic_ns()));
  }
  for (const std::unique_ptr<DataDir>& root : roots_)
    ONCELOG_TRY(root->begin(cluster_id, options_.node_id));
  for (const std::string& path : leftovers) {  // deletions that a crash cut short
    const Status removed = remove_directory_tree(path);
    if (!removed.ok()) notes_.push_back(to_string(removed.error()));
  }
  return {};
}

Status StoreCore::check_cluster() const {
  const DataDir* first = nullptr;
  for (const std::unique_ptr<DataDir>& root : roots_) {
    if (!root->meta()) continue;
    if (first == nullptr) first = root.get();
    if (root->meta()->cluster_id != first->meta()->cluster_id) {
      return make_error(ErrorCode::kInvalidArgument,
                        "meta.properties names another cluster than that of " + first->path())
          .at(root->path());
    }
  }
  return {};
}

Status StoreCore::scan(DataDir& root, std::vector<std::string>& leftovers) {
  ONCELOG_TRY_ASSIGN(const std::vector<DirEntry> entries, io_->files().list(root.path()));
  for (const DirEntry& entry : entries) {
    if (entry.type != FileType::kDirectory) continue;
    const std::string path = root.path() + '/' + entry.name;
    const std::optional<PartitionDirectoryName> name = parse_directory_name(entry.name);
    if (!name) {
      notes_.push_back(path + ": no partition directory, left alone");
      continue;
    }
    if (name->state == DirectoryState::kDeleting) {
      leftovers.push_back(path);
      continue;
    }
    if (name->state != DirectoryState::kLive) {
      notes_.push_back(path + ": set aside, not served");
      continue;
    }
    Entry log;
    log.place = {&root, path};
    const auto [at, inserted] = logs_.emplace(name->partition, std::move(log));
    if (!inserted) {
      return make_error(
                 ErrorCode::kAlreadyExists,
                 "a second directory for a partition that is in " + at->second.place.directory)
          .at(path);
    }
  }
  return {};
}

Status StoreCore::remove_directory_tree(const std::string& directory) {
  ONCELOG_TRY_ASSIGN(const std::vector<DirEntry> entries, io_->files().list(directory));
  for (const DirEntry& entry : entries) {
    if (entry.type == FileType::kDirectory) {
      return make_error(ErrorCode::kAlreadyExists, "a directory inside a partition: not removed")
          .at(directory + '/' + entry.name);
    }
    ONCELOG_TRY(remove_if_exists(io_->files(), directory + '/' + entry.name));
  }
  return io_->files().remove_directory(directory);
}

LogEnvironment StoreCore::environment(DataDir& root) {
  LogEnvironment env;
  env.shard = &shard_;
  env.cache = &cache_;
  env.root = &root;
  env.files = &io_->files();
  env.clock = &io_->clock();
  env.notify = [this](StoreEvent::Kind kind, const TopicPartition& name, std::string message) {
    notify(kind, name, std::move(message));
  };
  return env;
}

void StoreCore::notify(StoreEvent::Kind kind, const TopicPartition& name, std::string message) {
  if (!options_.listener) return;
  shard_.call_back(
      [this, event = StoreEvent{kind, name, std::move(message)}] { options_.listener(event); });
}

void StoreCore::tick() {
  for (const std::shared_ptr<LogCore>& core : open_cores())
    core->tick();
}

std::vector<std::shared_ptr<LogCore>> StoreCore::open_cores() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<LogCore>> cores;
  for (const auto& [name, entry] : logs_) {
    if (entry.core) cores.push_back(entry.core);
  }
  return cores;
}

std::vector<LogSummary> StoreCore::logs() const {
  const std::lock_guard lock(mutex_);
  std::vector<LogSummary> summaries;
  for (const auto& [name, entry] : logs_) {
    if (entry.place.root == nullptr) continue;  // being created
    const bool open = entry.core != nullptr && !entry.core->is_closed();
    summaries.push_back({name, entry.place.directory, open});
  }
  return summaries;
}

Result<StoreCore::Place> StoreCore::create_log(const TopicPartition& name) {
  std::map<const DataDir*, std::size_t> counts;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [other, entry] : logs_)
      ++counts[entry.place.root];
  }
  DataDir* root = roots_.front().get();
  for (const std::unique_ptr<DataDir>& candidate : roots_) {
    if (counts[candidate.get()] < counts[root]) root = candidate.get();
  }
  // A checkpoint of an earlier log of that name says nothing about this one: one whose directory
  // went without `delete_log`, or whose deletion a crash cut short.
  ONCELOG_TRY(root->forget(name));
  FileSystem& files = io_->files();
  const std::string directory = root->path() + '/' + to_string(name);
  const Status made = files.make_directory(directory);
  if (!made.ok() && made.error().code != ErrorCode::kAlreadyExists) return made.error();
  // Metadata is on the disk before the first data append (FORMAT.md 15).
  const Uuid id = make_uuid(directory, io_->clock().wall_ms(), io_->clock().monotonic_ns());
  const std::string metadata = encode_partition_metadata(id);
  ONCELOG_TRY(replace_file(files, directory, std::string(kPartitionMetadataFile),
                           std::as_bytes(std::span(metadata)), false));
  ONCELOG_TRY(replace_file(files, directory, std::string(kLeaderEpochFile), {}));
  ONCELOG_TRY(files.sync_directory(root->path()));
  return Place{root, directory};
}

Result<std::shared_ptr<LogCore>> StoreCore::load(const TopicPartition& name, const Place& place,
                                                 const LogOptions& options, bool touched) {
  FileSystem& files = io_->files();
  RecoverOptions recover = recover_options_of(options);
  recover.now_ms = io_->clock().wall_ms();
  recover.clock = &io_->clock();
  RootFacts facts = place.root->facts_of(name);
  facts.clean = facts.clean && !touched;  // withdrawn before the first change (H-074)
  ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan, analyse(files, place.directory, facts, recover));
  {
    const std::lock_guard lock(mutex_);
    logs_[name].touched = true;
  }
  RecoveryEffects effects;
  effects.before_cut = [&](Offset recovery_point) -> Status {
    place.root->set_recovery_point(name, recovery_point);
    return place.root->write();
  };
  ONCELOG_TRY_ASSIGN(LoadedLog loaded, apply(files, std::move(plan), effects));
  const bool covered = loaded.sidecar_covers;
  const std::int64_t recorded = loaded.unsynced_bytes_max;
  const bool read_only = loaded.read_only;
  const RecoveryReport& report = loaded.report;
  if (report.verdict == Verdict::kDamage) {
    notify(StoreEvent::Kind::kDamaged, name, to_string(report));
  } else if (report.truncated_bytes > 0) {
    notify(StoreEvent::Kind::kCut, name, to_string(report));
  }
  auto core = std::make_shared<LogCore>(environment(*place.root), name, place.directory, options);
  Status installed;
  ONCELOG_TRY(shard_.run_blocking([&](Shard::Waiter& waiter) {
    installed = core->install(std::move(loaded));
    waiter.finish();
  }));
  ONCELOG_TRY(installed);
  if (!read_only) ONCELOG_TRY(record_sidecar(*core, options, covered, recorded));
  notify(StoreEvent::Kind::kRecovered, name, to_string(core->report()));
  return core;
}

Status StoreCore::record_sidecar(LogCore& core, const LogOptions& options, bool covered,
                                 std::int64_t recorded) {
  const std::int64_t wanted =
      options.durability == Durability::kDurable ? options.unsynced_bytes_max : kUnsyncedUnlimited;
  const bool enough = recorded == kUnsyncedUnlimited || (wanted >= 0 && wanted <= recorded);
  if (covered && enough) {
    core.set_recorded_unsynced_bytes(recorded);
    return {};
  }
  // Before the first append: what a crash of this run may leave behind (W), and where it began.
  core.set_recorded_unsynced_bytes(wanted);
  return replace_file(io_->files(), core.directory(), std::string(kSidecarFile),
                      encode_sidecar(core.make_sidecar()));
}

Result<std::shared_ptr<Log>> StoreCore::open_log(const TopicPartition& name,
                                                 const LogOptions& options) {
  ONCELOG_TRY(validate(options));
  ONCELOG_TRY(check_topic_name(name.topic));
  if (name.partition < 0) return make_error(ErrorCode::kInvalidArgument, "a negative partition");
  if (to_string(name).size() > kFileNameBytesMax) {
    return make_error(ErrorCode::kInvalidArgument, "topic and partition make too long a name");
  }
  ONCELOG_TRY(refuse_if_in_callback());
  const Call call(*this);
  ONCELOG_TRY(call.status());
  std::shared_ptr<LogCore> earlier;  // destroyed without the lock
  Place place;
  bool touched = false;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = logs_[name];
    if (entry.opening || (entry.core && !entry.core->is_closed())) {
      return make_error(ErrorCode::kAlreadyExists, "the log is open").at(to_string(name));
    }
    place = entry.place;
    touched = entry.touched;
    earlier.swap(entry.core);
    entry.opening = true;
  }
  Status status;
  if (place.root == nullptr) {
    Result<Place> created = create_log(name);
    status = created.status();
    if (created.ok()) place = *created;
  }
  std::shared_ptr<LogCore> core;
  if (status.ok()) {
    Result<std::shared_ptr<LogCore>> loaded = load(name, place, options, touched);
    status = loaded.status();
    if (loaded.ok()) core = *loaded;
  }
  const std::lock_guard lock(mutex_);
  Entry& entry = logs_[name];
  entry.opening = false;
  entry.unclean = true;  // until it is closed
  entry.place = place;
  if (!status.ok()) {
    if (place.root == nullptr) logs_.erase(name);
    return std::move(status).error();
  }
  entry.core = core;
  return std::make_shared<Log>(core, shared_from_this());
}

std::vector<OpenOutcome> StoreCore::open_logs(
    const std::function<LogOptions(const TopicPartition&)>& options_of) {
  std::vector<TopicPartition> names;
  for (const LogSummary& summary : logs()) {
    if (!summary.open) names.push_back(summary.name);
  }
  std::vector<OpenOutcome> outcomes;
  std::vector<LogOptions> options;  // asked for on this thread only
  for (const TopicPartition& name : names) {
    options.push_back(options_of(name));
    outcomes.push_back({name, make_error(ErrorCode::kNotOpen, "not tried")});
  }
  std::atomic<std::size_t> next{0};
  const auto open_some = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      outcomes[i].log = open_log(names[i], options[i]);
    }
  };
  std::vector<std::thread> helpers;
  if (io_->has_threads()) {
    const std::size_t wanted = std::min<std::size_t>(options_.recovery_threads, names.size());
    for (std::size_t i = 1; i < wanted; ++i) {
      Result<std::thread> started = start_background_thread("oncelog-open", open_some);
      if (started.ok()) helpers.push_back(std::move(*started));
    }
  }
  open_some();
  for (std::thread& helper : helpers)
    helper.join();
  return outcomes;
}

}  // namespace oncelog
