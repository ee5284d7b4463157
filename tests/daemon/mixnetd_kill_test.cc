// kill -9 in the middle of transactions: what the daemon believes after its restart is what the
// switch holds, and the interrupted transaction is finished.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/random.h"
#include "daemon/mixnetd_process.h"
#include "daemon/region_bench.h"

namespace mixnet::daemon {
namespace {

namespace v1 = region::v1;
using mixnet::test_support::Mixnetd;
using mixnet::test_support::RegionBench;

constexpr int kKills = 200;
constexpr int kServers = 3;
constexpr int kNics = 2 * kServers;  // NIC k, from 1, sends at port k and receives at 8 + k

using Patches = std::set<std::pair<int, int>>;

std::string name_of(int nic) {
  return "s" + std::to_string((nic - 1) / 2) + "/ocs" + std::to_string(nic);
}

// Both directions of every circuit.
Patches patches_of(const std::vector<std::pair<int, int>>& circuits) {
  Patches patches;
  for (const auto& [a, b] : circuits) {
    patches.insert({a, 8 + b});
    patches.insert({b, 8 + a});
  }
  return patches;
}

class KillTest : public ::testing::Test {
 protected:
  // What the person at the switch sees.
  Patches held() const {
    std::istringstream lines(bench_.emulator.control("status"));
    Patches patches;
    for (std::string word; lines >> word;) {
      const std::size_t comma = word.find(',');
      if (comma != std::string::npos &&
          word.find_first_not_of("0123456789,") == std::string::npos) {
        patches.insert({std::stoi(word.substr(0, comma)), std::stoi(word.substr(comma + 1))});
      }
    }
    return patches;
  }

  std::vector<std::pair<int, int>> random_circuits() {
    std::vector<int> nics;
    for (int nic = 1; nic <= kNics; ++nic) {
      nics.push_back(nic);
    }
    random_.shuffle(std::span(nics));
    std::vector<std::pair<int, int>> circuits;
    for (std::size_t i = 0; i + 1 < nics.size(); i += 2) {
      const int a = std::min(nics[i], nics[i + 1]);
      const int b = std::max(nics[i], nics[i + 1]);
      if ((a - 1) / 2 != (b - 1) / 2) {
        circuits.emplace_back(a, b);
      }
    }
    return circuits;
  }

  // Waits until the daemon has read the switch and finished what was open.
  v1::Topology await_settled() {
    v1::Topology last;
    for (int tries = 0; tries < 200; ++tries) {
      RegionClient client = bench_.client();
      const Status watched = client.watch([&](const v1::Topology& topology) {
        last = topology;
        const bool ready = topology.connected() && topology.settled() && topology.read();
        return !ready;
      });
      if (watched.ok()) {
        return last;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is still starting
    }
    ADD_FAILURE() << "the daemon does not come up";
    return last;
  }

  // What the daemon says the switch holds.
  static Patches configured(const v1::Topology& topology) {
    std::vector<std::pair<int, int>> circuits;
    const auto number = [](const std::string& nic) {
      return std::stoi(nic.substr(nic.size() - 1));
    };
    for (const v1::CircuitState& circuit : topology.circuits()) {
      if (circuit.configured()) {
        circuits.emplace_back(number(circuit.a()), number(circuit.b()));
      }
    }
    return patches_of(circuits);
  }

  RandomStream random_{1, "kills"};
  RegionBench bench_;
  std::string output_ = bench_.folder.write("output", "");
};

TEST_F(KillTest, TwoHundredKillsLeaveNoMismatch) {
  int mismatches = 0;
  int interrupted = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    SCOPED_TRACE("kill " + std::to_string(kill));
    Mixnetd mixnetd({"--config", bench_.config}, "", output_);
    const v1::Topology topology = await_settled();
    ASSERT_FALSE(HasFailure()) << mixnet::test_support::read_all(output_);
    mismatches += configured(topology) == held() ? 0 : 1;
    for (const v1::CircuitState& circuit : topology.circuits()) {
      // The transaction that the last kill interrupted was finished.
      EXPECT_TRUE(circuit.intended() && circuit.configured()) << circuit.a() << " " << circuit.b();
    }

    v1::ApplyCircuitsRequest request;
    request.set_mode(v1::ApplyCircuitsRequest::REPLACE_ALL);
    for (const auto& [a, b] : random_circuits()) {
      v1::Circuit* circuit = request.add_circuits();
      circuit->set_a(name_of(a));
      circuit->set_b(name_of(b));
    }
    const auto delay = std::chrono::microseconds(random_.below(60'000));
    bool answered = false;
    std::thread caller([&] { answered = bench_.client().apply(request).ok(); });
    std::this_thread::sleep_for(delay);
    mixnetd.signal(SIGKILL);
    EXPECT_EQ(mixnetd.wait(), -1);
    caller.join();
    interrupted += answered ? 0 : 1;
  }
  EXPECT_EQ(mismatches, 0);
  EXPECT_GT(interrupted, kKills / 2) << "the kills came too late to meet a transaction";
}

}  // namespace
}  // namespace mixnet::daemon
