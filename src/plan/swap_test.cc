#include "plan/swap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <thread>

#include "plan/swap_cost.h"
#include "plan/swap_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::loads_of;
using test_support::PlainSwaps;
using test_support::random_case;
using test_support::StepCase;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

BalancedStep balance(StepBalancer& balancer, const StepCase& step) {
  return balancer.balance(step.expert, step.tokens, step.lost);
}

// Copies of experts beyond one per GPU.
int duplicates(const StepCase& step, std::span<const int> expert) {
  std::map<std::pair<std::size_t, int>, int> copies;
  int more = 0;
  for (std::size_t s = 0; s < expert.size(); ++s) {
    if (expert[s] >= 0 && copies[{s / step.slots(), expert[s]}]++ > 0) {
      ++more;
    }
  }
  return more;
}

int64_t heaviest(const StepCase& step, std::span<const int64_t> tokens) {
  const std::vector<int64_t> loads = loads_of(step.shape, tokens);
  return *std::max_element(loads.begin(), loads.end());
}

// --- Oracles
// --------------------------------------------------------------------------------------

TEST(StepSwap, TakesTheSwapsOfThePlainRule) {
  RandomStream random(1, "swap oracle");
  std::size_t swaps = 0;
  for (int run = 0; run < 600; ++run) {
    const StepShape shape{
        1 + static_cast<int>(random.below(20)), 1 + static_cast<int>(random.below(12)),
        1 + static_cast<int>(random.below(8)), 1 + static_cast<int>(random.below(40))};
    // Few different counts give ties; many give loads that need 64 bits.
    const uint64_t most = run % 3 == 0 ? 4 : run % 3 == 1 ? 1000 : uint64_t{1} << 38;
    const StepCase step = random_case(random, shape, most);
    const SwapRule rule{1 + static_cast<int64_t>(random.below(most / 4 + 1)),
                        1 + static_cast<int>(random.below(3))};
    StepBalancer balancer(shape, rule);
    const BalancedStep done = balance(balancer, step);
    PlainSwaps plain(step, rule);
    ASSERT_THAT(done.swaps, ElementsAreArray(plain.run())) << "run " << run;
    EXPECT_THAT(done.slot_expert, ElementsAreArray(plain.step().expert));
    EXPECT_THAT(done.slot_tokens, ElementsAreArray(plain.step().tokens));
    EXPECT_EQ(done.heaviest_before, heaviest(step, step.tokens));
    EXPECT_EQ(done.heaviest_after, heaviest(step, plain.step().tokens));
    swaps += done.swaps.size();
  }
  EXPECT_GT(swaps, 400U);
}

// More slots than the comparison of all pairs takes on.
TEST(StepSwap, TakesTheSwapsOfThePlainRuleWithManySlots) {
  RandomStream random(2, "swap oracle");
  const StepShape shape{2, 280, 2, 5000};
  for (int run = 0; run < 2; ++run) {
    const StepCase step = random_case(random, shape, 500);
    StepBalancer balancer(shape, {1, 3});
    PlainSwaps plain(step, {1, 3});
    EXPECT_THAT(balance(balancer, step).swaps, ElementsAreArray(plain.run()));
  }
}

// The least largest load after at most so many exchanges of a pair, whatever each gains.
int64_t best_of_swaps(const StepCase& step, int swaps) {
  int64_t best = heaviest(step, step.tokens);
  if (swaps == 0) {
    return best;
  }
  for (std::size_t i = 0; i < step.slots(); ++i) {
    for (std::size_t j = step.slots(); j < 2 * step.slots(); ++j) {
      StepCase next = step;
      std::swap(next.expert[i], next.expert[j]);
      std::swap(next.tokens[i], next.tokens[j]);
      if (duplicates(next, next.expert) == 0) {
        best = std::min(best, best_of_swaps(next, swaps - 1));
      }
    }
  }
  return best;
}

TEST(StepSwap, TwoSwapsOfAPairComeCloseToTheBestTwo) {
  RandomStream random(3, "two swaps");
  const StepShape shape{2, 5, 2, 10};
  double excess = 0;
  int optimal = 0;
  constexpr int kRuns = 60;
  for (int run = 0; run < kRuns; ++run) {
    StepCase step = random_case(random, shape, 0);
    step.lost = {0, 0};
    for (std::size_t s = 0; s < step.expert.size(); ++s) {
      step.expert[s] = static_cast<int>(s);
      step.tokens[s] = static_cast<int64_t>(20 * random.log_normal(0, 1));
    }
    StepBalancer one(shape, {1, 1});
    StepBalancer two(shape, {1, 2});
    const int64_t after_one = balance(one, step).heaviest_after;
    const int64_t after_two = balance(two, step).heaviest_after;
    const int64_t best = best_of_swaps(step, 2);
    EXPECT_LE(after_two, after_one);
    EXPECT_GE(after_two, best);
    optimal += after_two == best ? 1 : 0;
    excess += static_cast<double>(after_two - best) / static_cast<double>(best) / kRuns;
  }
  EXPECT_GE(optimal, kRuns / 2);
  EXPECT_LT(excess, 0.02);
}

// --- Properties
// -----------------------------------------------------------------------------------

TEST(StepSwap, NeverAddsAReplicaToAGpuThatHoldsOne) {
  RandomStream random(4, "replicas");
  for (int run = 0; run < 300; ++run) {
    const StepShape shape{8, 6, 4, 12};
    const StepCase step = random_case(random, shape, 50);
    StepBalancer balancer(shape, {1, 3, 3, run % 2 == 0});
    const BalancedStep done = balance(balancer, step);
    EXPECT_LE(duplicates(step, done.slot_expert), duplicates(step, step.expert));
    EXPECT_LE(done.heaviest_after, done.heaviest_before);
    std::vector<int> before = step.expert;
    std::vector<int> after(done.slot_expert.begin(), done.slot_expert.end());
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    EXPECT_EQ(after, before);
  }
}

TEST(StepSwap, EveryFurtherRoundPaysAtItsHost) {
  RandomStream random(5, "rounds");
  int improved = 0;
  for (int run = 0; run < 200; ++run) {
    const StepShape shape{8, 8, 8, 64};
    const StepCase step = random_case(random, shape, 100);
    const int64_t threshold = 1 + static_cast<int64_t>(random.below(20));
    int64_t previous = 0;
    std::size_t swaps = 0;
    for (int rounds = 1; rounds <= 4; ++rounds) {
      StepBalancer balancer(shape, {threshold, 1, rounds});
      const BalancedStep done = balance(balancer, step);
      if (rounds > 1 && done.swaps.size() != swaps) {
        EXPECT_LE(done.heaviest_after, previous - threshold);
        ++improved;
      } else if (rounds > 1) {
        EXPECT_EQ(done.heaviest_after, previous);
      }
      previous = done.heaviest_after;
      swaps = done.swaps.size();
    }
  }
  EXPECT_GT(improved, 50);
}

// Eight ranks with different pasts, at the same time.
TEST(StepSwap, EveryRankDerivesTheSameAnswer) {
  const StepShape shape{16, 10, 8, 100};
  const SwapRule rule{2, 2, 2, true};
  RandomStream random(6, "ranks");
  const StepCase step = random_case(random, shape, 300);
  constexpr std::size_t kRanks = 8;
  std::vector<std::vector<ExpertSwap>> swaps(kRanks);
  std::vector<std::vector<int64_t>> tokens(kRanks);
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      StepBalancer balancer(shape, rule);
      RandomStream own(rank, "past");
      for (std::size_t k = 0; k < 5 * rank; ++k) {
        const StepCase other = random_case(own, shape, 1 + 100 * k);
        std::vector<int64_t> counts(100, static_cast<int64_t>(k));
        std::vector<int64_t> split(other.tokens.size());
        balancer.split(other.expert, counts, split, other.lost);
        balance(balancer, other);
      }
      const BalancedStep done = balance(balancer, step);
      swaps[rank].assign(done.swaps.begin(), done.swaps.end());
      tokens[rank].assign(done.slot_tokens.begin(), done.slot_tokens.end());
    });
  }
  for (std::thread& rank : ranks) {
    rank.join();
  }
  EXPECT_GT(swaps[0].size(), 0U);
  for (std::size_t rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(swaps[rank], swaps[0]);
    EXPECT_EQ(tokens[rank], tokens[0]);
  }
}

TEST(StepSwap, NamesOfExpertsAndPlacesOfHostsDoNotMatter) {
  const StepShape shape{8, 5, 4, 30};
  RandomStream random(7, "relabel");
  for (int run = 0; run < 50; ++run) {
    const StepCase step = random_case(random, shape, 60);
    StepCase other = step;
    for (int& e : other.expert) {
      e = e < 0 ? e : (e * 7 + 3) % 30;
    }
    const std::ptrdiff_t half = static_cast<std::ptrdiff_t>(other.expert.size() / 2);
    std::rotate(other.expert.begin(), other.expert.begin() + half, other.expert.end());
    std::rotate(other.tokens.begin(), other.tokens.begin() + half, other.tokens.end());
    std::rotate(other.lost.begin(), other.lost.begin() + 4, other.lost.end());
    StepBalancer balancer(shape, {1, 2, 2, run % 2 == 0});
    const BalancedStep first = balance(balancer, step);
    std::vector<int64_t> tokens(first.slot_tokens.begin(), first.slot_tokens.end());
    std::rotate(tokens.begin(), tokens.begin() + half, tokens.end());
    EXPECT_THAT(balance(balancer, other).slot_tokens, ElementsAreArray(tokens));
  }
}

// --- Examples
// -------------------------------------------------------------------------------------

TEST(StepSwap, ExampleOfThePaper) {
  const std::vector<int> expert = {0, 2, 1, 3};
  const std::vector<int64_t> tokens = {60, 100, 30, 70};
  StepBalancer balancer({2, 2, 2, 4}, {});
  const BalancedStep done = balancer.balance(expert, tokens);
  EXPECT_EQ(done.heaviest_before, 160);
  EXPECT_EQ(done.heaviest_after, 130);
  EXPECT_THAT(done.slot_tokens, ElementsAre(30, 100, 60, 70));
  EXPECT_THAT(done.slot_expert, ElementsAre(1, 2, 0, 3));
  // Two exchanges give 130 and 130: expert 0 for 1, and expert 2 for 3. The lower slot wins.
  EXPECT_THAT(done.swaps, ElementsAre(ExpertSwap{0, 2, 30}));

  StepBalancer dear({2, 2, 2, 4}, {31});
  EXPECT_EQ(dear.balance(expert, tokens).swaps.size(), 0U);
}

TEST(StepSwap, PairsTheSecondWithTheSecond) {
  // Loads 5, 40, 100, 19: GPU 2 with GPU 0, GPU 1 with GPU 3.
  const std::vector<int> expert = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<int64_t> tokens = {2, 3, 10, 30, 50, 50, 9, 10};
  StepBalancer balancer({4, 2, 4, 8}, {});
  const BalancedStep done = balancer.balance(expert, tokens);
  EXPECT_THAT(done.swaps, ElementsAre(ExpertSwap{4, 0, 47}, ExpertSwap{2, 6, 1}));
  EXPECT_THAT(loads_of({4, 2, 4, 8}, done.slot_tokens), ElementsAre(53, 39, 52, 20));
}

TEST(StepSwap, SwapsStayInTheirHostAndAwayFromLostGpus) {
  // Host 1 has nothing to do; GPU 1 of host 0 is lost and GPU 2 the lightest that works.
  const std::vector<int> expert = {0, 1, -1, -1, 2, 3, 4, 5};
  const std::vector<int64_t> tokens = {90, 90, 0, 0, 10, 10, 1, 1};
  const std::vector<uint8_t> lost = {0, 1, 0, 0};
  StepBalancer balancer({4, 2, 3, 6}, {});
  const BalancedStep done = balancer.balance(expert, tokens, lost);
  EXPECT_THAT(done.swaps, ElementsAre(ExpertSwap{0, 4, 80}));
}

TEST(StepSwap, AnEmptySlotTakesAMove) {
  const std::vector<int> expert = {0, 1, 2, 3, -1, -1};
  const std::vector<int64_t> tokens = {50, 33, 2, 20, 0, 0};
  StepBalancer balancer({2, 3, 2, 4}, {});
  const BalancedStep done = balancer.balance(expert, tokens);
  EXPECT_THAT(done.swaps, ElementsAre(ExpertSwap{1, 4, 32}));
  EXPECT_THAT(done.slot_expert, ElementsAre(0, -1, 2, 3, 1, -1));
}

TEST(StepSwap, NothingToGain) {
  const std::vector<int> expert = {0, 1, 2, 3};
  for (const std::vector<int64_t>& tokens :
       {std::vector<int64_t>{0, 0, 0, 0}, {7, 7, 7, 7}, {9, 0, 5, 4}, {0, 9, 0, 8}}) {
    StepBalancer balancer({2, 2, 2, 4}, {1, 3, 3});
    EXPECT_EQ(balancer.balance(expert, tokens).swaps.size(), 0U);
  }
  StepBalancer alone({1, 2, 8, 1}, {});
  EXPECT_EQ(alone.balance(std::vector<int>{0, -1}, std::vector<int64_t>{5, 0}).heaviest_after, 5);
}

TEST(StepSwap, SplitsTokensOverReplicasWithinOne) {
  StepBalancer balancer({3, 2, 3, 4}, {});
  const std::vector<int> expert = {0, 1, 0, 2, 0, -1};
  std::vector<int64_t> tokens(6);
  EXPECT_EQ(balancer.split(expert, std::vector<int64_t>{11, 5, 0, 9}, tokens), 9);
  EXPECT_THAT(tokens, ElementsAre(4, 5, 4, 0, 3, 0));
  EXPECT_EQ(balancer.split(expert, std::vector<int64_t>{11, 5, 0, 9}, tokens,
                           std::vector<uint8_t>{1, 0, 0}),
            14);
  EXPECT_THAT(tokens, ElementsAre(0, 0, 6, 0, 5, 0));
}

// --- Costs
// ----------------------------------------------------------------------------------------

// The paper's estimates for an expert of 42 MB. On H20 two GPUs share a NIC of 400 Gb/s.
TEST(SwapCost, TimesOfThePaper) {
  const Bytes expert(42'000'000);
  struct Row {
    const char* link;
    int64_t gigabytes_per_s;
    int64_t published_ns;
  };
  for (const Row& row : {Row{"NVLink of H20", 450, 92'000}, Row{"NVLink of H800", 200, 210'000},
                         Row{"RDMA of H20", 25, 1'700'000}, Row{"RDMA of H800", 50, 800'000}}) {
    const SimTime time = swap_time(expert, BitRate::from_gigabytes_per_s(row.gigabytes_per_s));
    const int64_t published_ps = row.published_ns * 1000;
    EXPECT_LE(std::abs(time.ps() - published_ps) * 20, published_ps) << row.link;
  }
}

TEST(SwapCost, TrainingMovesSixteenBytesPerParameter) {
  const int64_t parameters = int64_t{3} * 7168 * 2048;
  const BitRate nvlink = BitRate::from_gigabytes_per_s(450);
  EXPECT_EQ(expert_bytes(serving_state(parameters, 1)), Bytes(44'040'192));
  EXPECT_EQ(expert_bytes(training_state(parameters)), Bytes(16 * parameters));
  const SimTime token = SimTime::from_us(1);
  const int64_t serving =
      swap_threshold(swap_time(expert_bytes(serving_state(parameters, 1)), nvlink), token);
  const int64_t training =
      swap_threshold(swap_time(expert_bytes(training_state(parameters)), nvlink), token);
  EXPECT_EQ(serving, 98);
  EXPECT_EQ(training, 1566);
}

TEST(SwapCost, ThresholdIsRoundedUpAndAtLeastOne) {
  EXPECT_EQ(swap_threshold(SimTime::from_us(92), SimTime::from_us(10)), 10);
  EXPECT_EQ(swap_threshold(SimTime::from_us(90), SimTime::from_us(10)), 9);
  EXPECT_EQ(swap_threshold(SimTime::from_us(1), SimTime::from_us(10)), 1);
  EXPECT_EQ(swap_threshold(SimTime::from_us(0), SimTime::from_us(10)), 1);
  EXPECT_EQ(swap_threshold(SimTime::from_us(1), SimTime::from_us(0)), INT64_MAX);
}

// --- Wrong use
// ------------------------------------------------------------------------------------

TEST(StepSwapDeathTest, ArgumentsThatContradictTheShape) {
  StepBalancer balancer({2, 2, 2, 4}, {});
  const std::vector<int> expert = {0, 1, 2, -1};
  const std::vector<int64_t> tokens = {4, 3, 2, 0};
  EXPECT_DEATH(balancer.balance(expert, std::vector<int64_t>{1, 2, 3}), "one entry per slot");
  EXPECT_DEATH(balancer.balance(std::vector<int>{0, 1, 2, 4}, tokens), "out of range");
  EXPECT_DEATH(balancer.balance(expert, std::vector<int64_t>{4, 3, 2, 1}), "empty slot");
  for (const int64_t bad : {int64_t{-1}, INT64_MIN, INT64_MAX, StepBalancer::kMostTokens}) {
    EXPECT_DEATH(balancer.balance(expert, std::vector<int64_t>{bad, 0, 0, 0}), "too many tokens");
  }
  EXPECT_DEATH(balancer.balance(expert, tokens, std::vector<uint8_t>{0}), "one entry per GPU");
  EXPECT_DEATH(balancer.balance(expert, tokens, std::vector<uint8_t>{1, 0}), "lost GPU");
  EXPECT_DEATH(StepBalancer({2, 2, 2, 4}, {0}), "impossible rule");
}

}  // namespace
}  // namespace mixnet::plan
