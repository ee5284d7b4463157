#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/doorbell.h"
#include "ep/host_card.h"
#include "ep/pulse.h"
#include "ep/rank_map.h"
#include "ep/shared_ring.h"
#include "ep/shared_window.h"
#include "ep/store.h"
#include "ep/transport.h"

namespace mixnet::ep {

struct HostLinkOptions {
  RankMap ranks = RankMap({1});
  int rank = 0;
  uint64_t window_bytes = uint64_t{16} << 30;  // of addresses: memory is used once it is touched
  uint64_t ring_bytes = uint64_t{256} << 10;   // per ordered pair of ranks; a multiple of 64
  Duration deadline = std::chrono::seconds(60);
  std::string prefix = "mixnet/";  // of its keys in the store, one per communicator
};

// What one rank shares with the other ranks of its host: windows, messages and signals in order,
// and how to wake each other. One half of a transport; the other half is whatever reaches the ranks
// of other hosts. For one thread at a time, but for notify(). Ranks are those of the communicator.
class HostLink {
 public:
  // Meets the other ranks of the host through `store`, which is not needed afterwards; all of them
  // return once everyone has opened the memory of everyone. Errors name the ranks that did not come
  // or cannot be reached.
  static Result<std::unique_ptr<HostLink>> open(const HostLinkOptions& options, Store& store);
  // Tells the others that it left.
  ~HostLink();
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;
  HostLink(HostLink&&) = delete;
  HostLink& operator=(HostLink&&) = delete;

  Window window() const { return own_.window(); }
  bool reaches(int peer) const { return map_.same_host(peer, rank_); }
  Address mapped(int peer) const;
  uint64_t largest_message() const { return largest_ring_message(ring_bytes_); }

  // To ranks that it reaches, this one included. Nothing blocks.
  void post(int peer, std::span<const std::byte> message);
  void signal(int peer, uint32_t immediate);
  // The next event, each peer in turn.
  Event poll();
  // Returns when there may be an event, after notify(), or at `until`.
  void wait(Instant until);
  // The same, also when one of `more` is ready: their `revents` are set, or zero.
  void wait(std::span<pollfd> more, Instant until);

  // Its process may live, but it closed its link, spoilt what is shared, or stopped reading.
  bool lost(int peer) const;
  void abandon(int peer) { end(peer).abandoned = true; }

  // `ranks` of this machine: more than those of the host when it plays several.
  void share_processors_with(int ranks);
  // From any thread of this process: wakes wait(), or ends the next one at once.
  void notify();
  // Where this rank counts its signs of life, and by what those of the others are watched; the link
  // outlives the Pulse that uses them. To be called once.
  std::atomic<uint64_t>* beats() { return &host_control(own_).beats; }
  std::vector<PulsePeer> pulse_peers();

 private:
  // This rank's end towards one rank of the host.
  struct End {
    std::optional<SharedWindow> memory;  // of the peer; none: of this rank itself
    RingWriter out;                      // in the memory of the peer
    RingReader in;                       // in the memory of this rank
    Bell bell;
    net::UniqueFd process;
    bool abandoned = false;
  };
  // What this rank offers to the others.
  struct Own {
    SharedWindow memory;
    Doorbell doorbell;
  };

  HostLink(const HostLinkOptions& options, Own own);
  static Result<Own> make_own(const HostLinkOptions& options);
  static Result<std::vector<HostCard>> meet(const HostLinkOptions& options, const HostCard& card,
                                            Store& store, Instant until);
  static Result<SharedWindow> open_peer(const HostCard& card, const HostCard& own,
                                        const std::string& owner);
  Status add_end(int peer, const HostCard& card, const HostCard& own_card);
  Status add_own_end();
  void push_end(std::optional<SharedWindow> memory, Bell bell, net::UniqueFd process);

  End& end(int peer);
  const End& end(int peer) const;
  bool reading(const End& one) const { return !one.abandoned && one.in.ready(); }
  void flush();
  bool ready() const;
  uint32_t departures() const;
  void forget_news();
  Instant flush_by(Instant until) const;

  RankMap map_;
  int rank_;
  int first_;  // rank of the host
  uint64_t ring_bytes_;
  int owner_;  // process id: a fork leaves nothing
  SharedWindow own_;
  Doorbell doorbell_;
  std::vector<End> ends_;  // by index in the host
  std::size_t next_ = 0;   // whose turn it is in poll()
  std::atomic<bool> news_{false};
  uint32_t departures_seen_ = 0;
  Doorbell::Ready ready_;
};

}  // namespace mixnet::ep
