#include "ep/window_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/random.h"

namespace mixnet::ep {
namespace {

constexpr uint64_t kGrain = WindowAllocator::kGrain;

TEST(WindowAllocator, LowestPlaceFirst) {
  WindowAllocator allocator(4 * kGrain);
  EXPECT_EQ(allocator.allocate(1), 0u);
  EXPECT_EQ(allocator.allocate(kGrain), kGrain);
  EXPECT_EQ(allocator.allocate(kGrain + 1), 2 * kGrain);
  EXPECT_EQ(allocator.allocate(1), std::nullopt);
  allocator.release(kGrain);
  allocator.release(0);
  EXPECT_EQ(allocator.largest_free(), 2 * kGrain);
  EXPECT_EQ(allocator.allocate(2 * kGrain), 0u);
}

TEST(WindowAllocator, NothingHasAPlaceOfItsOwn) {
  WindowAllocator allocator(2 * kGrain);
  EXPECT_EQ(allocator.allocate(0), 0u);
  EXPECT_EQ(allocator.allocate(0), kGrain);
  EXPECT_EQ(allocator.allocate(0), std::nullopt);
}

TEST(WindowAllocator, AWindowOfLessThanAGrainHasNoRoom) {
  WindowAllocator allocator(kGrain - 1);
  EXPECT_EQ(allocator.allocate(1), std::nullopt);
  EXPECT_EQ(allocator.largest_free(), 0u);
}

TEST(WindowAllocator, HugeRequestsDoNotWrapAround) {
  WindowAllocator allocator(8 * kGrain);
  EXPECT_EQ(allocator.allocate(~uint64_t{0}), std::nullopt);
  EXPECT_EQ(allocator.allocate(~uint64_t{0} - kGrain), std::nullopt);
}

TEST(WindowAllocator, WindowsBeyondFourGigabytes) {
  const uint64_t block = uint64_t{160'000} * 7168 * 2;
  WindowAllocator allocator(4 * block);
  const uint64_t step = (block + kGrain - 1) / kGrain * kGrain;
  EXPECT_EQ(allocator.allocate(block), 0u);
  EXPECT_EQ(allocator.allocate(block), step);
  EXPECT_EQ(allocator.allocate(block), 2 * step);
  EXPECT_EQ(allocator.used(), 3 * step);
}

TEST(WindowAllocator, WhatIsRetiredNeverComesBack) {
  WindowAllocator allocator(4 * kGrain);
  EXPECT_EQ(allocator.allocate(kGrain), 0u);
  EXPECT_EQ(allocator.allocate(kGrain), kGrain);
  allocator.retire(kGrain);
  allocator.release(0);
  EXPECT_EQ(allocator.used(), kGrain);
  EXPECT_EQ(allocator.largest_free(), 2 * kGrain);
  EXPECT_EQ(allocator.allocate(2 * kGrain), 2 * kGrain);
  EXPECT_EQ(allocator.allocate(kGrain), 0u);
  EXPECT_EQ(allocator.allocate(1), std::nullopt);
}

// A window as a list of grains.
class Grains {
 public:
  explicit Grains(std::size_t count) : owner_(count, -1) {}

  int64_t largest_free() const {
    int64_t largest = 0;
    int64_t run = 0;
    for (const int owner : owner_) {
      run = owner < 0 ? run + 1 : 0;
      largest = std::max(largest, run);
    }
    return largest;
  }
  int64_t used() const {
    return std::count_if(owner_.begin(), owner_.end(), [](int owner) { return owner >= 0; });
  }
  // The lowest run of so many; -1: none.
  int64_t first_fit(std::size_t count) const {
    std::size_t run = 0;
    for (std::size_t i = 0; i < owner_.size(); ++i) {
      run = owner_[i] < 0 ? run + 1 : 0;
      if (run == count) {
        return static_cast<int64_t>(i + 1 - count);
      }
    }
    return -1;
  }
  void set(std::size_t first, std::size_t count, int owner) {
    std::fill_n(owner_.begin() + static_cast<std::ptrdiff_t>(first), count, owner);
  }

 private:
  std::vector<int> owner_;
};

TEST(WindowAllocator, EqualsAListOfGrains) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    RandomStream random(seed, "window");
    const std::size_t size = 1 + random.below(60);
    WindowAllocator allocator(size * kGrain + random.below(kGrain));
    Grains grains(size);
    std::map<uint64_t, std::size_t> taken;  // first grain -> grains
    for (int step = 0; step < 300; ++step) {
      const uint64_t kind = random.below(10);
      if (kind < 5 || taken.empty()) {
        const std::size_t count = 1 + random.below(8);
        const int64_t expected = grains.first_fit(count);
        const auto got = allocator.allocate(count * kGrain - random.below(kGrain));
        ASSERT_EQ(got.has_value(), expected >= 0);
        if (got) {
          ASSERT_EQ(*got, static_cast<uint64_t>(expected) * kGrain);
          taken[*got / kGrain] = count;
          grains.set(*got / kGrain, count, 1);
        }
        continue;
      }
      auto block = taken.begin();
      std::advance(block, random.below(taken.size()));
      const auto [first, count] = *block;
      if (kind == 9 && step % 16 == 0) {
        allocator.retire(first * kGrain);
        taken.erase(block);
      } else if (kind == 8) {
        const std::size_t left = 1 + random.below(count);
        allocator.shrink(first * kGrain, left * kGrain - random.below(kGrain));
        grains.set(first + left, count - left, -1);
        block->second = left;
      } else {
        allocator.release(first * kGrain);
        grains.set(first, count, -1);
        taken.erase(block);
      }
      ASSERT_EQ(allocator.used(), static_cast<uint64_t>(grains.used()) * kGrain);
      ASSERT_EQ(allocator.largest_free(), static_cast<uint64_t>(grains.largest_free()) * kGrain);
    }
  }
}

TEST(WindowBlock, GivesBackOnceAndMayOutliveTheOthers) {
  auto memory = std::make_shared<WindowMemory>(4 * kGrain);
  {
    WindowBlock first(memory, *memory->allocate(1));
    WindowBlock second(memory, *memory->allocate(1));
    EXPECT_EQ(memory->used(), 2 * kGrain);
    first = std::move(second);
    EXPECT_EQ(memory->used(), kGrain);
    EXPECT_EQ(first.offset(), kGrain);
    EXPECT_FALSE(second);
    memory.reset();
  }
}

}  // namespace
}  // namespace mixnet::ep
