#include "plan/place_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>

#include "core/random.h"
#include "plan/place_greedy.h"
#include "plan/place_lightest.h"
#include "plan/place_model.h"
#include "plan/place_test_support.h"

namespace mixnet::plan {
namespace {

// Tokens of every expert from every GPU, heavier from GPUs whose number is near the expert's.
Matrix<double> skewed_sources(const std::vector<int64_t>& loads, std::size_t gpus, uint64_t seed) {
  RandomStream random(seed, "sources");
  Matrix<double> sources(gpus, loads.size());
  for (std::size_t e = 0; e < loads.size(); ++e) {
    double sum = 0;
    for (std::size_t g = 0; g < gpus; ++g) {
      sources(g, e) = random.log_normal(0, 1.5);
      sum += sources(g, e);
    }
    for (std::size_t g = 0; g < gpus; ++g) {
      sources(g, e) *= static_cast<double>(loads[e]) / sum;
    }
  }
  return sources;
}

void expect_equal_values(const PlaceState& a, const PlaceState& b) {
  ASSERT_EQ(a.resources(), b.resources());
  for (std::size_t i = 0; i < a.resources(); ++i) {
    EXPECT_NEAR(a.value(i), b.value(i), 1e-9) << i;
  }
}

class ManyMoves : public ::testing::TestWithParam<bool> {};

// What increments say after a random walk, against a state made of its end, and against the score
// of the map; and what a swap was said to lead to.
TEST_P(ManyMoves, KeepTheBooksRight) {
  const PlaceCluster cluster = test_support::with_hosts(6, 2, 20, 2);
  PlaceProblem problem = test_support::problem_of(test_support::log_normal_loads(5, 12, 1));
  if (GetParam()) {
    problem.sources = skewed_sources(problem.loads, 6, 9);
  }
  const ScaledProblem scaled = scale_problem(cluster, problem, 1);
  PlaceState state(scaled.model, greedy_placement(scaled.model, GetParam()));
  RandomStream random(3, "walk");
  int swaps = 0;
  int replaced = 0;
  for (int step = 0; step < 3000; ++step) {
    const std::size_t p = random.below(20);
    const std::size_t q = random.below(20);
    const int f = static_cast<int>(random.below(12));
    if (step % 3 == 0 && state.can_replace(p, f)) {
      const double peak = state.replace_gpu_peak(p, f);
      state.replace(p, f);
      EXPECT_LE(peak, state.gpu_worst() + 1e-9);
      ++replaced;
    } else if (std::isfinite(state.swap_peak(p, q))) {
      const double peak = state.swap_peak(p, q);
      state.swap(p, q);
      EXPECT_LE(peak, state.worst() + 1e-9);
      ++swaps;
    }
  }
  EXPECT_GT(swaps, 100);
  EXPECT_GT(replaced, 100);
  expect_equal_values(state, PlaceState(scaled.model, state.experts()));
  const PlacementScore score =
      score_placement(cluster, problem, original_experts(scaled, state.experts()));
  EXPECT_NEAR(score.gpu, state.gpu_worst(), 1e-9);
  EXPECT_NEAR(std::max(score.nic_send, score.nic_receive), state.nic_worst(), 1e-9);
  EXPECT_EQ(score.duplicates, 0);
}

INSTANTIATE_TEST_SUITE_P(Sources, ManyMoves, ::testing::Bool());

// Comparisons of the greedy start for a cluster of this many GPUs, four slots each.
int64_t greedy_comparisons(int gpus, bool sources) {
  const PlaceCluster cluster = test_support::with_hosts(gpus, gpus / 8, 4 * gpus, 1);
  PlaceProblem problem = test_support::problem_of(test_support::log_normal_loads(3, 64, 1));
  if (sources) {
    problem.sources = skewed_sources(problem.loads, static_cast<std::size_t>(gpus), 4);
  }
  const ScaledProblem scaled = scale_problem(cluster, problem, 1);
  int64_t comparisons = 0;
  greedy_placement(scaled.model, sources, &comparisons);
  return comparisons;
}

TEST(PlaceSearch, TheGreedyStartIsNearLinear) {
  for (const bool sources : {false, true}) {
    const int64_t small = greedy_comparisons(256, sources);
    const int64_t large = greedy_comparisons(1024, sources);
    // Four times the slots, and two more rounds of a tournament that had eight.
    EXPECT_LE(large, small * 4 * 14 / 10) << sources;
  }
}

// The tournament against a search of all GPUs.
TEST(PlaceSearch, TheLightestGpuComesFirst) {
  RandomStream random(7, "lightest");
  LightestGpu lightest(13);
  std::vector<std::optional<std::pair<double, double>>> plain(13);
  for (int step = 0; step < 2000; ++step) {
    const std::size_t g = random.below(13);
    if (random.below(4) == 0) {
      lightest.leave(g);
      plain[g].reset();
    } else {
      plain[g] = {static_cast<double>(random.below(4)), static_cast<double>(random.below(3))};
      lightest.set(g, plain[g]->first, plain[g]->second);
    }
    std::size_t first = LightestGpu::kNone;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (plain[i] && (first == LightestGpu::kNone || *plain[i] < *plain[first])) {
        first = i;
      }
    }
    ASSERT_EQ(lightest.first(), first) << step;
  }
}

TEST(PlaceSearch, ADescentNeverLiftsTheWorst) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const PlaceCluster cluster = test_support::with_hosts(8, 2, 40, 2);
    PlaceProblem problem = test_support::problem_of(test_support::log_normal_loads(seed, 24, 1));
    problem.sources = skewed_sources(problem.loads, 8, seed);
    const ScaledProblem scaled = scale_problem(cluster, problem, 1);
    PlaceState state(scaled.model, greedy_placement(scaled.model, true));
    const double before = state.worst();
    Effort effort{1'000'000};
    PlaceSearch(MoveCost{}, 1).descend(state, 0, effort);
    EXPECT_LE(state.worst(), before + 1e-12);
  }
}

TEST(PlaceSearch, HostsExchangeWhatTheirSourcesWant) {
  // Host 0 sends to experts 0 and 1 only, host 1 to experts 2 and 3; the start is the wrong way.
  const PlaceCluster cluster = test_support::with_hosts(4, 2, 4, 1);
  PlaceProblem problem = test_support::problem_of({40, 30, 20, 10});
  problem.sources = Matrix<double>(4, 4, 0);
  for (std::size_t g = 0; g < 4; ++g) {
    for (std::size_t e = 0; e < 4; ++e) {
      problem.sources(g, e) = g / 2 == e / 2 ? static_cast<double>(problem.loads[e]) / 2 : 0;
    }
  }
  const ScaledProblem scaled = scale_problem(cluster, problem, 1);
  PlaceState state(scaled.model, {2, 3, 0, 1});
  Effort effort{1'000'000};
  exchange_hosts(state, effort);
  EXPECT_EQ(state.experts(), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_NEAR(state.nic_worst(), 0, 1e-12);
}

TEST(PlaceSearch, HotGpusEndBehindDifferentNics) {
  // Two hosts of two NICs with two GPUs each; GPUs 0 and 1 hold the hot experts of host 0.
  const PlaceCluster cluster = test_support::with_hosts(8, 2, 16, 2);
  const PlaceProblem problem =
      test_support::problem_of({50, 50, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 10, 10});
  const ScaledProblem scaled = scale_problem(cluster, problem, 1);
  PlaceState state(scaled.model, {0, 14, 1, 15, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13});
  Effort effort{1'000'000};
  spread_hot_gpus(state, effort);
  std::size_t nics[2] = {99, 99};
  for (std::size_t p = 0; p < 16; ++p) {
    if (state.expert_at(p) < 2) {
      nics[state.expert_at(p)] = scaled.model.nic_of[state.gpu_of(p)];
    }
  }
  EXPECT_NE(nics[0], nics[1]);
}

TEST(PlaceSearch, DuplicatesOfOtherMapsAreRemoved) {
  const PlaceCluster cluster = test_support::flat(4, 12);
  const PlaceProblem problem = test_support::problem_of({1000, 1, 1, 1, 1, 1, 1, 1});
  const ScaledProblem scaled = scale_problem(cluster, problem, 1);
  // EPLB's answer: the hot expert has 5 slots on 4 GPUs, two of them on GPU 0.
  PlaceState state(scaled.model, {0, 0, 7, 0, 1, 4, 0, 2, 5, 0, 3, 6});
  Effort effort{1'000'000};
  remove_duplicates(state, effort);
  EXPECT_EQ(state.copies(0), 4);
  EXPECT_EQ(score_placement(cluster, problem, original_experts(scaled, state.experts())).duplicates,
            0);
}

}  // namespace
}  // namespace mixnet::plan
