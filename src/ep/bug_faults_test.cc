#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/random.h"
#include "ep/simulation_test_support.h"

// Inputs at which libraries for expert parallelism broke: ranks that are slow, late or gone.
namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

using conformance::input_of;
using conformance::Load;
using conformance::options_of;
using conformance::RankLoad;
using conformance::round_trip;

// After the start; calls take far less.
constexpr Duration kBlow = 1s;
const std::string kLeft = "left";

SimulatedRanks with_fault(SimulatedFault::Kind kind, int rank) {
  SimulatedRanks ranks;
  ranks.patience = Patience{100ms, 10s};
  ranks.faults = {SimulatedFault{kind, rank, kBlow}};
  return ranks;
}

// Comes back after the blow.
void outlast_blow(ExchangeState& state) { compute_for(state, kBlow + 1ms); }

TEST(BugFaults, Flashinfer4183AllExpertsOfATokenAreLost) {
  for (const LossPolicy policy : {LossPolicy::kZero, LossPolicy::kRenormalise}) {
    const auto texts = with_fault(SimulatedFault::Kind::kKill, 3).run([&](ExchangeState& state) {
      outlast_blow(state);
      const Load load{8, 2};
      // Token 0 loses nothing, token 1 one slot, token 2 both, token 3 had nothing.
      RankLoad own =
          conformance::load_with(load, state.endpoint.self(), {0, 2, 1, 6, 7, 6, -1, -1});
      own.weights = {0.25F, 0.5F, 0.25F, 0.5F, 0.75F, 0.25F, 1.0F, 1.0F};
      DispatchOptions options = options_of(load);
      options.on_loss = policy;
      const Result<Dispatched> got = dispatch(state, input_of(load, own), options);
      if (!got) {
        return got.error().text();
      }
      const std::vector<std::byte> rows(got->x.data, got->x.data + got->rows * 16 * 4);
      std::vector<float> out(4 * 16, 9.0F);
      CombineInput back{got->x, 16, DataType::kFp32, true, got->weights, {}};
      const Result<Combined> combined = combine(state, back, got->handle, host_address(out.data()));
      if (!combined) {
        return combined.error().text();
      }
      const float kept = policy == LossPolicy::kZero ? 0.25F : 0.75F;
      EXPECT_EQ(combined->weights, (std::vector<float>{0.25F, 0.5F, kept, 0, 0, 0, 0, 0}));
      EXPECT_EQ(got->tokens_with_loss, (std::vector<int32_t>{1, 2}));
      std::vector<float> x(4 * 16);
      std::memcpy(x.data(), own.x.data(), own.x.size());
      for (std::size_t i = 0; i < out.size(); ++i) {
        const float reached[] = {2, 1, 0, 0};  // ranks 0 and 1, rank 0, nobody
        EXPECT_EQ(out[i], x[i] * reached[i / 16]) << i;
      }
      return state.endpoint.lost.text();
    });
    EXPECT_EQ(texts, (std::vector<std::string>{"3", "3", "3", "killed"}));
  }
}

TEST(BugFaults, Sglang30756HundredRoundsWithARankThatComesLate) {
  SimulatedRanks ranks;
  ranks.patience = Patience{20ms, 10s};
  ranks.expect_right([](ExchangeState& state) {
    RandomStream random(7, "naps");
    std::string wrong;
    for (uint64_t round = 0; round < 100 && wrong.empty(); ++round) {
      const auto late = static_cast<int>(random.below(4));
      const Duration nap(static_cast<int64_t>(random.below(200'000'000)));
      if (state.endpoint.self() == late) {
        compute_for(state, nap);
      }
      Load load{8, 2, 16, 5};
      load.seed = round;
      load.mode = kTransports[round % 4];
      wrong = round_trip(state, load);
    }
    return wrong + (state.endpoint.lost.empty() ? "" : " lost " + state.endpoint.lost.text());
  });
}

TEST(BugFaults, MooncakeStaleCombineAPeerEndsBetweenDispatchAndCombine) {
  for (const TransportMode mode : kTransports) {
    const auto texts = with_fault(SimulatedFault::Kind::kKill, 2).run([&](ExchangeState& state) {
      Load load{8, 2};
      load.mode = mode;
      std::string wrong = round_trip(state, load);
      load.seed = 2;
      const RankLoad own = conformance::load_of(load, state.endpoint.self(), 4);
      const Result<Dispatched> got = dispatch(state, input_of(load, own), options_of(load));
      outlast_blow(state);
      std::vector<float> out(own.x.size() / sizeof(float), 9.0F);
      CombineInput back{got->x, load.hidden, load.type, false, {}, {}};
      const Result<Combined> combined = combine(state, back, got->handle, host_address(out.data()));
      if (!combined) {
        return combined.error().text();
      }
      const TopK choices{own.experts, load.top_k};
      const DispatchLayout layout =
          dispatch_layout(choices, ExpertMap(8, 4), state.endpoint.transport.ranks());
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto reached = layout.token_in_rank.row(i / 16);
        float x = 0;
        std::memcpy(&x, own.x.data() + i * sizeof x, sizeof x);
        EXPECT_EQ(out[i], x * static_cast<float>(reached[0] + reached[1] + reached[3]));
      }
      std::vector<int32_t> with_loss;
      for (int32_t token = 0; token < own.tokens; ++token) {
        if (layout.token_in_rank(at(token), 2) != 0) {
          with_loss.push_back(token);
        }
      }
      EXPECT_EQ(combined->tokens_with_loss, with_loss);
      return wrong + state.endpoint.lost.text();
    });
    EXPECT_EQ(texts, (std::vector<std::string>{"2", "2", "killed", "2"})) << transport_name(mode);
  }
}

// It lives, but does not come: after the patience for a call it is lost, to all the same.
TEST(BugFaults, DeepEp704APeerNeverArrives) {
  SimulatedRanks ranks;
  ranks.patience = Patience{20ms, 50ms};
  const auto texts = ranks.run([](ExchangeState& state) {
    std::string wrong = round_trip(state, Load{8, 2});
    if (state.endpoint.self() == 1) {
      compute_for(state, 10s);
      const std::string late = round_trip(state, Load{8, 2});
      return late.find("rank 1 (this one) is lost to the others") == 0 ? kLeft : late;
    }
    const Instant start = state.endpoint.transport.now();
    wrong += round_trip(state, Load{8, 2});
    const Duration took = state.endpoint.transport.now() - start;
    EXPECT_LE(took, 2 * 50ms + 2 * 20ms);
    wrong += round_trip(state, Load{8, 2});
    return wrong + state.endpoint.lost.text();
  });
  EXPECT_EQ(texts, (std::vector<std::string>{"1", kLeft, "1", "1"}));
}

TEST(BugFaults, Vllm53282ASlowRankIsNotLost) {
  SimulatedRanks ranks;
  ranks.host_sizes = {2, 1, 1};
  ranks.patience = Patience{20ms, 10s};
  ranks.expect_right([](ExchangeState& state) {
    std::string wrong;
    for (int round = 0; round < 10; ++round) {
      compute_for(state, state.endpoint.self() == 2 ? 300ms : 100ms);
      wrong += round_trip(state, Load{8, 2});
    }
    return wrong + (state.endpoint.lost.empty() ? "" : " lost " + state.endpoint.lost.text());
  });
}

TEST(BugFaults, NcclEpRanksThatMissDifferentPeersAgree) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatedRanks ranks;
    ranks.host_sizes = {2, 2, 2};
    ranks.patience = Patience{40ms, 10s};
    ranks.seed = seed;
    RandomStream random(seed, "two blows");
    for (const int rank : {3, 5}) {
      const Duration after(static_cast<int64_t>(random.below(2'000'000)));
      ranks.faults.push_back(SimulatedFault{SimulatedFault::Kind::kStop, rank, after});
    }
    std::vector<std::string> texts = ranks.run([](ExchangeState& state) {
      std::string wrong;
      for (int round = 0; round < 4; ++round) {
        wrong += round_trip(state, Load{8, 2});
      }
      return wrong + state.endpoint.lost.text();
    });
    EXPECT_EQ(texts, (std::vector<std::string>{"3, 5", "3, 5", "3, 5", "killed", "3, 5", "killed"}))
        << "seed " << seed;
  }
}

// It goes on long after it was lost, and writes what it was about to write.
TEST(BugFaults, WhoWasStoppedAndGoesOnIsToldAndHarmsNobody) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatedRanks ranks;
    ranks.host_sizes = {3, 2};
    ranks.patience = Patience{40ms, 10s};
    ranks.seed = seed;
    RandomStream random(seed, "a pause");
    const Duration after(static_cast<int64_t>(random.below(3'000'000)));
    ranks.faults = {SimulatedFault{SimulatedFault::Kind::kStop, 1, after, 300ms}};
    std::vector<std::string> texts = ranks.run([](ExchangeState& state) {
      std::string wrong;
      for (uint64_t round = 1; round < 12 && wrong.empty(); ++round) {
        Load load{8, 2};
        load.seed = round;
        wrong = round_trip(state, load);
        if (state.endpoint.lost.has(1)) {
          compute_for(state, 50ms);
        }
      }
      return wrong + state.endpoint.lost.text();
    });
    EXPECT_EQ(texts[1].find("rank 1 (this one) is lost to the others"), 0u) << texts[1];
    texts.erase(texts.begin() + 1);
    EXPECT_EQ(texts, std::vector<std::string>(4, "1")) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mixnet::ep
