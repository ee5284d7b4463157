#pragma once

#include <region.pb.h>

#include <memory>
#include <mutex>
#include <vector>

namespace mixnet::daemon {

// The newest topology, and who is to hear of the next one. Any thread.
class TopologyFeed {
 public:
  using Snapshot = std::shared_ptr<const region::v1::Topology>;

  // Called without a lock held, possibly by two threads at once; may add and remove watchers.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void on_topology(Snapshot snapshot) = 0;
    virtual void on_end() = 0;  // nothing follows
  };

  // Before the first one: an empty topology of version 0.
  Snapshot latest() const;
  void publish(region::v1::Topology topology);
  // Calls on_topology() at once with the newest; after end(), only on_end().
  void add(std::shared_ptr<Watcher> watcher);
  void remove(const Watcher* watcher);
  void end();

 private:
  mutable std::mutex mutex_;  // guards everything below
  Snapshot latest_ = std::make_shared<const region::v1::Topology>();
  std::vector<std::shared_ptr<Watcher>> watchers_;
  bool ended_ = false;
};

}  // namespace mixnet::daemon
