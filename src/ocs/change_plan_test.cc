#include "ocs/change_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/random.h"
#include "ocs/controller_test_support.h"

namespace mixnet::ocs {
namespace {

Circuit circuit(int a, int b) { return test_circuit(a, b); }

TEST(SwitchView, TellsCircuitsHalvesAndForeignPatches) {
  const Region region = test_region(3, 2);  // ports 1-8 and 9-16; ours 1-6 and 9-14
  const std::vector<Patch> patches = {{PortId(1), PortId(11)},
                                      {PortId(3), PortId(9)},   // both ways between NIC 0 and NIC 2
                                      {PortId(5), PortId(10)},  // NIC 4 -> NIC 1 only
                                      {PortId(2), PortId(15)},  // ours to a stranger
                                      {PortId(4), PortId(12)},  // NIC 3 to itself
                                      {PortId(7), PortId(16)}};  // strangers among themselves
  const SwitchView view = view_of(region, patches);
  EXPECT_EQ(view.circuits, (std::vector<Circuit>{circuit(0, 2)}));
  EXPECT_EQ(view.halves, (std::vector<HalfCircuit>{{circuit(1, 4), {PortId(5), PortId(10)}}}));
  EXPECT_EQ(view.foreign, (std::vector<Patch>{{PortId(2), PortId(15)}, {PortId(4), PortId(12)}}));
}

TEST(SwitchView, ReadsAnyToAnySwitchesByTheirFibres) {
  // NIC 0 of s0 sends at 4 and receives at 1; NIC 1 of s1 sends at 2 and receives at 3.
  const Region region =
      Region::make({8, 0}, {"s0", "s1"},
                   {{"s0/a", 0, "a", PortId(4), PortId(1)}, {"s1/a", 1, "a", PortId(2), PortId(3)}})
          .value();
  EXPECT_EQ(view_of(region, {{PortId(3), PortId(4)}, {PortId(1), PortId(2)}}).circuits,
            (std::vector<Circuit>{circuit(0, 1)}));
  // Two senders, and two receivers, facing each other are no circuit.
  EXPECT_EQ(view_of(region, {{PortId(2), PortId(4)}, {PortId(1), PortId(3)}}).foreign.size(), 2u);
}

TEST(ChangePlan, SwitchesOnlyTheDifference) {
  const Region region = test_region(4, 0);
  std::vector<Patch> patches = region.patches_of(circuit(0, 2));
  for (const Patch& patch : region.patches_of(circuit(1, 4))) {
    patches.push_back(patch);
  }
  const ChangePlan plan = plan_change(region, patches, {circuit(0, 2), circuit(1, 6)}, /*keep=*/{});
  EXPECT_EQ(plan.remove, (std::vector<Change>{{circuit(1, 4), region.patches_of(circuit(1, 4))}}));
  EXPECT_EQ(plan.add, (std::vector<Change>{{circuit(1, 6), region.patches_of(circuit(1, 6))}}));
  EXPECT_TRUE(plan.blocked.empty());
}

TEST(ChangePlan, CompletesAHalfCircuit) {
  const Region region = test_region(2, 0);
  const std::vector<Patch> both = region.patches_of(circuit(0, 2));
  const ChangePlan plan = plan_change(region, {both[1]}, {circuit(0, 2)}, {});
  EXPECT_TRUE(plan.remove.empty());
  EXPECT_EQ(plan.add, (std::vector<Change>{{circuit(0, 2), {both[0]}}}));
}

TEST(ChangePlan, NamesWhatIsInTheWay) {
  const Region region = test_region(2, 1);  // 1-5, 6-10; port 5 and 10 are not ours
  const ChangePlan plan = plan_change(region, {{PortId(5), PortId(6)}}, {circuit(0, 2)}, {});
  EXPECT_TRUE(plan.empty());
  ASSERT_EQ(plan.blocked.size(), 1u);
  EXPECT_EQ(plan.blocked[0].why, "the patch 5,6 is in the way and stays");
}

// Random switches and wishes. The plan is carried out on a model of the switch.
class ChangePlanProperty {
 public:
  explicit ChangePlanProperty(uint64_t seed)
      : random_(seed, "change plan"), region_(test_region(4, 2)) {}

  void run();

 private:
  // Patches between random ports, each port at most once.
  std::vector<Patch> random_patches() {
    const int half = region_.switch_size().ingress;
    std::vector<int> egress(static_cast<std::size_t>(half));
    std::iota(egress.begin(), egress.end(), half + 1);
    random_.shuffle(std::span(egress));
    std::vector<Patch> patches;
    for (int i = 0; i < half; ++i) {
      if (random_.below(3) > 0) {
        patches.push_back({PortId(i + 1), PortId(egress[static_cast<std::size_t>(i)])});
      }
    }
    return patches;
  }

  std::vector<Circuit> random_circuits() {
    std::vector<int> nics(region_.nics().size());
    std::iota(nics.begin(), nics.end(), 0);
    random_.shuffle(std::span(nics));
    std::vector<Circuit> circuits;
    for (std::size_t i = 0; i + 1 < nics.size(); i += 2) {
      const Circuit wanted = circuit(nics[i], nics[i + 1]);
      if (check_circuits(region_, {wanted}).ok() && random_.below(4) > 0) {
        circuits.push_back(wanted);
      }
    }
    std::sort(circuits.begin(), circuits.end());
    return circuits;
  }

  // Fails the test where the plan does what no plan may.
  std::vector<Patch> carry_out(const ChangePlan& plan, std::vector<Patch> patches) {
    for (const Change& change : plan.remove) {
      for (const Patch& patch : change.patches) {
        EXPECT_EQ(std::erase(patches, patch), 1u) << "deletes what is not there";
      }
    }
    for (const Change& change : plan.add) {
      for (const Patch& patch : change.patches) {
        for (const Patch& there : patches) {
          EXPECT_TRUE(there.ingress != patch.ingress && there.egress != patch.egress)
              << "a port with two partners";
        }
        patches.push_back(patch);
      }
    }
    std::sort(patches.begin(), patches.end());
    return patches;
  }

  RandomStream random_;
  const Region region_;
};

void ChangePlanProperty::run() {
  std::vector<Patch> before = random_patches();
  for (const Circuit& there : random_circuits()) {  // some whole circuits among the noise
    for (const Patch& patch : region_.patches_of(there)) {
      std::erase_if(before, [&](const Patch& old) {
        return old.ingress == patch.ingress || old.egress == patch.egress;
      });
      before.push_back(patch);
    }
    if (random_.below(2) > 0) {
      break;
    }
  }
  std::sort(before.begin(), before.end());
  const SwitchView view = view_of(region_, before);
  const std::vector<Circuit> wanted = random_circuits();
  std::vector<Circuit> keep = random_.below(2) > 0 ? view.circuits : std::vector<Circuit>{};
  const ChangePlan plan = plan_change(region_, before, wanted, keep);
  const std::vector<Patch> after = carry_out(plan, before);
  const SwitchView reached = view_of(region_, after);

  EXPECT_EQ(reached.foreign, view.foreign);
  for (const Circuit& kept : keep) {
    EXPECT_TRUE(reached.has(kept));
  }
  std::vector<Circuit> blocked;
  for (const BlockedCircuit& b : plan.blocked) {
    blocked.push_back(b.circuit);
    EXPECT_FALSE(view.has(b.circuit));
  }
  for (const Circuit& want : wanted) {
    const bool is_blocked = std::find(blocked.begin(), blocked.end(), want) != blocked.end();
    EXPECT_NE(reached.has(want), is_blocked);
  }
  for (const Circuit& there : reached.circuits) {
    EXPECT_TRUE(std::binary_search(wanted.begin(), wanted.end(), there) ||
                std::binary_search(keep.begin(), keep.end(), there));
  }
  EXPECT_TRUE(reached.halves.empty());
  EXPECT_TRUE(plan_change(region_, after, wanted, keep).empty()) << "not idempotent";
}

TEST(ChangePlan, ReachesWhatIsWantedAndTouchesNothingElse) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ChangePlanProperty(seed).run();
  }
}

}  // namespace
}  // namespace mixnet::ocs
