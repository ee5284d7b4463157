#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/host_link.h"
#include "ep/pulse.h"
#include "ep/store.h"
#include "ep/transport.h"

namespace mixnet::ep {

struct SharedOptions {
  HostLinkOptions link;
  Duration beat_interval = std::chrono::milliseconds(20);
};

// The ranks of one host, through shared memory: no NICs, the window of every peer is mapped.
//
// abandon() cannot take the memory away from a peer: one that was stopped (SIGSTOP) and goes on
// later still writes what it was about to write into the window of this rank, without a signal that
// anyone sees. Callers do not use the parts of the window that an abandoned peer may write to
// again.
class SharedTransport final : public Transport {
 public:
  // Meets the others through `store`, see HostLink::open(). All ranks are on one host.
  static Result<std::unique_ptr<SharedTransport>> open(const SharedOptions& options, Store& store);

  const RankMap& ranks() const override { return ranks_; }
  int rank() const override { return rank_; }
  int rails() const override { return 0; }
  uint64_t largest_message() const override { return link_->largest_message(); }

  Window window() override { return link_->window(); }
  Address mapped(int peer) override { return link_->mapped(peer); }

  void post(int peer, std::span<const std::byte> message) override { link_->post(peer, message); }
  void write(const RemoteWrite& write) override;
  void signal(int peer, int rail, uint32_t immediate) override;
  bool drained() override { return true; }

  Event poll() override { return link_->poll(); }
  void wait(Instant until) override { link_->wait(until); }
  Instant now() override;

  Health health(int peer) override;
  void abandon(int peer) override { link_->abandon(peer); }

 private:
  SharedTransport(const SharedOptions& options, std::unique_ptr<HostLink> link,
                  std::unique_ptr<Pulse> pulse);

  RankMap ranks_;
  int rank_;
  std::unique_ptr<HostLink> link_;
  std::unique_ptr<Pulse> pulse_;  // uses the link
};

}  // namespace mixnet::ep
