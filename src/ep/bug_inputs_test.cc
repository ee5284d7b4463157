#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "core/random.h"
#include "ep/simulation_test_support.h"

// Inputs at which libraries for expert parallelism broke: loads. The names are those of the
// reports.
namespace mixnet::ep {
namespace {

using conformance::Load;
using conformance::load_with;
using conformance::Pattern;
using conformance::RankLoad;
using conformance::round_trip;

const std::vector<int> kEightRanks = {4, 4};

using Choose = std::function<std::vector<int64_t>(int rank)>;

std::vector<RankLoad> loads_of(const Load& load, int ranks, const Choose& choose) {
  std::vector<RankLoad> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(load_with(load, rank, choose(rank)));
  }
  return all;
}

// Runs the load with these choices in all modes.
void expect_round_trips(const std::vector<int>& host_sizes, Load load, const Choose& choose) {
  SimulatedRanks ranks;
  ranks.host_sizes = host_sizes;
  ranks.rails = 2;
  for (const TransportMode mode : kTransports) {
    SCOPED_TRACE(transport_name(mode));
    load.mode = mode;
    ranks.expect_right([&](ExchangeState& state) {
      return round_trip(state, load, loads_of(load, state.endpoint.ranks(), choose));
    });
  }
}

// The same with the choices of the load's pattern.
void expect_round_trips(const std::vector<int>& host_sizes, Load load) {
  SimulatedRanks ranks;
  ranks.host_sizes = host_sizes;
  for (const TransportMode mode : kTransports) {
    SCOPED_TRACE(transport_name(mode));
    load.mode = mode;
    ranks.expect_right([&](ExchangeState& state) { return round_trip(state, load); });
  }
}

TEST(BugInputs, DeepEp374OneRankHasNoTokensAndItsExpertsGetNone) {
  Load load{16, 2};
  expect_round_trips(kEightRanks, load, [](int rank) {
    std::vector<int64_t> experts;
    for (int64_t slot = 0; rank != 3 && slot < 2 * 9; ++slot) {
      const int64_t expert = (slot * 5 + rank) % 16;
      experts.push_back(expert / 2 == 3 ? -1 : expert);
    }
    return experts;
  });
}

TEST(BugInputs, Uccl940OnlyRankZeroHasTokens) {
  Load load{16, 4};
  load.pattern = Pattern::kOneRank;
  expect_round_trips(kEightRanks, load);
}

TEST(BugInputs, Uccl882ARankReceivesNothing) {
  Load load{8, 2};
  expect_round_trips({2, 2}, load, [](int rank) { return std::vector<int64_t>(6, rank % 2); });
  SimulatedRanks().expect_right([&](ExchangeState& state) -> std::string {
    DispatchInput input{{}, 0, 16, DataType::kBf16, TopK{{}, 2}, {}};
    const Result<Dispatched> got = dispatch(state, input, conformance::options_of(load));
    if (!got || got->rows != 0 || !got->experts.empty() || !got->weights.empty() ||
        got->tokens_per_expert != std::vector<int64_t>(2, 0)) {
      return "a dispatch of nothing gave something";
    }
    CombineInput back;
    back.hidden = 16;
    const Result<Combined> combined = combine(state, back, got->handle, {});
    return combined ? "" : combined.error().text();
  });
}

TEST(BugInputs, DeepEp93SmallLargeSmall) {
  SimulatedRanks().expect_right([](ExchangeState& state) {
    std::string wrong;
    for (const int64_t tokens : {16, 128, 16}) {
      wrong += round_trip(state, Load{8, 2, 16, tokens});
    }
    return wrong;
  });
}

TEST(BugInputs, DeepEp561OddAndDifferentNumbersOfTokens) {
  const int64_t tokens[] = {1, 3, 7, 0, 13, 63, 65, 17};
  expect_round_trips(kEightRanks, Load{16, 3}, [&](int rank) {
    std::vector<int64_t> experts;
    for (int64_t slot = 0; slot < tokens[rank] * 3; ++slot) {
      experts.push_back((slot * 7 + rank) % 16);
    }
    return experts;
  });
}

TEST(BugInputs, DeepEp427AllTokensPickTheSameExperts) {
  Load load{32, 8, 1, 2304};
  load.mode = TransportMode::kRelay;
  SimulatedRanks ranks;
  ranks.host_sizes = kEightRanks;
  ranks.window_bytes = 16 << 20;
  ranks.expect_right([&](ExchangeState& state) {
    return round_trip(state, load, loads_of(load, 8, [](int rank) {
                        std::vector<int64_t> experts;
                        for (int64_t slot = 0; slot < 2304 * 8; ++slot) {
                          experts.push_back(slot % 8 * 4 + rank % 4);  // one at every rank
                        }
                        return experts;
                      }));
  });
}

TEST(BugInputs, Vllm48740ATokenPicksAnExpertTwice) {
  expect_round_trips({2, 2}, Load{8, 3}, [](int rank) {
    return std::vector<int64_t>{5, 5, 5, rank, 5, rank, -1, 7, 7};
  });
  SimulatedRanks().expect_right([](ExchangeState& state) -> std::string {
    const Load load{8, 2};
    const RankLoad own = load_with(load, state.endpoint.self(), {5, 5});
    const Result<Dispatched> got =
        dispatch(state, conformance::input_of(load, own), conformance::options_of(load));
    if (!got) {
      return got.error().text();
    }
    const bool here = state.endpoint.self() == 2;
    return got->rows == (here ? 4 : 0) && got->tokens_per_expert[1] == (here ? 8 : 0)
               ? ""
               : "one row and two pairs for each token";
  });
}

TEST(BugInputs, Flashinfer4017SlotsOfNobody) {
  for (const Pattern pattern : {Pattern::kUniform, Pattern::kNobody}) {
    Load load{8, 4};
    load.pattern = pattern;
    expect_round_trips({2, 2}, load);
  }
  expect_round_trips({2, 2}, Load{8, 2}, [](int rank) {
    return rank == 1 ? std::vector<int64_t>(8, -1) : std::vector<int64_t>{-1, -1, 3, -1, -1, 6};
  });
}

TEST(BugInputs, Xtuner2053RealAndAlignedCounts) {
  SimulatedRanks ranks;
  ranks.host_sizes = {1};
  ranks.expect_right([](ExchangeState& state) -> std::string {
    const std::vector<int64_t> counts = {0, 1, 127, 128, 129};
    std::vector<int64_t> experts;
    for (std::size_t expert = 0; expert < counts.size(); ++expert) {
      experts.insert(experts.end(), static_cast<std::size_t>(counts[expert]),
                     static_cast<int64_t>(expert));
    }
    const Load load{5, 1, 4};
    const RankLoad own = load_with(load, 0, experts);
    DispatchOptions options = conformance::options_of(load);
    options.alignment = 128;
    const Result<Dispatched> got = dispatch(state, conformance::input_of(load, own), options);
    if (!got) {
      return got.error().text();
    }
    const std::vector<int64_t> aligned = {0, 128, 128, 128, 256};
    return got->tokens_per_expert == counts && got->aligned_tokens_per_expert == aligned
               ? ""
               : "the counts differ";
  });
}

TEST(BugInputs, TrtLlm13888ExpertsThatRanksDoNotDivide) {
  expect_round_trips({8, 8, 8}, Load{128, 4, 4, 5});
  expect_round_trips(kEightRanks, Load{3, 2});
  expect_round_trips(kEightRanks, Load{1, 1});
}

TEST(BugInputs, DeepEp595AnyTopK) {
  for (const int top_k : {1, 12, 16, 33}) {
    expect_round_trips({2, 2}, Load{64, top_k, 8, 5});
  }
  for (const int experts : {1, 5, 40}) {
    expect_round_trips({2, 2}, Load{experts, experts, 8, 3}, [&](int) {
      std::vector<int64_t> all;
      for (int64_t slot = 0; slot < 3 * experts; ++slot) {
        all.push_back(slot % experts);
      }
      return all;
    });
  }
}

TEST(BugInputs, DeepEp154AnyHidden) {
  for (const int64_t hidden : {64, 1536, 2880, 3584, 7176}) {
    for (const DataType type : {DataType::kBf16, DataType::kFp32}) {
      Load load{8, 2, hidden, 1};
      load.type = type;
      expect_round_trips({2, 2}, load);
    }
  }
}

TEST(BugInputs, AllTokensGoToOneRank) {
  expect_round_trips(kEightRanks, Load{8, 2}, [](int rank) {
    std::vector<int64_t> experts(40, 6);
    experts[static_cast<std::size_t>(rank)] = rank;
    return experts;
  });
}

TEST(BugInputs, OneTokenOnly) {
  expect_round_trips(kEightRanks, Load{8, 2}, [](int rank) {
    return rank == 5 ? std::vector<int64_t>{0, 7} : std::vector<int64_t>{};
  });
}

// Every pattern of bits, as it is.
TEST(BugInputs, NanAndInfinityTravelBitForBit) {
  constexpr int64_t kHidden = 4096;
  SimulatedRanks ranks;
  for (const TransportMode mode : kTransports) {
    ranks.expect_right([&](ExchangeState& state) -> std::string {
      std::vector<Bf16> x;
      for (int64_t bits = 0; bits < 16 * kHidden; ++bits) {
        x.push_back(static_cast<Bf16>(bits));
      }
      std::vector<int64_t> experts(16, (state.endpoint.self() + 2) % 4);
      DispatchInput input{host_address(x.data()), 16, kHidden, DataType::kBf16,
                          TopK{experts, 1},       {}};
      DispatchOptions options;
      options.experts = 4;
      options.mode = mode;
      options.weighted = false;
      const Result<Dispatched> got = dispatch(state, input, options);
      if (!got) {
        return got.error().text();
      }
      const bool same =
          got->rows == 16 && std::memcmp(got->x.data, x.data(), x.size() * sizeof(Bf16)) == 0;
      return same ? "" : "other bits arrived";
    });
  }
}

TEST(BugInputs, WeightsOfZeroAndNegativeOnes) {
  for (const TransportMode mode : kTransports) {
    SimulatedRanks().expect_right([&](ExchangeState& state) {
      Load load{8, 2};
      load.mode = mode;
      std::vector<RankLoad> all =
          loads_of(load, 4, [](int rank) { return std::vector<int64_t>{rank, 7, 6, 1, 2, 5}; });
      for (RankLoad& one : all) {
        one.weights = {0.0F, -1.5F, -0.25F, 0.0F, 3.0F, -3.0F};
      }
      return round_trip(state, load, all);
    });
  }
}

// The first rows are those of the exact mode, bit for bit; the others are nobody's.
std::string compare_worst_size(ExchangeState& state, const Load& load) {
  const RankLoad own = conformance::load_of(load, state.endpoint.self(), state.endpoint.ranks());
  const DispatchInput input = conformance::input_of(load, own);
  DispatchOptions options = conformance::options_of(load);
  const Result<Dispatched> exact = dispatch(state, input, options);
  options.worst_tokens = 40 + 20 * state.endpoint.self();
  const Result<Dispatched> worst = dispatch(state, input, options);
  if (!exact || !worst) {
    return exact ? worst.error().text() : exact.error().text();
  }
  const auto capacity = static_cast<std::size_t>(options.worst_tokens * load.top_k);
  const auto row_bytes = static_cast<std::size_t>(load.hidden * bytes_of(load.type));
  const bool same =
      exact->rows == worst->rows && worst->experts.size() == capacity &&
      worst->weights.size() == capacity && worst->tokens_per_expert.empty() &&
      std::equal(exact->experts.begin(), exact->experts.end(), worst->experts.begin()) &&
      std::equal(exact->weights.begin(), exact->weights.end(), worst->weights.begin()) &&
      std::memcmp(exact->x.data, worst->x.data,
                  static_cast<std::size_t>(exact->rows) * row_bytes) == 0;
  const bool nobody =
      std::all_of(worst->experts.begin() + static_cast<std::ptrdiff_t>(exact->experts.size()),
                  worst->experts.end(), [](int64_t expert) { return expert == -1; }) &&
      std::all_of(worst->weights.begin() + static_cast<std::ptrdiff_t>(exact->weights.size()),
                  worst->weights.end(), [](float weight) { return weight == 0; });
  return same ? nobody ? "" : "the tail is not empty" : "other rows than in the exact mode";
}

TEST(BugInputs, WorstSizeModeEqualsTheExactMode) {
  for (const TransportMode mode : kTransports) {
    Load load{8, 3, 20, 6};
    load.mode = mode;
    SimulatedRanks().expect_right(
        [&](ExchangeState& state) { return compare_worst_size(state, load); });
  }
}

}  // namespace
}  // namespace mixnet::ep
