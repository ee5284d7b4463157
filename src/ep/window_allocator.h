#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace mixnet::ep {

// Gives out parts of a window: lowest address first, so that warm pages are used again. Offsets and
// sizes are multiples of kGrain. O(log n) but for the search, O(free parts).
class WindowAllocator {
 public:
  static constexpr uint64_t kGrain = 4096;

  explicit WindowAllocator(uint64_t bytes);

  // Nothing when no free part is large enough. 0 bytes take one grain, so that every block has an
  // offset of its own.
  std::optional<uint64_t> allocate(uint64_t bytes);
  // `offset` as it was given out.
  void release(uint64_t offset);
  // Gives back what lies behind the first `bytes` of a block.
  void shrink(uint64_t offset, uint64_t bytes);
  // Never given out again: somebody who cannot be stopped may still write there.
  void retire(uint64_t offset);

  uint64_t used() const { return used_; }  // bytes, the retired ones included
  uint64_t largest_free() const;

 private:
  void insert_free(uint64_t offset, uint64_t bytes);

  uint64_t bytes_;
  uint64_t used_ = 0;
  std::map<uint64_t, uint64_t> free_;   // offset -> bytes
  std::map<uint64_t, uint64_t> taken_;  // offset -> bytes
};

// A window's allocator for several threads: a communicator allocates while its user gives back.
class WindowMemory {
 public:
  explicit WindowMemory(uint64_t bytes) : allocator_(bytes) {}

  std::optional<uint64_t> allocate(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    return allocator_.allocate(bytes);
  }
  void release(uint64_t offset) {
    const std::lock_guard lock(mutex_);
    allocator_.release(offset);
  }
  void shrink(uint64_t offset, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    allocator_.shrink(offset, bytes);
  }
  void retire(uint64_t offset) {
    const std::lock_guard lock(mutex_);
    allocator_.retire(offset);
  }
  uint64_t used() {
    const std::lock_guard lock(mutex_);
    return allocator_.used();
  }
  uint64_t largest_free() {
    const std::lock_guard lock(mutex_);
    return allocator_.largest_free();
  }

 private:
  std::mutex mutex_;
  WindowAllocator allocator_;  // guarded by mutex_
};

// Owns one block of a window and gives it back; may outlive the communicator.
class WindowBlock {
 public:
  WindowBlock() = default;
  WindowBlock(std::shared_ptr<WindowMemory> memory, uint64_t offset)
      : memory_(std::move(memory)), offset_(offset) {}
  WindowBlock(const WindowBlock&) = delete;
  WindowBlock& operator=(const WindowBlock&) = delete;
  WindowBlock(WindowBlock&& other) noexcept = default;
  WindowBlock& operator=(WindowBlock&& other) noexcept {
    reset();
    memory_ = std::move(other.memory_);
    offset_ = other.offset_;
    return *this;
  }
  ~WindowBlock() { reset(); }

  explicit operator bool() const { return memory_ != nullptr; }
  uint64_t offset() const { return offset_; }
  void reset() {
    if (memory_) {
      memory_->release(offset_);
      memory_.reset();
    }
  }
  // Never given out again: somebody who cannot be stopped may still use it.
  void retire() {
    if (memory_) {
      memory_->retire(offset_);
      memory_.reset();
    }
  }

 private:
  std::shared_ptr<WindowMemory> memory_;
  uint64_t offset_ = 0;
};

}  // namespace mixnet::ep
