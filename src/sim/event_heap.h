#pragma once

#include <cstdint>
#include <vector>

namespace mixnet::sim {

// A min-heap of (time, id) with at most one entry per dense id; equal times in id order. An entry
// is found by its id, so that a time can be moved without leaving a stale entry behind.
// Every operation is O(log size), top is O(1).
class EventHeap {
 public:
  bool empty() const { return slots_.empty(); }
  // The heap is not empty.
  int64_t top_time() const { return slots_.front().time; }
  int32_t top_id() const { return slots_.front().id; }

  // Inserts `id` or moves it to `time`.
  void set(int32_t id, int64_t time);
  // Removes `id`, which may be absent.
  void erase(int32_t id);

 private:
  struct Slot {
    int64_t time;
    int32_t id;
    bool before(const Slot& o) const { return time != o.time ? time < o.time : id < o.id; }
  };

  void place(std::size_t at, const Slot& slot);
  void sift_up(std::size_t at, Slot slot);
  void sift_down(std::size_t at, Slot slot);

  std::vector<Slot> slots_;
  std::vector<int32_t> position_;  // of each id in slots_, -1 if absent
};

}  // namespace mixnet::sim
