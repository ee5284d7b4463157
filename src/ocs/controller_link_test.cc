#include "ocs/controller_link.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/memory_network.h"
#include "net/simulated_loop.h"
#include "ocs/controller_test_support.h"
#include "ocs/emulated_switch.h"
#include "ocs/emulator_link.h"

namespace mixnet::ocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Region small_region() {
  std::vector<Nic> nics;
  for (int i = 0; i < 4; ++i) {
    nics.push_back(Nic{"s" + std::to_string(i) + "/ens1", i, "ens1", PortId(i + 1), PortId(i + 9)});
  }
  return *Region::make(SwitchSize{8, 8}, {"s0", "s1", "s2", "s3"}, nics);
}

struct LinkWorld {
  explicit LinkWorld(net::MemoryNetworkOptions network_options = {milliseconds(0), milliseconds(1),
                                                                  40, 1})
      : network(loop, network_options), dialer(network.dialer("switch:3082")) {
    network.listen("switch:3082", host);
    link.emplace(loop, *dialer, controller, [this](ControllerEvent& event) {
      if (const auto* done = std::get_if<ApplyDone>(&event)) {
        reports[done->request] = done->report;
      }
    });
  }
  static ControllerOptions options() {
    ControllerOptions made;
    made.session.peer = "switch:3082";
    made.session.login = Login{"", "admin", Secret("root")};
    made.check_power = false;
    made.carrier_deadline = Duration(0);
    return made;
  }
  static EmulatorOptions emulator() {
    EmulatorOptions made;
    made.size = SwitchSize{8, 8};
    return made;
  }
  Circuit circuit(int a, int b) const { return Circuit{NicId(a), NicId(b)}; }
  void run(Duration duration) { loop.run_until(loop.now() + duration); }

  net::SimulatedLoop loop;
  net::MemoryNetwork network;
  EmulatedSwitch emulated{emulator()};
  EmulatorLink host{loop, emulated, nullptr};
  std::unique_ptr<net::Dialer> dialer;
  MemoryJournal journal;
  NoLinkProbe probe;
  RegionController controller{small_region(), options(), journal, probe};
  std::map<uint64_t, ApplyReport> reports;
  std::optional<ControllerLink> link;
};

TEST(ControllerLink, BringsCircuitsToTheSwitch) {
  LinkWorld world;
  world.run(seconds(1));
  ASSERT_TRUE(world.link->connected());
  ASSERT_TRUE(world.controller.idle());
  const auto request = world.link->apply({world.circuit(0, 2), world.circuit(1, 3)});
  ASSERT_TRUE(request.ok()) << request.error().text();
  EXPECT_TRUE(world.reports.empty()) << "within the call";
  world.run(seconds(2));
  ASSERT_EQ(world.reports.size(), 1U);
  EXPECT_TRUE(world.reports.at(*request).all_verified());
  EXPECT_EQ(world.emulated.patches().size(), 4U);
  const auto verified = world.link->verify();
  ASSERT_TRUE(verified.ok());
  world.run(seconds(2));
  EXPECT_TRUE(world.reports.at(*verified).all_verified());
}

TEST(ControllerLink, ComesBackAfterEveryLostConnection) {
  LinkWorld world;
  world.run(seconds(1));
  for (int i = 0; i < 3; ++i) {
    world.network.strike({net::StreamFault::Kind::kReset, net::Direction::kToDialer, 0, {}});
    EXPECT_FALSE(world.link->connected());
    world.run(seconds(3));
    EXPECT_TRUE(world.link->connected());
  }
  EXPECT_EQ(world.network.dialled(), 4U);
}

TEST(ControllerLink, KeepsDiallingASwitchThatIsAway) {
  LinkWorld world;
  world.network.unlisten("switch:3082");
  world.run(seconds(60));
  EXPECT_GT(world.network.dialled(), 5U);
  EXPECT_LT(world.network.dialled(), 40U) << "it waits longer and longer";
  world.network.listen("switch:3082", world.host);
  world.run(seconds(15));
  EXPECT_TRUE(world.controller.idle());
}

TEST(ControllerLink, GivesUpASilentConnection) {
  LinkWorld world;
  world.network.plan_next({net::ConnectionPlan::Connect::kSilence, {}});
  world.network.plan_next({net::ConnectionPlan::Connect::kAccept,
                           {{net::StreamFault::Kind::kVanish, net::Direction::kToDialer, 10, {}}}});
  world.run(seconds(30));
  EXPECT_EQ(world.network.dialled(), 3U);
  EXPECT_TRUE(world.controller.idle());
}

TEST(ControllerLink, EveryCutOfAnAnswerEndsInAReport) {
  // The connection breaks after so many bytes, in mid-login, in mid-reading, in mid-switching: what
  // was asked for is reached nevertheless, or told.
  for (uint64_t cut = 0; cut < 3000; cut += 37) {
    LinkWorld world({milliseconds(0), milliseconds(2), 25, cut + 1});
    const auto direction = cut % 2 == 0 ? net::Direction::kToDialer : net::Direction::kToListener;
    world.network.plan_next({net::ConnectionPlan::Connect::kAccept,
                             {{net::StreamFault::Kind::kReset, direction, cut, {}}}});
    const auto request = world.link->apply({world.circuit(0, 1)});
    ASSERT_TRUE(request.ok());
    world.run(seconds(40));
    ASSERT_EQ(world.reports.count(*request), 1U) << "cut " << cut;
    for (const CircuitReport& circuit : world.reports.at(*request).circuits) {
      if (circuit.outcome == PairOutcome::kVerified) {
        EXPECT_EQ(world.emulated.patches().size(), 2U) << "cut " << cut;
      }
    }
  }
}

TEST(ControllerLink, StopsAndLogsOut) {
  LinkWorld world;
  world.run(seconds(1));
  int stopped = 0;
  world.link->stop([&] { ++stopped; });
  EXPECT_EQ(stopped, 0) << "within the call";
  world.run(seconds(5));
  EXPECT_EQ(stopped, 1);
  EXPECT_FALSE(world.link->connected());
  EXPECT_EQ(world.network.dialled(), 1U);
}

TEST(ControllerLink, StopsWhileItIsConnecting) {
  LinkWorld world;
  world.network.set_default({net::ConnectionPlan::Connect::kSilence, {}});
  world.run(milliseconds(100));
  int stopped = 0;
  world.link->stop([&] { ++stopped; });
  world.run(milliseconds(1));
  EXPECT_EQ(stopped, 1);
}

}  // namespace
}  // namespace mixnet::ocs
