// Directories whose files were changed at random: opening and verifying never break, and what a cut
// leaves opens again with the same result.
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "index/producer_snapshot.h"
#include "recovery/verify.h"
#include "tests/recovery/log_image.h"

namespace oncelog::test {
namespace {

constexpr int kRuns = 3000;

LogImage full_image(bool with_sidecar) {
  LogImage image;
  for (int i = 0; i < 6; ++i)
    image.add({.value_bytes = 80, .producer_id = 7, .sequence = i, .transactional = true});
  image.add_marker(7, 0, false);
  image.file(file_name(FileKind::kSnapshot, 7)) =
      encode_producer_snapshot(recover_on(image, RootFacts{})->producers);
  image.roll();
  for (int i = 6; i < 10; ++i)
    image.add({.value_bytes = 80, .producer_id = 7, .sequence = i, .leader_epoch = 2});
  image.roll();
  image.add({.producer_id = 8, .transactional = true, .leader_epoch = 2});
  if (with_sidecar) image.checkpoint(4096);
  image.add({.producer_id = 9, .leader_epoch = 3});
  if (!with_sidecar) image.write_indexes();
  return image;
}

void mutate(std::vector<std::byte>& bytes, std::mt19937_64& random) {
  const auto at = [&] { return bytes.empty() ? 0 : random() % bytes.size(); };
  switch (random() % 6) {
    case 0:
      bytes.resize(at());
      return;
    case 1:
      bytes.resize(bytes.size() + random() % 300);
      return;
    case 2:
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at()), bytes.end(), std::byte{0});
      return;
    case 3:
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at()), random() % 40,
                   static_cast<std::byte>(random()));
      return;
    default:
      if (!bytes.empty()) bytes[at()] = static_cast<std::byte>(random());
  }
}

TEST(Mutation, NothingInADirectoryBreaksOpeningOrVerifying) {
  const char* const given = std::getenv("ONCELOG_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::cout << "ONCELOG_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  const std::shared_ptr<SimDisk> images[] = {full_image(false).disk(), full_image(true).disk()};
  for (int run = 0; run < kRuns; ++run) {
    const std::shared_ptr<SimDisk> disk = images[random() % 2]->clone();
    std::vector<std::string> paths = disk->paths();
    std::erase_if(paths, [](const std::string& path) { return path.ends_with('/'); });
    for (std::size_t n = 1 + random() % 3; n-- > 0;) {
      const std::string& path = paths[random() % paths.size()];
      std::vector<std::byte> bytes = *disk->read_file(path);
      mutate(bytes, random);
      ASSERT_TRUE(disk->write_file(path, bytes).ok());
    }
    RootFacts root;
    root.clean = random() % 3 == 0;
    if (random() % 3 != 0) root.recovery_point = static_cast<Offset>(random() % 16);
    if (random() % 4 == 0) root.log_start = static_cast<Offset>(random() % 16);
    RecoverOptions options = small_options();
    options.on_damage = OnDamage::kCut;
    SimIo look(disk->clone());
    const std::uint64_t before = look.disk().digest();

    const auto verified = verify_partition(look.files(), LogImage::kDirectory, root);
    static_cast<void>(load_read_only(look.files(), LogImage::kDirectory, root, options));

    ASSERT_TRUE(verified.ok()) << run << ": " << to_string(verified.error());
    ASSERT_EQ(look.disk().digest(), before) << run;
    SimIo io(disk);
    const auto recover = [&]() -> Result<LoadedLog> {
      ONCELOG_TRY_ASSIGN(RecoveryPlanPtr plan,
                         analyse(io.files(), LogImage::kDirectory, root, options));
      return apply(io.files(), std::move(plan), {[&root](Offset to) {
                     root.recovery_point = to;
                     return Status{};
                   }});
    };
    const auto first = recover();
    if (!first.ok()) {
      ASSERT_NE(first.error().message.find("overlap"), std::string::npos)
          << run << ": " << to_string(first.error());
      continue;
    }
    root.clean = false;
    const std::uint64_t after = disk->digest();
    const auto next = analyse(io.files(), LogImage::kDirectory, root, options);
    ASSERT_TRUE(next.ok()) << run;
    const std::vector<std::string> actions = actions_of(**next);
    const auto second = recover();
    ASSERT_TRUE(second.ok()) << run << ": " << to_string(second.error());
    ASSERT_EQ(second->log_end, first->log_end)
        << run << to_string(first->report) << "\nthen " << to_string(second->report);
    ASSERT_EQ(second->report.verdict, Verdict::kNone)
        << run << to_string(first->report) << "\nthen " << to_string(second->report);
    // A cut that removed the sidecar has the indexes that it vouched for looked at.
    if (first->report.sidecar_used) continue;
    ASSERT_EQ(actions, std::vector<std::string>()) << run << to_string(first->report);
    ASSERT_EQ(disk->digest(), after) << run << to_string(second->report);
  }
}

}  // namespace
}  // namespace oncelog::test
