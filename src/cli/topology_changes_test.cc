#include "cli/topology_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/region_view.h"

namespace mixnet::cli {
namespace {

namespace v1 = region::v1;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::Topology connected() {
  v1::Topology topology;
  topology.set_region("r1");
  topology.set_connected(true);
  topology.set_settled(true);
  return topology;
}

v1::CircuitState& add_circuit(v1::Topology& topology, bool operational) {
  v1::CircuitState& circuit = *topology.add_circuits();
  circuit.set_a("s0/a");
  circuit.set_b("s1/b");
  circuit.set_intended(true);
  circuit.set_configured(true);
  circuit.set_operational(operational);
  circuit.set_step(operational ? v1::CARRIER : v1::POWER);
  return circuit;
}

v1::Alarm& add_alarm(v1::Topology& topology) {
  v1::Alarm& alarm = *topology.add_alarms();
  alarm.set_kind("dark");
  alarm.set_subject("s0/a - s1/b");
  alarm.set_message("no light");
  alarm.set_since(7);
  return alarm;
}

std::vector<std::string> lines(const v1::Topology& before, const v1::Topology& after) {
  std::vector<std::string> texts;
  for (const TopologyChange& change : changes_between(before, after, 9)) {
    texts.push_back(change.event + "|" + change.kind + "|" + change.subject + "|" + change.message +
                    "|" + std::to_string(static_cast<int>(change.time)));
  }
  return texts;
}

TEST(TopologyChanges, EveryDifferenceIsOneLine) {
  const v1::Topology nothing = connected();
  EXPECT_THAT(lines(nothing, nothing), IsEmpty());
  v1::Topology good = connected();
  add_circuit(good, true);
  v1::Topology dark = connected();
  add_circuit(dark, false);
  add_alarm(dark);
  EXPECT_THAT(lines(nothing, good),
              ElementsAre("circuit|operational|s0/a - s1/b|intended, configured, checked up to "
                          "carrier|9"));
  EXPECT_THAT(lines(good, dark),
              ElementsAre("circuit|dark|s0/a - s1/b|intended, configured, checked up to power|9",
                          "alarm-raised|dark|s0/a - s1/b|no light|7"));
  EXPECT_THAT(lines(dark, nothing), ElementsAre("circuit|gone|s0/a - s1/b||9",
                                                "alarm-cleared|dark|s0/a - s1/b|no light|9"));
  v1::Topology other = dark;
  other.mutable_alarms(0)->set_message("less light");
  EXPECT_THAT(lines(dark, other), ElementsAre("alarm-changed|dark|s0/a - s1/b|less light|9"));
}

TEST(TopologyChanges, SessionTransactionPatchesAndQuarantine) {
  const v1::Topology before = connected();
  v1::Topology after = before;
  after.set_connected(false);
  after.set_intent(4);
  after.set_settled(false);
  after.add_foreign()->set_ingress(1);
  after.mutable_foreign(0)->set_egress(9);
  after.add_quarantined("s0/a");
  EXPECT_THAT(lines(before, after),
              ElementsAre("session|down|r1||9", "transaction|under-way|4||9",
                          "patch|foreign|1 to 9||9", "quarantine|begun|s0/a||9"));
  EXPECT_THAT(lines(after, before), ElementsAre("session|up|r1||9", "transaction|settled|0||9",
                                                "patch|gone|1 to 9||9", "quarantine|over|s0/a||9"));
}

TEST(RegionView, WellMeansAllOfIt) {
  v1::Topology topology = connected();
  EXPECT_TRUE(all_is_well(topology));
  EXPECT_TRUE(all_agree(topology));
  v1::CircuitState& circuit = add_circuit(topology, true);
  EXPECT_TRUE(all_is_well(topology) && all_agree(topology));
  circuit.set_intended(false);
  EXPECT_TRUE(all_is_well(topology));
  EXPECT_FALSE(all_agree(topology));
  circuit.set_intended(true);
  circuit.set_operational(false);
  EXPECT_FALSE(all_is_well(topology) || all_agree(topology));
  circuit.set_operational(true);
  add_alarm(topology);
  EXPECT_FALSE(all_is_well(topology));
  topology.clear_alarms();
  topology.add_foreign();
  EXPECT_FALSE(all_is_well(topology) || all_agree(topology));
  topology.clear_foreign();
  topology.set_settled(false);
  EXPECT_FALSE(all_is_well(topology));
}

TEST(RegionView, Dates) {
  EXPECT_EQ(date_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(date_text(1772366400.1239), "2026-03-01T12:00:00.123Z");
}

}  // namespace
}  // namespace mixnet::cli
