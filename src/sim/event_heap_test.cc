#include "sim/event_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "core/random.h"

namespace mixnet::sim {
namespace {

TEST(EventHeap, AgreesWithAnOrderedSet) {
  RandomStream random(1, "event-heap-test");
  EventHeap heap;
  std::map<int32_t, int64_t> time_of;
  std::set<std::pair<int64_t, int32_t>> ordered;
  for (int step = 0; step < 5'000; ++step) {
    const auto id = static_cast<int32_t>(random.below(60));
    if (const auto old = time_of.find(id); old != time_of.end()) {
      ordered.erase({old->second, id});
      time_of.erase(old);
    }
    if (random.below(3) == 0) {
      heap.erase(id);
    } else {
      const auto time = static_cast<int64_t>(random.below(100));
      heap.set(id, time);
      time_of[id] = time;
      ordered.insert({time, id});
    }
    ASSERT_EQ(heap.empty(), ordered.empty());
    if (!ordered.empty()) {
      ASSERT_EQ(heap.top_time(), ordered.begin()->first);
      ASSERT_EQ(heap.top_id(), ordered.begin()->second);
    }
  }
}

}  // namespace
}  // namespace mixnet::sim
