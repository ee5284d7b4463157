// A binary of its own: it replaces operator new of the whole program by one that counts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "plan/swap.h"
#include "plan/swap_test_support.h"

namespace {

int64_t& allocations() {
  static int64_t count = 0;
  return count;
}

void* counted(std::size_t size) {
  ++allocations();
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace mixnet::plan {
namespace {

TEST(StepSwap, DecidesWithoutAllocation) {
  RandomStream random(1, "allocations");
  for (const int slots : {6, 32, 300}) {
    const StepShape shape{24, slots, 8, 200};
    const SwapRule rule{1, 3, 3, true};
    StepBalancer balancer(shape, rule);
    std::vector<test_support::StepCase> steps;
    for (const uint64_t most : {uint64_t{3}, uint64_t{500}, uint64_t{1} << 33}) {
      steps.push_back(test_support::random_case(random, shape, most));
    }
    const std::vector<int64_t> counts(200, 77);
    std::vector<int64_t> split(steps[0].tokens.size());
    std::size_t swaps = 0;
    const int64_t before = allocations();
    for (const test_support::StepCase& step : steps) {
      swaps += balancer.balance(step.expert, step.tokens, step.lost).swaps.size();
      balancer.split(step.expert, counts, split, step.lost);
    }
    EXPECT_EQ(allocations(), before);
    EXPECT_GT(swaps, 0U);
  }
  const int64_t before = allocations();
  const std::vector<int> seen(5);
  EXPECT_EQ(allocations(), before + 1) << "the counter itself";
}

}  // namespace
}  // namespace mixnet::plan
