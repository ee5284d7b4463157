#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/random.h"
#include "net/loop.h"
#include "net/stream.h"

// A network inside one process, under any Loop, that fails on demand. With a SimulatedLoop equal
// calls and seeds give equal runs.
namespace mixnet::net {

enum class Direction { kToListener, kToDialer };

// What goes wrong with a connection once so many bytes were delivered in one direction.
struct StreamFault {
  enum class Kind {
    kReset,   // both ends are closed, "connection reset"; bytes on the way are lost
    kFin,     // the receiver is closed as by its peer, which is closed with "connection reset"
    kVanish,  // half-open: from now on all bytes and closes are lost, both ways; no end is told
    kStall,   // bytes of this direction wait for `stall`
  };
  Kind kind = Kind::kReset;
  Direction direction = Direction::kToDialer;
  uint64_t after_bytes = 0;  // 0: as soon as the connection is open
  Duration stall{0};
};

// What becomes of one connection.
struct ConnectionPlan {
  enum class Connect { kAccept, kRefuse, kSilence };
  Connect connect = Connect::kAccept;
  std::vector<StreamFault> faults;
};

struct MemoryNetworkOptions {
  // One way; uniform between the two. Order is kept.
  Duration least_latency{0};
  Duration most_latency{0};
  // Bytes arrive in pieces of 1 to so many bytes; 0: as they were sent.
  std::size_t max_piece = 0;
  uint64_t seed = 1;
};

// Outlives its streams and dialers.
class MemoryNetwork {
 public:
  MemoryNetwork(Loop& loop, MemoryNetworkOptions options);
  ~MemoryNetwork();
  MemoryNetwork(const MemoryNetwork&) = delete;
  MemoryNetwork& operator=(const MemoryNetwork&) = delete;
  MemoryNetwork(MemoryNetwork&&) = delete;
  MemoryNetwork& operator=(MemoryNetwork&&) = delete;

  // `acceptor` gets whoever dials `address`, until it is taken away with unlisten().
  void listen(const std::string& address, StreamAcceptor& acceptor);
  void unlisten(const std::string& address);
  std::unique_ptr<Dialer> dialer(const std::string& address);

  // For the next connection that is dialled, after those that were planned before. A connection
  // that nothing was planned for gets the default: no fault, unless said otherwise.
  void plan_next(ConnectionPlan plan);
  void set_default(ConnectionPlan plan);
  // Now, to every open connection; the counts of bytes do not matter.
  void strike(const StreamFault& fault);

  std::size_t dialled() const { return dialled_; }

 private:
  class Connection;
  class Handle;
  class MemoryDialer;

  std::unique_ptr<Stream> dial(const std::string& address, StreamEvents& events, Duration deadline);
  Duration latency();
  std::size_t piece(std::size_t bytes);

  Loop& loop_;
  MemoryNetworkOptions options_;
  RandomStream random_;
  std::map<std::string, StreamAcceptor*> listeners_;
  std::deque<ConnectionPlan> plans_;
  ConnectionPlan default_;
  std::vector<std::weak_ptr<Connection>> connections_;
  std::size_t dialled_ = 0;
};

}  // namespace mixnet::net
