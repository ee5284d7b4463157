#include "plan/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/random.h"

namespace mixnet::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An expert takes 1 ms to a GPU, 2 ms between hosts, 10 ms from disk.
RecoveryProblem problem_of(int experts, int gpus_per_host, std::vector<std::vector<int>> layers,
                           int gpus) {
  RecoveryProblem problem;
  problem.map = {experts, gpus, gpus_per_host, static_cast<int>(layers[0].size()) / gpus,
                 std::move(layers)};
  problem.costs.expert = Bytes(1'000'000);
  problem.costs.host_to_gpu = BitRate::from_gbps(8);
  problem.costs.network = BitRate::from_gbps(4);
  problem.costs.disk = BitRate::from_bps(800'000'000);
  return problem;
}

Losses lose_hosts(const RecoveryProblem& problem, const std::vector<std::size_t>& hosts) {
  Losses losses{std::vector<uint8_t>(static_cast<std::size_t>(problem.map.hosts())),
                std::vector<uint8_t>(static_cast<std::size_t>(problem.map.gpus))};
  for (const std::size_t h : hosts) {
    losses.hosts[h] = 1;
  }
  return losses;
}

RecoveryProblem random_problem(RandomStream& random, int experts, int layers) {
  constexpr int kGpus = 6;
  constexpr int kSlots = 3;
  std::vector<std::vector<int>> map;
  for (int l = 0; l < layers; ++l) {
    std::vector<int> slots(kGpus * kSlots, -1);
    for (std::size_t s = 0; s < slots.size(); ++s) {
      const bool once = s < static_cast<std::size_t>(experts);
      slots[s] = once ? static_cast<int>(s)
                      : static_cast<int>(random.below(static_cast<uint64_t>(experts) + 2)) - 2;
      slots[s] = std::max(slots[s], -1);
    }
    random.shuffle(std::span<int>(slots));
    map.push_back(slots);
  }
  RecoveryProblem problem = problem_of(experts, 2, std::move(map), kGpus);
  problem.cache = static_cast<ExpertCache>(random.below(4));
  problem.spare_slots = static_cast<int>(random.below(4));
  problem.first_layer = static_cast<int>(random.below(static_cast<uint64_t>(layers)));
  problem.costs.detection = SimTime::from_us(10);
  problem.costs.setup = SimTime::from_us(100);
  problem.costs.layer = SimTime::from_us(random.below(3000));
  return problem;
}

// --- Oracle: every way to spread the loads of one layer over GPUs
// ---------------------------------

TEST(Recovery, OneLayerFromOwnMemoryIsAsFastAsAnySpread) {
  RandomStream random(1, "recovery oracle");
  for (int run = 0; run < 100; ++run) {
    RecoveryProblem problem = random_problem(random, 10, 1);
    problem.cache = ExpertCache::kAll;
    problem.spare_slots = 8;
    problem.costs.layer = SimTime();
    const Result<RecoveryPlan> plan =
        plan_recovery(problem, lose_hosts(problem, {random.below(3)}));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    // Four GPUs are left, any of which can take any expert.
    std::vector<int> loads(4);
    int least = static_cast<int>(plan->reloads.size());
    const std::function<void(std::size_t)> spread = [&](std::size_t left) {
      if (left == 0) {
        least = std::min(least, *std::max_element(loads.begin(), loads.end()));
        return;
      }
      for (int& load : loads) {
        ++load;
        spread(left - 1);
        --load;
      }
    };
    spread(std::min<std::size_t>(plan->reloads.size(), 8));
    if (plan->reloads.size() <= 8) {
      EXPECT_EQ(plan->stall, SimTime::from_us(110) + SimTime::from_ms(least));
    }
  }
}

// --- Properties
// -----------------------------------------------------------------------------------

// Replays the plan on the map.
void check_plan(const RecoveryProblem& problem, const Losses& losses, const RecoveryPlan& plan) {
  const ExpertMap& map = problem.map;
  const auto works = [&](int gpu) {
    return losses.gpus[static_cast<std::size_t>(gpu)] == 0 &&
           losses.hosts[static_cast<std::size_t>(gpu / map.gpus_per_host)] == 0;
  };
  const int width = map.slots_per_gpu + problem.spare_slots;
  for (std::size_t l = 0; l < map.layers.size(); ++l) {
    std::vector<int> after(static_cast<std::size_t>(map.gpus * width), -1);
    for (std::size_t s = 0; s < map.layers[l].size(); ++s) {
      const int gpu = static_cast<int>(s) / map.slots_per_gpu;
      if (works(gpu)) {
        after[static_cast<std::size_t>(gpu * width + static_cast<int>(s) % map.slots_per_gpu)] =
            map.layers[l][s];
      }
    }
    for (const Reload& r : plan.reloads) {
      if (r.layer != static_cast<int>(l)) {
        continue;
      }
      ASSERT_TRUE(works(r.gpu));
      ASSERT_LT(r.slot, width);
      int& place = after[static_cast<std::size_t>(r.gpu * width + r.slot)];
      ASSERT_EQ(place, r.evicted);
      ASSERT_EQ(std::count(after.begin(), after.end(), r.expert), 0) << "it had survived";
      place = r.expert;
      EXPECT_EQ(losses.hosts[static_cast<std::size_t>(r.from_host)], 0) << "read from a lost host";
      EXPECT_EQ(r.source != ReloadSource::kOtherMemory, r.from_host == r.gpu / map.gpus_per_host);
    }
    for (int e = 0; e < map.experts; ++e) {
      EXPECT_GE(std::count(after.begin(), after.end(), e), 1) << "layer " << l << " expert " << e;
    }
  }
}

TEST(Recovery, EveryExpertIsBackInAWorkingGpu) {
  RandomStream random(2, "recovery");
  int planned = 0;
  int refused = 0;
  std::set<ReloadSource> sources;
  bool evicted = false;
  for (int run = 0; run < 400; ++run) {
    const RecoveryProblem problem = random_problem(random, 12, 3);
    Losses losses = lose_hosts(problem, {});
    losses.hosts[random.below(3)] = random.below(2) == 0 ? 1 : 0;
    losses.gpus[random.below(6)] = 1;
    const Result<RecoveryPlan> plan = plan_recovery(problem, losses);
    if (!plan.ok()) {
      EXPECT_THAT(plan.error().message, HasSubstr("do not fit"));
      ++refused;
      continue;
    }
    ++planned;
    check_plan(problem, losses, *plan);
    EXPECT_GE(plan->stall, plan->stall_bound);
    EXPECT_LE(plan->stall, plan->unpipelined);
    EXPECT_GE(plan->stall, problem.costs.detection + problem.costs.setup);
    for (const Reload& r : plan->reloads) {
      sources.insert(r.source);
      evicted |= r.evicted >= 0;
    }
    const Bytes all = plan->from_own_memory + plan->from_other_memory + plan->from_disk;
    EXPECT_EQ(all, problem.costs.expert * static_cast<int64_t>(plan->reloads.size()));
  }
  EXPECT_GT(planned, 200);
  EXPECT_GT(refused, 10);
  EXPECT_EQ(sources.size(), 3U);
  EXPECT_TRUE(evicted);
}

// The spare slots that the message asks for are enough, and one less is not.
TEST(Recovery, AsksForTheFewestSpareSlots) {
  RandomStream random(3, "recovery");
  int asked = 0;
  for (int run = 0; run < 100; ++run) {
    RecoveryProblem problem = random_problem(random, 14, 2);
    problem.spare_slots = 0;
    const Losses losses = lose_hosts(problem, {0, 1});
    const Result<RecoveryPlan> refused = plan_recovery(problem, losses);
    if (refused.ok()) {
      continue;
    }
    ++asked;
    while (!plan_recovery(problem, losses).ok()) {
      ++problem.spare_slots;
    }
    EXPECT_THAT(refused.error().message,
                HasSubstr(std::to_string(problem.spare_slots) + " spare slots"));
  }
  EXPECT_GT(asked, 50);
}

// --- Examples
// -------------------------------------------------------------------------------------

// Two GPUs in two hosts. Expert 0 is on both, 1 and 2 on GPU 1 only.
RecoveryProblem small() {
  RecoveryProblem problem = problem_of(3, 1, {{0, -1, -1, 0, 1, 2}, {0, 1, 2, 0, 1, 2}}, 2);
  problem.cache = ExpertCache::kAll;
  return problem;
}

TEST(Recovery, SmallExample) {
  const RecoveryProblem problem = small();
  const Result<RecoveryPlan> plan = plan_recovery(problem, lose_hosts(problem, {1}));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->survivors, ElementsAre(SurvivingExpert{0, 0, 1}, SurvivingExpert{1, 0, 1},
                                           SurvivingExpert{1, 1, 1}, SurvivingExpert{1, 2, 1}));
  EXPECT_THAT(plan->reloads, ElementsAre(Reload{0, 1, 0, 1, ReloadSource::kOwnMemory, 0, -1},
                                         Reload{0, 2, 0, 2, ReloadSource::kOwnMemory, 0, -1}));
  EXPECT_EQ(plan->stall, SimTime::from_ms(2));
  EXPECT_THAT(plan->layer_order, ElementsAre(0, 1));
}

// Layer 1 executes first and needs nothing: 1.5 ms of loading hide behind it.
TEST(Recovery, LoadsWhatIsNeededFirstWhileLayersExecute) {
  RecoveryProblem problem = small();
  problem.first_layer = 1;
  problem.costs.layer = SimTime::from_us(1500);
  problem.costs.detection = SimTime::from_us(100);
  problem.costs.setup = SimTime::from_us(300);
  const Result<RecoveryPlan> plan = plan_recovery(problem, lose_hosts(problem, {1}));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->layer_order, ElementsAre(1, 0));
  EXPECT_THAT(plan->layer_ready, ElementsAre(SimTime::from_us(2400), SimTime::from_us(400)));
  EXPECT_EQ(plan->stall, SimTime::from_us(400 + 500));
  EXPECT_EQ(plan->unpipelined, SimTime::from_us(2400));
}

TEST(Recovery, SourcesInTheirOrder) {
  // Three hosts of one GPU, expert 2 on the last. The ring keeps it on hosts 2 and 0.
  RecoveryProblem problem = problem_of(3, 1, {{0, 0, 1, -1, 2, -1}}, 3);
  problem.cache = ExpertCache::kRing;
  problem.cache_copies = 2;
  const Losses losses = lose_hosts(problem, {2});
  // GPU 1 has the only empty slot; the weights come from host 0 in 2 ms.
  Result<RecoveryPlan> plan = plan_recovery(problem, losses);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->reloads, ElementsAre(Reload{0, 2, 1, 1, ReloadSource::kOtherMemory, 0, -1}));
  EXPECT_EQ(plan->stall, SimTime::from_ms(2));
  // With spare slots GPU 0 is faster.
  problem.spare_slots = 1;
  plan = plan_recovery(problem, losses);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->reloads, ElementsAre(Reload{0, 2, 0, 2, ReloadSource::kOwnMemory, 0, -1}));
  // The memory of host 2 is lost with it.
  problem.cache = ExpertCache::kOwn;
  plan = plan_recovery(problem, losses);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->reloads, ElementsAre(Reload{0, 2, 0, 2, ReloadSource::kDisk, 0, -1}));
  EXPECT_EQ(plan->stall, SimTime::from_ms(10));
}

TEST(Recovery, ALostGpuLeavesTheMemoryOfItsHost) {
  RecoveryProblem problem = problem_of(4, 2, {{0, -1, 1, -1, 2, -1, 3, -1}}, 4);
  problem.cache = ExpertCache::kOwn;
  Losses losses = lose_hosts(problem, {});
  losses.gpus[1] = 1;
  const Result<RecoveryPlan> plan = plan_recovery(problem, losses);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->reloads, ElementsAre(Reload{0, 1, 0, 1, ReloadSource::kOwnMemory, 0, -1}));
}

TEST(Recovery, TakesTheSlotOfACopyWhenNothingIsEmpty) {
  RecoveryProblem problem = problem_of(3, 1, {{0, 1, 1, 0, 2, 2}}, 3);
  problem.cache = ExpertCache::kAll;
  const Result<RecoveryPlan> plan = plan_recovery(problem, lose_hosts(problem, {2}));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->reloads, ElementsAre(Reload{0, 2, 0, 0, ReloadSource::kOwnMemory, 0, 0}));
}

// --- Bad input
// ------------------------------------------------------------------------------------

TEST(Recovery, NamesAnExpertWithoutAnyCopy) {
  RecoveryProblem problem = small();
  problem.costs.on_disk = false;
  problem.cache = ExpertCache::kOwn;
  const Result<RecoveryPlan> plan = plan_recovery(problem, lose_hosts(problem, {1}));
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().message,
              HasSubstr("expert 1 of layer 0 has no copy anywhere (and 1 more experts)"));
}

TEST(Recovery, NothingOrEverythingLost) {
  const RecoveryProblem problem = small();
  EXPECT_THAT(plan_recovery(problem, lose_hosts(problem, {})).error().message,
              HasSubstr("nothing is lost"));
  EXPECT_THAT(plan_recovery(problem, lose_hosts(problem, {0, 1})).error().message,
              HasSubstr("every GPU is lost"));
}

}  // namespace
}  // namespace mixnet::plan
