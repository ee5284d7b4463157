#include "daemon/topology_writer.h"

#include <utility>

namespace mixnet::daemon {

TopologyWriter* TopologyWriter::start(TopologyFeed& feed) {
  std::shared_ptr<TopologyWriter> writer(new TopologyWriter(feed));
  TopologyWriter* reactor = writer.get();
  reactor->self_ = writer;
  feed.add(std::move(writer));
  return reactor;
}

void TopologyWriter::on_topology(TopologyFeed::Snapshot snapshot) {
  const region::v1::Topology* message = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) {
      return;
    }
    // Two publications may arrive in the wrong order.
    const bool is_older = (next_ != nullptr && next_->version() > snapshot->version()) ||
                          (writing_ != nullptr && writing_->version() > snapshot->version());
    if (is_older) {
      return;
    }
    if (busy_) {
      next_ = std::move(snapshot);
      return;
    }
    busy_ = true;
    writing_ = std::move(snapshot);
    message = writing_.get();
  }
  StartWrite(message);
}

void TopologyWriter::OnWriteDone(bool ok) {
  const region::v1::Topology* message = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (ok && !ending_) {
      if (next_ == nullptr) {
        busy_ = false;
        return;
      }
      writing_ = std::exchange(next_, nullptr);
      message = writing_.get();
    } else if (!ending_) {
      ending_ = true;
      end_status_ = grpc::Status::CANCELLED;
    }
  }
  if (message != nullptr) {
    StartWrite(message);
  } else {
    Finish(end_status_);
  }
}

void TopologyWriter::end(const grpc::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) {
      return;
    }
    ending_ = true;
    end_status_ = status;
    if (busy_) {
      return;
    }
    busy_ = true;
  }
  Finish(end_status_);
}

void TopologyWriter::on_end() {
  end(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon is stopping"));
}

void TopologyWriter::OnCancel() { end(grpc::Status::CANCELLED); }

void TopologyWriter::OnDone() {
  feed_.remove(this);
  self_.reset();
}

}  // namespace mixnet::daemon
