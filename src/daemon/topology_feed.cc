#include "daemon/topology_feed.h"

#include <algorithm>
#include <utility>

namespace mixnet::daemon {

TopologyFeed::Snapshot TopologyFeed::latest() const {
  const std::lock_guard lock(mutex_);
  return latest_;
}

void TopologyFeed::publish(region::v1::Topology topology) {
  auto snapshot = std::make_shared<const region::v1::Topology>(std::move(topology));
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    const std::lock_guard lock(mutex_);
    latest_ = snapshot;
    watchers = watchers_;
  }
  for (const auto& watcher : watchers) {
    watcher->on_topology(snapshot);
  }
}

void TopologyFeed::add(std::shared_ptr<Watcher> watcher) {
  Snapshot snapshot;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      watchers_.push_back(watcher);
      snapshot = latest_;
    }
  }
  if (snapshot != nullptr) {
    watcher->on_topology(std::move(snapshot));
  } else {
    watcher->on_end();
  }
}

void TopologyFeed::remove(const Watcher* watcher) {
  const std::lock_guard lock(mutex_);
  const auto is_it = [&](const auto& other) { return other.get() == watcher; };
  watchers_.erase(std::remove_if(watchers_.begin(), watchers_.end(), is_it), watchers_.end());
}

void TopologyFeed::end() {
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    watchers.swap(watchers_);
  }
  for (const auto& watcher : watchers) {
    watcher->on_end();
  }
}

}  // namespace mixnet::daemon
