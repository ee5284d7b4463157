#include "cli/expert_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/random.h"

namespace mixnet::cli {
namespace {

constexpr int64_t kIterations = 6;
constexpr int64_t kLayers = 2;
constexpr int64_t kRanks = 4;
constexpr int64_t kExperts = 16;

// 4 expert ranks on 2 servers, one tensor-parallel GPU each.
Study small_study() {
  Study study;
  study.model.name = "small";
  study.model.hidden = 64;
  study.model.layers = kLayers;
  study.model.expert_ffn = 128;
  study.model.experts = kExperts;
  study.model.top_k = 2;
  study.parallelism.ep = kRanks;
  study.cluster.servers = 2;
  study.cluster.gpus_per_server = 2;
  study.cluster.nics_per_server = 4;
  study.cluster.nic_rate = BitRate::from_gbps(100);
  study.run.iterations = 4;
  study.routing.first_iteration = 2;
  return study;
}

std::vector<uint32_t> skewed_counts(uint64_t seed) {
  RandomStream random(seed, "counts");
  std::vector<double> popularity;
  for (int64_t x = 0; x < kExperts; ++x) {
    popularity.push_back(random.log_normal(5, 1));
  }
  std::vector<uint32_t> counts;
  for (int64_t row = 0; row < kIterations * kLayers * kRanks; ++row) {
    for (const double p : popularity) {
      counts.push_back(static_cast<uint32_t>(p * random.log_normal(0, 0.3)) + 1);
    }
  }
  return counts;
}

RoutingView view_of(const std::vector<uint32_t>& counts) {
  return {kIterations, kLayers, kRanks, kExperts, counts.data()};
}

FabricSpec fabric(ExpertPlacement placement, int every = 0) {
  FabricSpec spec;
  spec.kind = FabricKind::kMixnet;
  spec.mixnet.alpha = 3;
  spec.placement = placement;
  spec.placement_every = every;
  return spec;
}

class Placements : public ::testing::TestWithParam<ExpertPlacement> {};

TEST_P(Placements, AreOnePermutationPerPlanAndBalance) {
  const std::vector<uint32_t> counts = skewed_counts(1);
  const Study study = small_study();
  const auto placed = place_experts(study, fabric(GetParam(), 2), view_of(counts));
  ASSERT_TRUE(placed.ok()) << placed.error().text();
  EXPECT_FALSE(placed->foresight);
  EXPECT_EQ(placed->result.plans, 2 * kLayers);
  EXPECT_GT(placed->result.moved, 0);
  EXPECT_EQ(placed->result.moved_bytes.count(), placed->result.moved * 3 * 64 * 128 * 16);
  EXPECT_GT(placed->result.moving, SimTime());
  for (int64_t step = 0; step < kIterations; ++step) {
    for (int64_t source = 0; source < kRanks; ++source) {
      const auto before = view_of(counts).row(step, 0, source);
      const auto after = placed->view().row(step, 0, source);
      EXPECT_TRUE(std::is_permutation(before.begin(), before.end(), after.begin(), after.end()));
    }
  }
  EXPECT_LT(expert_imbalance(study, placed->view()), expert_imbalance(study, view_of(counts)));
  EXPECT_EQ(placed->result.imbalance, expert_imbalance(study, placed->view()));
}

TEST_P(Placements, KnowNothingOfTheFuture) {
  const std::vector<uint32_t> counts = skewed_counts(2);
  std::vector<uint32_t> other = counts;
  const auto per_step = static_cast<std::size_t>(kLayers * kRanks * kExperts);
  // Steps 2 and 3 are the first two of the run; the plan for them saw 0 and 1.
  std::reverse(other.begin() + static_cast<std::ptrdiff_t>(4 * per_step), other.end());
  const Study study = small_study();
  const auto one = place_experts(study, fabric(GetParam(), 2), view_of(counts));
  const auto two = place_experts(study, fabric(GetParam(), 2), view_of(other));
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_TRUE(std::equal(one->counts.begin(),
                         one->counts.begin() + static_cast<std::ptrdiff_t>(4 * per_step),
                         two->counts.begin()));
}

TEST_P(Placements, WithoutAPastTheySayThatTheyKnewTheIteration) {
  const std::vector<uint32_t> counts = skewed_counts(3);
  Study study = small_study();
  study.routing.first_iteration = 0;
  const auto placed = place_experts(study, fabric(GetParam()), view_of(counts));
  ASSERT_TRUE(placed.ok());
  EXPECT_TRUE(placed->foresight);
  EXPECT_EQ(placed->result.plans, kLayers);
}

INSTANTIATE_TEST_SUITE_P(All, Placements,
                         ::testing::Values(ExpertPlacement::kEplb, ExpertPlacement::kNicAware,
                                           ExpertPlacement::kJoint),
                         [](const auto& param_info) {
                           std::string name = expert_placement_name(param_info.param);
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

TEST(ExpertPlacement, CountsThatAreWeightsAreScaledPerSource) {
  // One source with a hundred times the counts of the others decides nothing more.
  std::vector<uint32_t> counts = skewed_counts(4);
  Study study = small_study();
  study.routing.counts_are_weights = true;
  const double before = expert_imbalance(study, view_of(counts));
  for (std::size_t at = 0; at < counts.size(); ++at) {
    if (at / kExperts % kRanks == 0) {
      counts[at] *= 100;
    }
  }
  EXPECT_NEAR(expert_imbalance(study, view_of(counts)), before, 1e-4);
  study.routing.counts_are_weights = false;
  EXPECT_GT(std::abs(expert_imbalance(study, view_of(counts)) - before), 1e-3);
}

}  // namespace
}  // namespace mixnet::cli
