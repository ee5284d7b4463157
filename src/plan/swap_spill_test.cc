#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "plan/swap.h"
#include "plan/swap_test_support.h"

namespace mixnet::plan {
namespace {

using test_support::loads_of;
using test_support::random_case;
using test_support::StepCase;
using ::testing::ElementsAre;

constexpr SwapRule kSpillOnly{1, 1, 0, true};

// Tokens of every expert and the GPUs that hold it, of a step that is one host.
struct ExpertWork {
  int64_t tokens = 0;
  uint32_t gpus = 0;  // bits
};

std::map<int, ExpertWork> work_of(const StepCase& step) {
  std::map<int, ExpertWork> work;
  for (std::size_t s = 0; s < step.expert.size(); ++s) {
    if (step.expert[s] >= 0) {
      ExpertWork& expert = work[step.expert[s]];
      expert.tokens += step.tokens[s];
      expert.gpus |= 1U << (s / step.slots());
    }
  }
  return work;
}

// What some set of GPUs must compute alone, evenly shared: by the theorem of maximum flow and
// minimum cut, the largest of these is the optimum.
int64_t optimum_by_cuts(const StepCase& step) {
  int64_t worst = 0;
  const std::map<int, ExpertWork> work = work_of(step);
  for (uint32_t set = 1; set < 1U << step.gpus(); ++set) {
    int64_t tokens = 0;
    for (const auto& [id, expert] : work) {
      tokens += (expert.gpus & ~set) == 0 ? expert.tokens : 0;
    }
    const int64_t size = __builtin_popcount(set);
    worst = std::max(worst, (tokens + size - 1) / size);
  }
  return worst;
}

// Every way to share every expert's tokens among its GPUs.
int64_t optimum_by_enumeration(const StepCase& step) {
  const std::map<int, ExpertWork> work = work_of(step);
  std::vector<ExpertWork> experts;
  for (const auto& [id, expert] : work) {
    experts.push_back(expert);
  }
  std::vector<int64_t> loads(step.gpus());
  int64_t best = INT64_MAX;
  const std::function<void(std::size_t, std::size_t, int64_t)> share =
      [&](std::size_t e, std::size_t gpu, int64_t left) {
        if (e == experts.size()) {
          best = std::min(best, *std::max_element(loads.begin(), loads.end()));
        } else if (gpu == loads.size()) {
          if (left == 0) {
            share(e + 1, 0, e + 1 < experts.size() ? experts[e + 1].tokens : 0);
          }
        } else {
          const int64_t most = (experts[e].gpus >> gpu & 1U) != 0 ? left : 0;
          for (int64_t here = 0; here <= most; ++here) {
            loads[gpu] += here;
            share(e, gpu + 1, left - here);
            loads[gpu] -= here;
          }
        }
      };
  share(0, 0, experts.empty() ? 0 : experts[0].tokens);
  return best;
}

TEST(Spill, ReachesTheOptimumByEnumeration) {
  RandomStream random(1, "spill");
  for (int run = 0; run < 150; ++run) {
    const StepShape shape{3, 2, 3, 3};
    const StepCase step = random_case(random, shape, 4);
    StepBalancer balancer(shape, kSpillOnly);
    const BalancedStep done = balancer.balance(step.expert, step.tokens, step.lost);
    const int64_t optimum = optimum_by_enumeration(step);
    ASSERT_EQ(done.heaviest_after, optimum) << "run " << run;
    ASSERT_EQ(optimum_by_cuts(step), optimum) << "run " << run;
  }
}

TEST(Spill, ReachesTheOptimumByCuts) {
  RandomStream random(2, "spill");
  int improved = 0;
  for (int run = 0; run < 300; ++run) {
    const int gpus = 2 + static_cast<int>(random.below(7));
    const StepShape shape{gpus, 1 + static_cast<int>(random.below(5)), 8,
                          1 + static_cast<int>(random.below(24))};
    const StepCase step = random_case(random, shape, run % 2 == 0 ? 200 : uint64_t{1} << 40);
    StepBalancer balancer(shape, kSpillOnly);
    const BalancedStep done = balancer.balance(step.expert, step.tokens, step.lost);
    ASSERT_EQ(done.heaviest_after, optimum_by_cuts(step)) << "run " << run;
    improved += done.heaviest_after < done.heaviest_before ? 1 : 0;
  }
  EXPECT_GT(improved, 100);
}

// With swaps in between: tokens stay with their expert and their host, and no load is hidden.
TEST(Spill, KeepsTokensWithTheirExpertAndHost) {
  RandomStream random(3, "spill");
  for (int run = 0; run < 200; ++run) {
    const StepShape shape{10, 4, 4, 20};
    const StepCase step = random_case(random, shape, 100);
    StepBalancer balancer(shape, {2, 2, 2, true});
    const BalancedStep done = balancer.balance(step.expert, step.tokens, step.lost);
    std::map<std::pair<std::size_t, int>, int64_t> before;
    std::map<std::pair<std::size_t, int>, int64_t> after;
    for (std::size_t s = 0; s < step.expert.size(); ++s) {
      ASSERT_GE(done.slot_tokens[s], 0);
      before[{s / step.slots() / 4, step.expert[s]}] += step.tokens[s];
      after[{s / step.slots() / 4, done.slot_expert[s]}] += done.slot_tokens[s];
    }
    EXPECT_EQ(after, before);
    const std::vector<int64_t> loads = loads_of(shape, done.slot_tokens);
    EXPECT_EQ(done.heaviest_after, *std::max_element(loads.begin(), loads.end()));
    for (std::size_t g = 0; g < loads.size(); ++g) {
      EXPECT_TRUE(step.lost[g] == 0 || loads[g] == 0);
    }
  }
}

// Expert 0 on GPUs 0 and 1, expert 1 on 1 and 2: GPU 0 spills over two hops.
TEST(Spill, PassesTokensOn) {
  const std::vector<int> expert = {0, 2, 0, 1, 1, -1};
  const std::vector<int64_t> tokens = {60, 0, 0, 30, 0, 0};
  StepBalancer balancer({3, 2, 3, 3}, kSpillOnly);
  const BalancedStep done = balancer.balance(expert, tokens);
  EXPECT_EQ(done.heaviest_after, 30);
  EXPECT_THAT(loads_of({3, 2, 3, 3}, done.slot_tokens), ElementsAre(30, 30, 30));
  EXPECT_TRUE(done.swaps.empty());
}

TEST(Spill, WithoutReplicasNothingMoves) {
  const std::vector<int> expert = {0, 1, 2, 3};
  const std::vector<int64_t> tokens = {60, 5, 5, 5};
  StepBalancer balancer({2, 2, 2, 4}, kSpillOnly);
  EXPECT_THAT(balancer.balance(expert, tokens).slot_tokens, ElementsAre(60, 5, 5, 5));
}

}  // namespace
}  // namespace mixnet::plan
