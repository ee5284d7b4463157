#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/fabric_rails.h"
#include "ep/host_link.h"
#include "ep/pulse.h"
#include "ep/store.h"
#include "ep/transport.h"

namespace mixnet::ep {

struct ProcessOptions {
  HostLinkOptions link;
  // NICs of this rank, by rail: an address or the name of an interface. Needed with several hosts.
  std::vector<std::string> nics;
  std::string provider = "tcp";  // of libfabric
  Duration beat_interval = std::chrono::milliseconds(20);
};

// Ranks that are processes: shared memory inside a host, libfabric through the NICs, heartbeats by
// shared memory and by datagrams through every NIC.
//
// abandon() cannot take the memory away from a rank of the same host: one that was stopped and goes
// on later still writes what it was about to write. Callers do not use what it may write to again.
class ProcessTransport final : public Transport {
 public:
  // All ranks call it with the same store and prefix. Errors name who did not come before the
  // deadline of the link, and NICs that cannot be used.
  static Result<std::unique_ptr<ProcessTransport>> open(const ProcessOptions& options,
                                                        Store& store);

  const RankMap& ranks() const override { return ranks_; }
  int rank() const override { return rank_; }
  int rails() const override { return rails_ ? rails_->rails() : 0; }
  uint64_t largest_message() const override { return largest_message_; }

  Window window() override { return link_->window(); }
  Address mapped(int peer) override {
    return link_->reaches(peer) ? link_->mapped(peer) : Address{};
  }

  void post(int peer, std::span<const std::byte> message) override;
  void write(const RemoteWrite& write) override;
  void signal(int peer, int rail, uint32_t immediate) override;
  bool drained() override { return !rails_ || rails_->drained(); }

  Event poll() override;
  void wait(Instant until) override;
  Instant now() override;

  Health health(int peer) override;
  void abandon(int peer) override;

 private:
  ProcessTransport(const ProcessOptions& options, std::unique_ptr<HostLink> link,
                   std::unique_ptr<FabricRails> rails, std::unique_ptr<Pulse> pulse);

  RankMap ranks_;
  int rank_;
  uint64_t largest_message_;
  std::unique_ptr<HostLink> link_;
  std::unique_ptr<FabricRails> rails_;  // none: without NICs; writes to the link's window
  std::unique_ptr<Pulse> pulse_;        // uses the link
  bool rails_first_ = false;
};

}  // namespace mixnet::ep
