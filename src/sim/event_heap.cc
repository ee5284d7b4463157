#include "sim/event_heap.h"

#include "core/check.h"

namespace mixnet::sim {

void EventHeap::place(std::size_t at, const Slot& slot) {
  slots_[at] = slot;
  position_[static_cast<std::size_t>(slot.id)] = static_cast<int32_t>(at);
}

void EventHeap::sift_up(std::size_t at, Slot slot) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!slot.before(slots_[parent])) {
      break;
    }
    place(at, slots_[parent]);
    at = parent;
  }
  place(at, slot);
}

void EventHeap::sift_down(std::size_t at, Slot slot) {
  while (2 * at + 1 < slots_.size()) {
    std::size_t child = 2 * at + 1;
    if (child + 1 < slots_.size() && slots_[child + 1].before(slots_[child])) {
      ++child;
    }
    if (!slots_[child].before(slot)) {
      break;
    }
    place(at, slots_[child]);
    at = child;
  }
  place(at, slot);
}

void EventHeap::set(int32_t id, int64_t time) {
  CHECK(id >= 0, "ids are dense");
  if (static_cast<std::size_t>(id) >= position_.size()) {
    position_.resize(static_cast<std::size_t>(id) + 1, -1);
  }
  const Slot slot{time, id};
  const int32_t at = position_[static_cast<std::size_t>(id)];
  if (at < 0) {
    slots_.push_back(slot);
    sift_up(slots_.size() - 1, slot);
  } else if (slot.before(slots_[static_cast<std::size_t>(at)])) {
    sift_up(static_cast<std::size_t>(at), slot);
  } else {
    sift_down(static_cast<std::size_t>(at), slot);
  }
}

void EventHeap::erase(int32_t id) {
  if (static_cast<std::size_t>(id) >= position_.size()) {
    return;
  }
  const int32_t at = position_[static_cast<std::size_t>(id)];
  if (at < 0) {
    return;
  }
  position_[static_cast<std::size_t>(id)] = -1;
  const Slot last = slots_.back();
  slots_.pop_back();
  if (last.id == id) {
    return;
  }
  const auto hole = static_cast<std::size_t>(at);
  if (hole > 0 && last.before(slots_[(hole - 1) / 2])) {
    sift_up(hole, last);
  } else {
    sift_down(hole, last);
  }
}

}  // namespace mixnet::sim
