#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/instant.h"
#include "ep/address.h"
#include "ep/rank_map.h"

namespace mixnet::ep {

// Memory of one rank that its peers may write to.
struct Window {
  Address base;
  uint64_t bytes = 0;
};

// The rail of what travels inside a host; NICs are rails 0, 1, ...
inline constexpr int kInsideHost = -1;

// What comes in from a peer.
struct Event {
  enum class Kind : uint8_t { kNothing, kMessage, kSignal };
  Kind kind = Kind::kNothing;
  int peer = 0;
  int rail = kInsideHost;          // kSignal
  uint32_t immediate = 0;          // kSignal
  std::vector<std::byte> message;  // kMessage
};

// `from` (this rank's) to `offset` in the window of `peer`, leaving through NIC `rail`.
struct RemoteWrite {
  int peer = 0;
  int rail = 0;
  ConstAddress from;
  uint64_t bytes = 0;
  uint64_t offset = 0;
};

// What is known of a peer without asking it.
struct Health {
  bool gone = false;  // its process ended, or its last connection broke
  Instant heard;      // its latest sign of life; at the start, the start
};

// The one seam between the collectives and whatever carries bytes: one object per rank, used by one
// thread at a time. Two ways lead to a peer:
//   * its window is mapped (ranks of one host): the caller copies into and out of it itself and
//     then calls signal(peer, kInsideHost, ...);
//   * write() through a NIC, followed by signal() on the same rail.
//
// Order: what is sent to one peer on one rail arrives in that order, so that bytes written before a
// signal can be read when the signal is seen. Messages to one peer keep their order among
// themselves and with signals on kInsideHost. Nothing else is ordered.
//
// No call but wait() blocks. Nothing fails visibly: what cannot be delivered is dropped, and the
// peer's Health says so sooner or later.
class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  Transport(Transport&&) = delete;
  Transport& operator=(Transport&&) = delete;

  virtual const RankMap& ranks() const = 0;
  virtual int rank() const = 0;
  // NICs of this rank; with 0 there is one host only.
  virtual int rails() const = 0;
  virtual uint64_t largest_message() const = 0;

  virtual Window window() = 0;
  // The window of a rank of this host (this rank too), otherwise null.
  virtual Address mapped(int peer) = 0;

  virtual void post(int peer, std::span<const std::byte> message) = 0;
  virtual void write(const RemoteWrite& write) = 0;
  virtual void signal(int peer, int rail, uint32_t immediate) = 0;
  // True: every write() so far has left its source, which may be overwritten.
  virtual bool drained() = 0;

  // The next event; Kind::kNothing when there is none now.
  virtual Event poll() = 0;
  // Returns when there may be an event or news of a peer, when writes drained, or at `until`.
  virtual void wait(Instant until) = 0;
  virtual Instant now() = 0;

  virtual Health health(int peer) = 0;
  // Nothing that `peer` sends from now on is wanted, nothing more is sent to it.
  virtual void abandon(int peer) = 0;
};

}  // namespace mixnet::ep
