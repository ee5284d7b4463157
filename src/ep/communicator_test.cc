#include "ep/communicator.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "ep/communicator_test_support.h"
#include "ep/simulated_fabric.h"

namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

using conformance::Load;

struct CommunicatorScene {
  std::vector<int> host_sizes = {2, 2};
  int rails = 1;
  uint64_t seed = 1;
  std::vector<SimulatedFault> faults = {};
};

using Say = std::function<std::string(Communicator&)>;

std::vector<std::string> communicate(const CommunicatorScene& scene, const Say& say) {
  SimulationOptions options;
  options.ranks = RankMap(scene.host_sizes);
  options.rails = scene.rails;
  options.seed = scene.seed;
  options.window_bytes = 1 << 20;
  std::vector<std::string> texts(at(options.ranks.ranks()), "killed");
  run_simulated(options, scene.faults, [&](Transport& transport) {
    const auto communicator = communicator_over(transport, Patience{40ms, 10s});
    texts[at(transport.rank())] = say(*communicator);
  });
  return texts;
}

using Lines = std::vector<std::string>;

Load float_load(uint64_t seed) {
  Load load{16, 3};
  load.seed = seed;
  return load;
}

std::string text_of_bytes(const Communicator& communicator) {
  std::string text;
  for (const int64_t bytes : communicator.traffic().nic_bytes) {
    text += std::to_string(bytes) + " ";
  }
  return text;
}

// All that rank 0 sends to host 1 leaves by `rail` of rank 1.
RouteTable detour_by(int rail) {
  RouteTable routes;
  routes.set(0, 1, {Carrier{{Hop{1, rail, 2}}, 1}});
  return routes;
}

// 10 tokens of rank 0 to each rank of host 1, in rows of 64 bytes; others have none.
std::string send_ten(Communicator& communicator) {
  Load load{4, 1};
  const std::vector<int64_t> experts = {2, 3, 2, 3, 2, 3, 2, 3, 2, 3};
  const auto own = conformance::load_with(
      load, communicator.rank(), communicator.rank() == 0 ? experts : std::vector<int64_t>{});
  const Result<Dispatched> got =
      communicator.dispatch(conformance::input_of(load, own), conformance::options_of(load));
  return got ? text_of_bytes(communicator) : got.error().text();
}

TEST(CommunicatorRoutes, NobodyUsesATableBeforeAllHaveIt) {
  const Lines texts = communicate({{2, 2}, 2}, [](Communicator& communicator) {
    if (communicator.rank() != 3) {
      EXPECT_TRUE(communicator.set_routes(1, detour_by(1)).ok());
    }
    std::string text = send_ten(communicator) + "| ";
    if (communicator.rank() == 3) {
      EXPECT_TRUE(communicator.set_routes(1, detour_by(1)).ok());
    }
    return text + send_ten(communicator);
  });
  EXPECT_EQ(texts, (Lines{"320 320 | 320 320 ", "0 0 | 0 640 ", "0 0 | 0 0 ", "0 0 | 0 0 "}));
}

// A rank that was given versions faster than others misses the ones in between.
TEST(CommunicatorRoutes, WhoMissedAVersionUsesNoOther) {
  const Lines texts = communicate({{2, 2}, 2}, [](Communicator& communicator) {
    if (communicator.rank() != 2) {
      EXPECT_TRUE(communicator.set_routes(1, detour_by(0)).ok());
    }
    if (communicator.rank() != 0) {
      EXPECT_TRUE(communicator.set_routes(2, detour_by(1)).ok());
    }
    std::string text = send_ten(communicator) + "| ";
    if (communicator.rank() == 0) {
      EXPECT_TRUE(communicator.set_routes(2, detour_by(1)).ok());
    }
    return text + send_ten(communicator);
  });
  EXPECT_EQ(texts, (Lines{"320 320 | 320 320 ", "0 0 | 0 640 ", "0 0 | 0 0 ", "0 0 | 0 0 "}));
}

TEST(CommunicatorRoutes, DifferentTablesUnderOneVersionAreAnErrorOfAll) {
  const Lines texts = communicate({{2, 2}, 2}, [](Communicator& communicator) {
    EXPECT_TRUE(communicator.set_routes(4, detour_by(communicator.rank() == 2 ? 0 : 1)).ok());
    if (communicator.rank() == 2) {  // also when it has a newer one
      EXPECT_TRUE(communicator.set_routes(5, detour_by(1)).ok());
    }
    std::string text = send_ten(communicator) + "; ";
    EXPECT_TRUE(communicator.set_routes(5, detour_by(1)).ok());
    return text + send_ten(communicator);
  });
  const std::string error = "dispatch: routes of version 4 on rank 2 are not those on rank 0; ";
  EXPECT_EQ(texts, (Lines{error + "0 0 ", error + "0 640 ", error + "0 0 ", error + "0 0 "}));
}

TEST(CommunicatorRoutes, ATableThatDoesNotFitIsRefused) {
  communicate({{2, 2}, 1}, [](Communicator& communicator) {
    const Status status = communicator.set_routes(1, detour_by(1));
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.error().message, "route from rank 0 to host 1: rank 1 has no NIC 1");
    return echo(communicator, float_load(1));
  });
}

TEST(CommunicatorLosses, WhoIsExcludedIsLostInTheNextCall) {
  const Lines texts = communicate({{2, 2}, 1}, [](Communicator& communicator) {
    std::string text = echo(communicator, float_load(1));
    if (communicator.rank() == 3) {
      communicator.exclude(1);
    }
    EXPECT_TRUE(communicator.lost().empty());
    text += echo(communicator, float_load(2));
    return communicator.rank() == 1 ? text.substr(0, 40) : text + communicator.lost().text();
  });
  EXPECT_EQ(texts, (Lines{"1", "rank 1 (this one) is lost to the others:", "1", "1"}));
}

// A rank dies; the others go on under numbers without gaps, at once and whoever is ahead.
TEST(CommunicatorLosses, SurvivorsShrinkAndGoOn) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CommunicatorScene scene{{2, 3, 1}, static_cast<int>(1 + seed % 2), seed};
    const int victim = static_cast<int>(seed % 6);
    scene.faults = {SimulatedFault{SimulatedFault::Kind::kKill, victim, 0s}};
    Lines texts = communicate(scene, [&](Communicator& communicator) {
      std::string text = echo(communicator, float_load(seed));
      text += communicator.lost().text() + ": ";
      const auto survivors = communicator.shrink();
      text += roll_call(*survivors);
      text += echo(*survivors, float_load(seed + 1));
      EXPECT_EQ(survivors->ranks().ranks(), 5);
      EXPECT_TRUE(survivors->lost().empty()) << survivors->lost().text();
      return text;
    });
    texts.erase(texts.begin() + victim);
    EXPECT_EQ(texts, Lines(5, std::to_string(victim) + ": 0 1 2 3 4 ")) << "seed " << seed;
  }
}

TEST(CommunicatorLosses, ResultsOutliveTheCommunicatorThatShrank) {
  Lines texts = communicate({{2, 2}, 2}, [](Communicator& old) {
    const Load load = float_load(3);
    const auto own = conformance::load_of(load, old.rank(), 4);
    const Result<Dispatched> got =
        old.dispatch(conformance::input_of(load, own), conformance::options_of(load));
    if (!got) {
      return got.error().text();
    }
    const std::size_t bytes = static_cast<std::size_t>(got->rows * load.hidden) * sizeof(float);
    const std::vector<std::byte> before(got->x.data, got->x.data + bytes);
    if (old.rank() == 0) {
      old.exclude(1);
    }
    std::string text = roll_call(old);
    if (old.rank() == 1) {
      return text;
    }
    const auto survivors = old.shrink();
    for (uint64_t round = 0; round < 5; ++round) {
      text += echo(*survivors, float_load(round));
    }
    EXPECT_EQ(std::vector<std::byte>(got->x.data, got->x.data + bytes), before);
    return text;
  });
  texts.erase(texts.begin() + 1);
  EXPECT_EQ(texts, Lines(3, "0 - 2 3 "));
}

// Down to one rank, one loss after the other.
TEST(CommunicatorLosses, SurvivorsShrinkAgainAndAgain) {
  const Lines texts = communicate({{2, 1, 1}, 1}, [](Communicator& first) {
    std::string text;
    std::unique_ptr<Communicator> smaller;
    Communicator* current = &first;
    while (current->ranks().ranks() > 1) {
      const int last = current->ranks().ranks() - 1;
      if (current->rank() == last) {
        return text;
      }
      current->exclude(last);
      text += roll_call(*current);
      text += echo(*current, float_load(1)) + "| ";
      smaller = current->shrink();
      current = smaller.get();
    }
    text += roll_call(*current);
    return text + echo(*current, float_load(2));
  });
  EXPECT_EQ(texts, (Lines{"0 1 2 - | 0 1 - | 0 - | 0 ", "0 1 2 - | 0 1 - | ", "0 1 2 - | ", ""}));
}

// What was excluded before shrinking, but in no call yet, is lost in the first one after it.
TEST(CommunicatorLosses, ExclusionsSurviveShrinking) {
  CommunicatorScene scene{{1, 2, 1}, 1};
  scene.faults = {SimulatedFault{SimulatedFault::Kind::kKill, 0, 0s}};
  const Lines texts = communicate(scene, [](Communicator& communicator) {
    std::string text = roll_call(communicator);
    if (communicator.rank() == 3) {
      communicator.exclude(2);
    }
    const auto survivors = communicator.shrink();
    return text + "| " + roll_call(*survivors).substr(0, 8);
  });
  EXPECT_EQ(texts, (Lines{"killed", "- 1 2 3 | 0 - 2 ", "- 1 2 3 | rank 1 (", "- 1 2 3 | 0 - 2 "}));
}

// Two exchanges and a call that waits, all started before the first has ended.
TEST(CommunicatorStart, CallsKeepTheirOrder) {
  for (const TransportMode mode : kTransports) {
    const Lines texts = communicate({{2, 2}, 2}, [&](Communicator& communicator) {
      constexpr std::size_t kCalls = 4;
      std::vector<Load> loads;
      std::vector<conformance::RankLoad> own;
      for (uint64_t call = 0; call < kCalls; ++call) {
        loads.push_back(float_load(call + 1));
        loads.back().mode = mode;
        own.push_back(conformance::load_of(loads.back(), communicator.rank(), 4));
      }
      std::vector<std::future<Result<Dispatched>>> started;
      for (std::size_t call = 0; call < kCalls; ++call) {
        started.push_back(communicator.start_dispatch(conformance::input_of(loads[call], own[call]),
                                                      conformance::options_of(loads[call])));
      }
      std::string text = roll_call(communicator);
      std::vector<std::vector<float>> sums;
      std::vector<std::future<Result<Combined>>> returning;
      std::vector<Dispatched> got;
      std::set<uint64_t> numbers;
      for (std::size_t call = 0; call < kCalls; ++call) {
        Result<Dispatched> result = started[call].get();
        if (!result) {
          return result.error().text();
        }
        numbers.insert(result->handle->number);
        EXPECT_EQ(*numbers.rbegin(), result->handle->number) << "ascending";
        got.push_back(*std::move(result));
        sums.emplace_back(own[call].x.size() / sizeof(float), 9.0F);
        const CombineInput back{got.back().x, loads[call].hidden, loads[call].type, false, {}, {}};
        returning.push_back(
            communicator.start_combine(back, got.back().handle, host_address(sums.back().data())));
      }
      for (std::size_t call = 0; call < kCalls; ++call) {
        const Result<Combined> combined = returning[call].get();
        text += combined ? wrong_echo(communicator, loads[call], own[call], sums[call])
                         : combined.error().text();
      }
      return text;
    });
    EXPECT_EQ(texts, Lines(4, "0 1 2 3 ")) << transport_name(mode);
  }
}

TEST(CommunicatorStart, ResultsAreGivenBackWhileACallRuns) {
  const Lines texts = communicate({{2, 2}, 1}, [](Communicator& communicator) {
    std::string text;
    for (uint64_t round = 0; round < 20; ++round) {
      const Load load = float_load(round);
      const auto own = conformance::load_of(load, communicator.rank(), 4);
      const auto input = conformance::input_of(load, own);
      Result<Dispatched> held = communicator.dispatch(input, conformance::options_of(load));
      auto running = communicator.start_dispatch(input, conformance::options_of(load));
      held = Error{"given back", {}};
      const Result<Dispatched> result = running.get();
      text += result ? "" : result.error().text();
    }
    return text + echo(communicator, float_load(1));
  });
  EXPECT_EQ(texts, Lines(4, ""));
}

TEST(CommunicatorWindow, BlocksAreAlignedAndRunOut) {
  communicate({{1}, 0}, [](Communicator& communicator) {
    Result<WindowBuffer> first = communicator.allocate(600 << 10);
    EXPECT_TRUE(first.ok());
    const Result<WindowBuffer> second = communicator.allocate(600 << 10);
    EXPECT_FALSE(second.ok());
    EXPECT_EQ(second.error().message.rfind("the window has no room for 614400 bytes: ", 0), 0u);
    first = Error{"given back", {}};
    EXPECT_TRUE(communicator.allocate(600 << 10).ok());
    return echo(communicator, float_load(1));
  });
}

}  // namespace
}  // namespace mixnet::ep
