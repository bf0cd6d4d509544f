// A script on the simulated disk: the engine runs in this process and dies by being cut off.
#include <algorithm>

#include "oncelog/sim.h"

#include "tools/script/engine.h"
#include "tools/script/host.h"

namespace oncelog::tools::script {
namespace {

constexpr std::string_view kRoot = "/data";

std::string full(const std::string& path) {
  return std::string(kRoot) + "/" + path;
}

class SimulatedDisk final : public Disk {
 public:
  explicit SimulatedDisk(std::shared_ptr<SimDisk> disk) : disk_(std::move(disk)) {}

  Result<std::vector<Entry>> list(const std::string& directory) override {
    std::vector<Entry> out;
    // The disk lists its paths without the first '/'.
    const std::string prefix = full(directory).substr(1) + "/";
    for (const std::string& path : disk_->paths()) {
      const std::string name = path.starts_with(prefix) ? path.substr(prefix.size()) : "";
      if (name.empty() || name.find('/') != std::string::npos) continue;
      ONCELOG_TRY_ASSIGN(const auto bytes, disk_->read_file("/" + path));
      out.push_back(Entry{name, static_cast<std::int64_t>(bytes.size())});
    }
    return out;
  }
  Result<std::vector<std::byte>> read(const std::string& path) override {
    return disk_->read_file(full(path));
  }
  Status write(const std::string& path, const std::vector<std::byte>& bytes) override {
    return disk_->write_file(full(path), bytes);
  }
  Status remove(const std::string& path) override { return disk_->remove_file(full(path)); }

 private:
  std::shared_ptr<SimDisk> disk_;
};

class SimulatedHost final : public Host {
 public:
  explicit SimulatedHost(std::uint64_t seed)
      : seed_(seed), machine_(std::make_shared<SimDisk>()), disk_(machine_) {}

  Result<Json> execute(const std::string& op, const Json& fields) override {
    if (engine_ == nullptr) start();
    return engine_->execute(op, fields);
  }
  void kill() override {
    if (engine_ == nullptr) return;
    io_->kill();
    machine_->kill(seed_ + lives_);
    stop();
  }
  void power_cut(const std::string& mode, std::uint64_t seed) override {
    machine_->power_cut(power_cut_of(mode).value_or(PowerCut::kNoneKept), seed);
    stop();
  }
  void set_clock(std::int64_t wall_ms) override {
    const std::int64_t now = clock_->wall_ms();
    if (wall_ms >= now) {
      clock_->advance_ms(wall_ms - now);
    } else {
      clock_->set_wall_ms(wall_ms);
    }
  }
  void add_fault(const FaultRule& rule) override {
    // The rule was checked when it was parsed.
    static_cast<void>(plan_->add(rule).ok());
  }
  void clear_faults() override { plan_->clear(); }
  Disk& disk() override { return disk_; }
  bool simulated() const override { return true; }
  void set_capacity(std::int64_t bytes) override { machine_->set_capacity(bytes); }

 private:
  void start() {
    ++lives_;
    io_ = std::make_shared<SimIo>(machine_, SimOptions{seed_ + lives_, clock_});
    engine_ = std::make_unique<Engine>(std::make_shared<FaultIo>(io_, plan_), std::string(kRoot),
                                       [this] { return io_->executor().run_pending() > 0; });
  }
  void stop() {
    engine_.reset();
    io_.reset();
  }

  std::uint64_t seed_;
  std::uint64_t lives_ = 0;  ///< each life of the engine has its own order of events
  std::shared_ptr<SimDisk> machine_;
  SimulatedDisk disk_;
  std::shared_ptr<SimClock> clock_ = std::make_shared<SimClock>();
  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  std::shared_ptr<SimIo> io_;
  std::unique_ptr<Engine> engine_;
};

static_assert(SimClock::kStartMs == kClockStartMs);

}  // namespace

std::unique_ptr<Host> make_simulated_host(std::uint64_t seed) {
  return std::make_unique<SimulatedHost>(seed);
}

}  // namespace oncelog::tools::script
