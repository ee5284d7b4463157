#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "ep/simulation_test_support.h"

// Inputs at which libraries for expert parallelism broke: calls that contradict each other, that
// follow in unusual order, or for which there is no room.
namespace mixnet::ep {
namespace {

using conformance::input_of;
using conformance::Load;
using conformance::options_of;
using conformance::RankLoad;
using conformance::round_trip;

RankLoad load_of_self(const ExchangeState& state, const Load& load) {
  return conformance::load_of(load, state.endpoint.self(), state.endpoint.ranks());
}

template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().text();
}

// The round trip that every test ends with: the communicator still works.
std::string with_round_trip(ExchangeState& state, const std::string& said) {
  const std::string wrong = round_trip(state, Load{8, 2, 16, 5});
  return wrong.empty() ? said : said + ", and then " + wrong;
}

using Change = std::function<void(DispatchInput&, DispatchOptions&)>;

// What all ranks say when rank 2 of four changes its call.
std::string said_of_changed(const Change& change) {
  return SimulatedRanks().said_by_all([&](ExchangeState& state) {
    const Load load{8, 2};
    const RankLoad own = load_of_self(state, load);
    DispatchInput input = input_of(load, own);
    DispatchOptions options = options_of(load);
    if (state.endpoint.self() == 2) {
      change(input, options);
    }
    return with_round_trip(state, error_of(dispatch(state, input, options)));
  });
}

TEST(BugCalls, DeepEp208ContradictionsNameRankAndField) {
  const std::vector<int64_t> one(15, 3);
  const std::vector<float> weights(15, 1.0F);
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.hidden = 8; }),
            "dispatch: hidden differs: 8 on rank 2; 16 on ranks 0-1, 3");
  EXPECT_EQ(said_of_changed([](auto&, auto& options) { options.experts = 9; }),
            "dispatch: experts differs: 8 on ranks 0-1, 3; 9 on rank 2");
  EXPECT_EQ(said_of_changed([&](auto& input, auto&) {
              input.choices = TopK{one, 1};
              input.weights = weights;
            }),
            "dispatch: top_k differs: 1 on rank 2; 2 on ranks 0-1, 3");
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.type = DataType::kBf16; }),
            "dispatch: data type differs: 0 on rank 2; 1 on ranks 0-1, 3");
  EXPECT_EQ(said_of_changed([](auto&, auto& options) { options.mode = TransportMode::kDirect; }),
            "dispatch: mode differs: 0 on rank 2; 2 on ranks 0-1, 3");
  EXPECT_EQ(said_of_changed([](auto& input, auto& options) {
              options.weighted = false;
              input.weights = {};
            }),
            "dispatch: weighted differs: 0 on rank 2; 1 on ranks 0-1, 3");
  EXPECT_EQ(said_of_changed([](auto&, auto& options) { options.worst_tokens = 3; }),
            "dispatch: rank 2 receives 27 tokens but has worst_tokens = 3");
}

TEST(BugCalls, InputsThatMakeNoSenseNameTheRank) {
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.x = {}; }),
            "dispatch: rank 2: x is null although there are tokens");
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.tokens = 14; }),
            "dispatch: rank 2: topk_experts has 30 entries, not 14 tokens x 2");
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.weights = {}; }),
            "dispatch: rank 2: topk_weights has 0 entries, not 30");
  const std::vector<int64_t> beyond(30, 8);
  EXPECT_EQ(said_of_changed([&](auto& input, auto&) { input.choices.experts = beyond; }),
            "dispatch: rank 2: topk_experts[0][0] is 8: experts are 0 to 7, or -1 for none");
  const std::string least =
      "dispatch: rank 2: experts, hidden, top_k and alignment have to be at least 1, tokens and "
      "worst_tokens at least 0";
  EXPECT_EQ(said_of_changed([](auto&, auto& options) { options.experts = 0; }), least);
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.hidden = 0; }), least);
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.choices.top_k = 0; }), least);
  EXPECT_EQ(said_of_changed([](auto& input, auto&) { input.tokens = -1; }), least);
  EXPECT_EQ(said_of_changed([](auto&, auto& options) { options.alignment = 0; }), least);
  EXPECT_EQ(said_of_changed([](auto&, auto& options) { options.worst_tokens = -1; }), least);
}

TEST(BugCalls, DifferentCallsAreNamed) {
  const std::string said = SimulatedRanks().said_by_all([](ExchangeState& state) {
    const Load load{8, 2};
    const RankLoad own = load_of_self(state, load);
    const Result<Dispatched> got = dispatch(state, input_of(load, own), options_of(load));
    std::vector<std::byte> out(own.x.size());
    CombineInput back;
    back.x = got->x;
    back.hidden = load.hidden;
    back.type = load.type;
    return with_round_trip(
        state, state.endpoint.self() == 1
                   ? error_of(combine(state, back, got->handle, host_address(out.data())))
                   : error_of(dispatch(state, input_of(load, own), options_of(load))));
  });
  EXPECT_EQ(said, "the ranks are in different calls: ranks 0, 2-3 in dispatch; rank 1 in combine");
}

// A dispatch and what it should give, apart from the calls that follow.
struct Held {
  Load load;
  RankLoad own;
  Result<Dispatched> got;
};

Held hold(ExchangeState& state, const Load& load) {
  RankLoad own = load_of_self(state, load);
  Result<Dispatched> got = dispatch(state, input_of(load, own), options_of(load));
  return Held{load, std::move(own), std::move(got)};
}

// The combine of what was received: every token comes back as often as ranks have it.
std::string combine_held(ExchangeState& state, const Held& held) {
  if (!held.got) {
    return held.got.error().text();
  }
  std::vector<float> out(held.own.x.size() / sizeof(float));
  CombineInput back;
  back.x = held.got->x;
  back.hidden = held.load.hidden;
  back.type = held.load.type;
  const Result<Combined> combined =
      combine(state, back, held.got->handle, host_address(out.data()));
  if (!combined) {
    return combined.error().text();
  }
  const TopK choices{held.own.experts, held.load.top_k};
  const ExpertMap map(held.load.experts, state.endpoint.ranks());
  const DispatchLayout layout = dispatch_layout(choices, map, state.endpoint.transport.ranks());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto reached = layout.token_in_rank.row(i / static_cast<std::size_t>(held.load.hidden));
    float x = 0;
    std::memcpy(&x, held.own.x.data() + i * sizeof x, sizeof x);
    if (out[i] != x * static_cast<float>(std::count(reached.begin(), reached.end(), 1))) {
      return "element " + std::to_string(i) + " is " + std::to_string(out[i]);
    }
  }
  return {};
}

TEST(BugCalls, DeepEp166ThreeDispatchesBeforeTheFirstCombine) {
  for (const TransportMode mode : kTransports) {
    SimulatedRanks().expect_right([&](ExchangeState& state) {
      std::vector<Held> held;
      for (uint64_t seed = 1; seed <= 5; ++seed) {
        Load load{8, 2, 16, 7};
        load.mode = mode;
        load.seed = seed;
        held.push_back(hold(state, load));
      }
      std::string wrong;
      for (const std::size_t one : {0, 3, 1, 4, 2, 0}) {  // and one of them twice
        wrong += combine_held(state, held[one]);
      }
      return wrong;
    });
  }
}

TEST(BugCalls, RowsOfOneDispatchOutliveTheOthers) {
  SimulatedRanks().expect_right([](ExchangeState& state) -> std::string {
    const Held first = hold(state, Load{8, 2, 16, 20});
    const std::vector<std::byte> before(first.got->x.data,
                                        first.got->x.data + first.got->rows * 16 * 4);
    for (uint64_t seed = 2; seed < 12; ++seed) {
      Load load{8, 2, 16, 20};
      load.seed = seed;
      const std::string wrong = combine_held(state, hold(state, load));
      if (!wrong.empty()) {
        return wrong;
      }
    }
    return std::memcmp(before.data(), first.got->x.data, before.size()) == 0 ? "" : "overwritten";
  });
}

TEST(BugCalls, SmallDispatchesAfterALargeOneTakeLittleRoom) {
  SimulatedRanks().expect_right([](ExchangeState& state) -> std::string {
    const std::string wrong = combine_held(state, hold(state, Load{8, 2, 64, 600}));
    std::vector<Held> held;
    for (int i = 0; i < 40 && wrong.empty(); ++i) {
      held.push_back(hold(state, Load{8, 2, 64, 2}));
      if (!held.back().got) {
        return std::to_string(i) + " before: " + held.back().got.error().text();
      }
    }
    return wrong;
  });
}

TEST(BugCalls, NcclEpStaleMapFourTokensThenOne) {
  SimulatedRanks().expect_right([](ExchangeState& state) {
    const Load four{8, 2, 16, 4};
    const Load one{8, 2, 16, 1};
    return round_trip(state, four) + round_trip(state, one) + round_trip(state, four);
  });
  const std::string said = SimulatedRanks().said_by_all([](ExchangeState& state) {
    const Held held = hold(state, Load{8, 2, 16, 4});
    DispatchInput fewer = input_of(held.load, held.own);
    fewer.tokens = state.endpoint.self() == 3 ? 1 : fewer.tokens;
    return with_round_trip(state, error_of(dispatch_again(state, fewer, held.got->handle)));
  });
  EXPECT_EQ(said, "cached dispatch: rank 3: x has 1 tokens, but the dispatch had 7");
}

TEST(BugCalls, HandlesOfDifferentDispatchesAreAContradiction) {
  const std::string said = SimulatedRanks().said_by_all([](ExchangeState& state) {
    const Held first = hold(state, Load{8, 2});
    const Held second = hold(state, Load{8, 2});
    return with_round_trip(state, combine_held(state, state.endpoint.self() == 0 ? first : second));
  });
  EXPECT_EQ(said, "combine: dispatch differs: 1 on rank 0; 2 on ranks 1-3");
}

TEST(BugCalls, CombinesThatMakeNoSenseNameTheRank) {
  const auto said = [](const std::function<void(CombineInput&)>& change) {
    return SimulatedRanks().said_by_all([&](ExchangeState& state) {
      const Held held = hold(state, Load{8, 2});
      std::vector<std::byte> out(held.own.x.size());
      CombineInput back{held.got->x, 16, DataType::kFp32, false, {}, {}};
      if (state.endpoint.self() == 1) {
        change(back);
      }
      return with_round_trip(
          state, error_of(combine(state, back, held.got->handle, host_address(out.data()))));
    });
  };
  EXPECT_EQ(said([](CombineInput& back) { back.x = {}; }),
            "combine: rank 1: x is null although rows were received");
  EXPECT_EQ(said([](CombineInput& back) { back.hidden = 0; }),
            "combine: rank 1: hidden has to be at least 1");
  EXPECT_EQ(said([](CombineInput& back) { back.hidden = 8; }),
            "combine: hidden differs: 8 on rank 1; 16 on ranks 0, 2-3");
  EXPECT_EQ(said([](CombineInput& back) { back.biases.resize(3, back.x); }),
            "combine: rank 1: there are 3 biases; at most 2 are added");
}

TEST(BugCalls, AWindowThatIsTooSmallIsTheSameErrorEverywhere) {
  const std::string said = SimulatedRanks().said_by_all([](ExchangeState& state) {
    const Held large = hold(state, Load{8, 2, 4096, 60});
    std::string text = error_of(large.got);
    return with_round_trip(state, text.substr(0, text.find(" needs ")));
  });
  EXPECT_EQ(said, "dispatch: rank 0");
}

TEST(BugCalls, ResultsThatFillTheWindowAreAnErrorUntilTheyAreGivenBack) {
  for (const TransportMode mode : kTransports) {
    SimulatedRanks().said_by_all([&](ExchangeState& state) {
      Load load{8, 2, 256, 40};
      load.mode = mode;
      std::vector<Held> held;
      std::string text;
      while (text.empty() && held.size() < 100) {
        held.push_back(hold(state, load));
        text = held.back().got ? "" : held.back().got.error().text();
      }
      EXPECT_NE(text.find(" of its window but "), std::string::npos) << text;
      const std::size_t count = held.size();
      held.clear();
      return with_round_trip(state, std::to_string(count) + text);
    });
  }
}

// However little room is left to rank 1, which receives nothing.
void expect_room_or_error(TransportMode mode, uint64_t grains) {
  SimulatedRanks().said_by_all([&](ExchangeState& state) {
    Load load{4, 1, 256, 60};
    load.mode = mode;
    std::string text = round_trip(state, load);  // so that as much is offered from now on
    WindowMemory& memory = *state.endpoint.memory;
    std::optional<uint64_t> taken;
    if (state.endpoint.self() == 1) {
      taken = memory.allocate(memory.largest_free() - grains * WindowAllocator::kGrain);
    }
    const RankLoad own =
        conformance::load_with(load, state.endpoint.self(), std::vector<int64_t>(5, 3));
    text += error_of(dispatch(state, input_of(load, own), options_of(load)));
    if (taken) {
      memory.release(*taken);
    }
    return with_round_trip(state, text);
  });
}

TEST(BugCalls, AnyAmountOfRoomIsEnoughOrAnError) {
  for (const TransportMode mode : kTransports) {
    for (uint64_t grains = 0; grains < 40; grains += 3) {
      SCOPED_TRACE(std::string(transport_name(mode)) + ", grains: " + std::to_string(grains));
      expect_room_or_error(mode, grains);
    }
  }
}

}  // namespace
}  // namespace mixnet::ep
