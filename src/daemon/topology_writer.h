#pragma once

#include <region.grpc.pb.h>

#include <memory>
#include <mutex>

#include "daemon/topology_feed.h"

namespace mixnet::daemon {

// One reader of WatchTopology. While a message is being written the newest one waits and replaces
// the one that waited before: a slow reader costs two messages, whatever happens meanwhile.
class TopologyWriter final : public grpc::ServerWriteReactor<region::v1::Topology>,
                             public TopologyFeed::Watcher {
 public:
  // Owned by itself until gRPC is done with it.
  static TopologyWriter* start(TopologyFeed& feed);

  void on_topology(TopologyFeed::Snapshot snapshot) override;
  void on_end() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit TopologyWriter(TopologyFeed& feed) : feed_(feed) {}
  void end(const grpc::Status& status);

  TopologyFeed& feed_;
  std::shared_ptr<TopologyWriter> self_;

  // Guards the rest. gRPC is called without it: it may call back at once. A write or Finish() is
  // under way exactly when `busy_`, so that neither is ever started twice or after the other.
  std::mutex mutex_;
  bool busy_ = false;
  bool ending_ = false;
  grpc::Status end_status_;
  TopologyFeed::Snapshot writing_;
  TopologyFeed::Snapshot next_;
};

}  // namespace mixnet::daemon
