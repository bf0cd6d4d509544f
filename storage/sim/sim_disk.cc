// The public face of the simulated disk: crashes, copies, and access from outside.
#include "oncelog/sim_disk.h"

#include <array>
#include <cerrno>
#include <utility>

#include "storage/base/xxh3.h"
#include "storage/sim/disk_state.h"
#include "storage/sim/errno_error.h"
#include "storage/sim/random.h"

namespace oncelog {
namespace {

struct ModeName {
  PowerCut mode;
  std::string_view name;
};
constexpr std::array<ModeName, 5> kModeNames{{{PowerCut::kNoneKept, "none_kept"},
                                              {PowerCut::kAllKept, "all_kept"},
                                              {PowerCut::kPrefix, "prefix"},
                                              {PowerCut::kSubset, "subset"},
                                              {PowerCut::kTorn, "torn"}}};

void add_paths(const sim::DiskState& state, sim::InodeId directory, const std::string& prefix,
               std::vector<std::string>& out) {
  for (const auto& [name, inode] : state.names().entries(directory)) {
    std::string path = prefix;
    path += name;
    if (state.is_directory(inode)) path += '/';
    out.push_back(path);
    if (state.is_directory(inode)) add_paths(state, inode, path, out);
  }
}

std::vector<std::byte> content_of(const sim::DiskState& state, sim::InodeId inode) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.file(inode).live().size));
  state.file(inode).read(0, bytes);
  return bytes;
}

}  // namespace

std::string_view to_string(PowerCut mode) noexcept {
  for (const ModeName& row : kModeNames) {
    if (row.mode == mode) return row.name;
  }
  return "";
}

std::optional<PowerCut> power_cut_of(std::string_view name) noexcept {
  for (const ModeName& row : kModeNames) {
    if (row.name == name) return row.mode;
  }
  return std::nullopt;
}

SimDisk::SimDisk(MetadataMode metadata) : state_(std::make_unique<sim::DiskState>(metadata)) {}

SimDisk::SimDisk(std::unique_ptr<sim::DiskState> state) : state_(std::move(state)) {}

SimDisk::~SimDisk() = default;

std::shared_ptr<SimDisk> SimDisk::clone() const {
  return std::shared_ptr<SimDisk>(new SimDisk(std::make_unique<sim::DiskState>(*state_)));
}

void SimDisk::power_cut(PowerCut mode, std::uint64_t seed) {
  state_->power_cut(mode, seed);
}

void SimDisk::kill(std::uint64_t seed) {
  sim::Random random(seed);
  state_->kill(0, random, 0);
}

void SimDisk::set_capacity(std::int64_t bytes) {
  state_->set_capacity(bytes);
}

std::int64_t SimDisk::used_bytes() const {
  return state_->used_bytes();
}

MetadataMode SimDisk::metadata() const noexcept {
  return state_->metadata();
}

std::size_t SimDisk::unsynced_changes() const {
  return state_->unsynced_changes();
}

std::uint64_t SimDisk::digest() const {
  std::uint64_t digest = 0;
  for (const std::string& path : paths()) {
    const std::uint64_t name = xxh3_64(std::as_bytes(std::span(path)));
    digest = sim::Random(digest ^ name).next();
    if (path.back() == '/') continue;
    const sim::InodeId inode = state_->find(path).inode;
    digest = sim::Random(digest ^ xxh3_64(content_of(*state_, inode))).next();
  }
  return digest;
}

Result<std::vector<std::byte>> SimDisk::read_file(const std::string& path) const {
  const sim::Found found = state_->find(path);
  if (found.error != 0) return sim::errno_error(found.error, path);
  if (found.inode == sim::kNoInode) return sim::errno_error(ENOENT, path);
  if (state_->is_directory(found.inode)) return sim::errno_error(EISDIR, path);
  return content_of(*state_, found.inode);
}

Status SimDisk::write_file(const std::string& path, std::span<const std::byte> bytes) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    const sim::Found above = state_->find(path.substr(0, end));
    if (above.error != 0) return sim::errno_error(above.error, path);
    if (above.inode == sim::kNoInode && state_->make_directory(above) == 0)
      state_->persist_name(above);
  }
  sim::Found found = state_->find(path);
  if (found.error != 0) return sim::errno_error(found.error, path);
  if (found.inode == sim::kNoInode) state_->create(found, 0, found.inode);
  if (state_->is_directory(found.inode)) return sim::errno_error(EISDIR, path);
  state_->persist_name(found);
  state_->replace(found.inode, bytes, state_->file(found.inode).live().modified_ms);
  return {};
}

Status SimDisk::remove_file(const std::string& path) {
  const sim::Found found = state_->find(path);
  const int error = found.error != 0 ? found.error : state_->unlink(found);
  if (error != 0) return sim::errno_error(error, path);
  state_->persist_name(found);
  return {};
}

std::vector<std::string> SimDisk::paths() const {
  std::vector<std::string> out;
  add_paths(*state_, sim::kRootInode, "", out);
  return out;
}

}  // namespace oncelog
