// The contract suites over the simulated machine.
#include <memory>
#include <string>

#include "oncelog/fault_io.h"
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

// Rules that are only retried inside must not be seen by any caller.
IoImplementation with_retried_faults() {
  const auto make_io = [] {
    const auto plan = std::make_shared<FaultPlan>();
    for (const FaultPoint point :
         {FaultPoint::kWrite, FaultPoint::kFsync, FaultPoint::kRead, FaultPoint::kRename,
          FaultPoint::kTruncate, FaultPoint::kUnlink, FaultPoint::kFsyncDir, FaultPoint::kCreate}) {
      FaultRule rule;
      rule.on = point;
      rule.sys_errno = EINTR;
      rule.times = 3;
      EXPECT_TRUE(plan->add(rule).ok());
    }
    for (const FaultPoint point : {FaultPoint::kWrite, FaultPoint::kRead}) {
      FaultRule rule;
      rule.on = point;
      rule.nth = 4;
      rule.times = -1;
      rule.short_bytes = 2;
      EXPECT_TRUE(plan->add(rule).ok());
    }
    auto io = std::make_shared<SimIo>(std::make_shared<SimDisk>());
    return std::make_shared<FaultIo>(std::move(io), plan);
  };
  return {"retried_faults", make_io, make_root, [](Io&, const std::string&) {}, {}};
}

IoImplementation without_rules() {
  const auto make_io = [] {
    return std::make_shared<FaultIo>(std::make_shared<SimIo>(std::make_shared<SimDisk>()),
                                     std::make_shared<FaultPlan>());
  };
  return {"without_rules", make_io, make_root, [](Io&, const std::string&) {}, {}};
}

INSTANTIATE_TEST_SUITE_P(Sim, IoContract,
                         ::testing::Values(implementation("strict", MetadataMode::kStrict),
                                           implementation("journalled", MetadataMode::kJournalled),
                                           without_rules(), with_retried_faults()),
                         name_of);

}  // namespace
}  // namespace oncelog
