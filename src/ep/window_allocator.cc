#include "ep/window_allocator.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::ep {
namespace {

uint64_t whole_grains(uint64_t bytes) {
  constexpr uint64_t kGrain = WindowAllocator::kGrain;
  return std::max(kGrain, (bytes + kGrain - 1) / kGrain * kGrain);
}

}  // namespace

WindowAllocator::WindowAllocator(uint64_t bytes) : bytes_(bytes / kGrain * kGrain) {
  if (bytes_ > 0) {
    free_.emplace(0, bytes_);
  }
}

std::optional<uint64_t> WindowAllocator::allocate(uint64_t bytes) {
  if (bytes > bytes_) {
    return std::nullopt;
  }
  const uint64_t size = whole_grains(bytes);
  const auto fit = std::find_if(free_.begin(), free_.end(),
                                [&](const auto& part) { return part.second >= size; });
  if (fit == free_.end()) {
    return std::nullopt;
  }
  const auto [offset, available] = *fit;
  free_.erase(fit);
  if (available > size) {
    free_.emplace(offset + size, available - size);
  }
  taken_.emplace(offset, size);
  used_ += size;
  return offset;
}

void WindowAllocator::release(uint64_t offset) {
  const auto block = taken_.find(offset);
  CHECK(block != taken_.end(), "release() of a block that was given out");
  used_ -= block->second;
  insert_free(block->first, block->second);
  taken_.erase(block);
}

void WindowAllocator::shrink(uint64_t offset, uint64_t bytes) {
  const auto block = taken_.find(offset);
  CHECK(block != taken_.end(), "shrink() of a block that was given out");
  const uint64_t size = whole_grains(bytes);
  CHECK(size <= block->second, "a block does not grow");
  if (size < block->second) {
    used_ -= block->second - size;
    insert_free(offset + size, block->second - size);
    block->second = size;
  }
}

void WindowAllocator::retire(uint64_t offset) {
  const auto erased = taken_.erase(offset);
  CHECK(erased == 1, "retire() of a block that was given out");
}

uint64_t WindowAllocator::largest_free() const {
  uint64_t largest = 0;
  for (const auto& part : free_) {
    largest = std::max(largest, part.second);
  }
  return largest;
}

void WindowAllocator::insert_free(uint64_t offset, uint64_t bytes) {
  const auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace mixnet::ep
