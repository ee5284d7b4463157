#include "ocs/sysfs_link_probe.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/temporary_directory.h"

namespace mixnet::ocs {
namespace {

using Carrier = LinkProbe::Carrier;

Region region() {
  return *Region::make(SwitchSize{4, 4}, {"s0", "s1"},
                       {Nic{"s0/ens1", 0, "ens1", PortId(1), PortId(5)},
                        Nic{"s0/ens2", 0, "ens2", PortId(2), PortId(6)},
                        Nic{"s1/ens1", 1, "ens1", PortId(3), PortId(7)}});
}

struct SysfsWorld {
  SysfsWorld() {
    for (const char* interface : {"ens1", "ens2"}) {
      std::filesystem::create_directories(root + "/class/net/" + interface);
    }
  }
  // As the emulator does it: a new file takes the place of the old one.
  void set(const std::string& interface, const std::string& carrier) const {
    const std::string next = directory.write("next", carrier);
    std::filesystem::rename(next, root + "/class/net/" + interface + "/carrier");
  }

  test_support::TemporaryDirectory directory;
  std::string root = directory.file("sys");
};

TEST(SysfsLinkProbe, ReadsTheCarrierOfVisibleNics) {
  const SysfsWorld world;
  SysfsLinkProbe probe(region(), {NicId(0), NicId(1)}, world.root);
  EXPECT_EQ(probe.carrier(NicId(0)), Carrier::kNotObserved) << "no file yet";
  world.set("ens1", "1\n");
  world.set("ens2", "0\n");
  EXPECT_EQ(probe.carrier(NicId(0)), Carrier::kUp);
  EXPECT_EQ(probe.carrier(NicId(1)), Carrier::kDown);
  EXPECT_EQ(probe.carrier(NicId(2)), Carrier::kNotObserved) << "of another machine, equal name";
}

TEST(SysfsLinkProbe, SeesAReplacedFileAndOneThatGoes) {
  const SysfsWorld world;
  SysfsLinkProbe probe(region(), {NicId(0)}, world.root);
  for (int i = 0; i < 3; ++i) {
    world.set("ens1", "1\n");
    EXPECT_EQ(probe.carrier(NicId(0)), Carrier::kUp);
    world.set("ens1", "0\n");
    EXPECT_EQ(probe.carrier(NicId(0)), Carrier::kDown);
  }
  std::filesystem::remove(world.root + "/class/net/ens1/carrier");
  EXPECT_EQ(probe.carrier(NicId(0)), Carrier::kNotObserved);
}

TEST(SysfsLinkProbe, AnInterfaceThatIsOffIsDown) {
  // Reading its carrier fails with EINVAL, as does reading one byte of the pagemap.
  const SysfsWorld world;
  std::filesystem::create_symlink("/proc/self/pagemap", world.root + "/class/net/ens1/carrier");
  SysfsLinkProbe probe(region(), {NicId(0)}, world.root);
  EXPECT_EQ(probe.carrier(NicId(0)), Carrier::kDown);
}

TEST(SysfsLinkProbe, GarbageIsNotUp) {
  const SysfsWorld world;
  SysfsLinkProbe probe(region(), {NicId(0), NicId(1)}, world.root);
  world.set("ens1", "x");
  world.set("ens2", "");
  EXPECT_EQ(probe.carrier(NicId(0)), Carrier::kDown);
  EXPECT_EQ(probe.carrier(NicId(1)), Carrier::kNotObserved);
}

}  // namespace
}  // namespace mixnet::ocs
