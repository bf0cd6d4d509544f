// The contract suites over the simulated machine.
#include <memory>
#include <string>

#include "oncelog/sim.h"

#include "tests/io/io_contract.h"

namespace oncelog {
namespace {

std::string make_root(Io& io) {
  EXPECT_TRUE(io.files().make_directory("/root").ok());
  return "/root";
}

IoImplementation implementation(const std::string& name, MetadataMode metadata) {
  const auto make_io = [metadata] {
    return std::make_shared<SimIo>(std::make_shared<SimDisk>(metadata));
  };
  return {name, make_io, make_root, [](Io&, const std::string&) {}, {}};
}

INSTANTIATE_TEST_SUITE_P(Sim, IoContract,
                         ::testing::Values(implementation("strict", MetadataMode::kStrict),
                                           implementation("journalled", MetadataMode::kJournalled)),
                         name_of);

}  // namespace
}  // namespace oncelog
