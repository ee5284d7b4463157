#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/rank_map.h"
#include "ep/transport.h"

namespace mixnet::ep {

class FabricLink;
class FabricNic;
struct FabricCompletion;
struct FabricConnectionEvent;

// The NICs of one rank, through libfabric: for every peer one connected endpoint (FI_EP_MSG) per
// NIC, rail r to rail r, remote writes with a 32-bit immediate as signals, and small messages on
// rail 0. Used by one thread at a time.
//
// Order: what is sent to one peer on one rail arrives in that order; bytes written before a signal
// can be read when the signal is seen. Messages and signals on rail 0 keep their order too.
//
// No call but connect() and wait() blocks. What a provider does not take at once waits in a FIFO
// per (peer, rail), which poll() pushes on: a rank has to keep polling for its own writes to leave
// and, with providers that work in software (tcp), for those of its peers to arrive. The FIFOs are
// as deep as the caller makes them; pending_writes() says how deep.
//
// Nothing fails visibly: what cannot be delivered is dropped, and closed() tells sooner or later. A
// peer whose process ended is noticed, one whose cable was cut is not.
class FabricRails {
 public:
  struct Options {
    RankMap ranks = RankMap({1});
    int rank = 0;
    // Per rail: a source address ("10.0.0.1"), an interface ("eth1") or a domain of libfabric
    // ("mlx5_0"). What is written on rail r leaves through it.
    std::vector<std::string> nics;
    std::string provider = "tcp";  // of libfabric; "verbs" for RDMA NICs
    // What peers write to. Has to outlive the object.
    Window window;
    uint64_t largest_message = 4096;
    // As if the provider asked for the sources of writes to be registered (FI_MR_LOCAL). Where it
    // does, sources within the window cost nothing, others are registered for every write.
    bool register_sources = false;
  };

  // Listens on every NIC.
  static Result<std::unique_ptr<FabricRails>> open(const Options& options);
  // Peers see their connections end. What is not flushed() is lost.
  ~FabricRails();
  FabricRails(const FabricRails&) = delete;
  FabricRails& operator=(const FabricRails&) = delete;
  FabricRails(FabricRails&&) = delete;
  FabricRails& operator=(FabricRails&&) = delete;

  // What peers need in order to connect: addresses, window, keys.
  std::vector<std::byte> contact() const;
  // Connects to all of `peers` at once, each of which has to call it too, meanwhile. `contacts` has
  // an entry per rank; only those of `peers` count. The error names whoever did not come; then the
  // connections that stand may be used, and another call goes on with the others. Peers that were
  // closed do not come back.
  Status connect(const std::vector<std::vector<std::byte>>& contacts, std::span<const int> peers,
                 Duration within);

  const RankMap& ranks() const { return options_.ranks; }
  int rank() const { return options_.rank; }
  int rails() const { return static_cast<int>(options_.nics.size()); }

  // The last write of a rail stays until the next signal there, poll(), wait() or drained(), so
  // that the signal travels with it. The source has to stay as it is until drained().
  void write(const RemoteWrite& write);
  void signal(int peer, int rail, uint32_t immediate);
  // At most largest_message bytes, on rail 0; lost once that rail is closed.
  void post(int peer, std::span<const std::byte> message);
  // Writes whose sources may still be read; a caller bounds its FIFOs by it.
  uint64_t pending_writes();
  uint64_t pending_writes(int rail);
  // True: there are none, every source may be overwritten.
  bool drained() { return pending_writes() == 0; }
  // True: signals and messages were handed over, too. On tcp that means to the kernel.
  bool flushed();

  Event poll();
  // Returns when poll() may have something, or after `longest`.
  void wait(Duration longest);
  // The same with a poll(2) of one's own: when arm() is true, wait_fd() becomes readable as soon as
  // poll() has something to do; otherwise poll() first. -1: there are no rails.
  bool arm();
  int wait_fd() const { return wait_fd_; }

  // Not connected any more, abandoned, or never connected. What arrived before is polled first.
  bool closed(int peer) const;
  bool rail_closed(int peer, int rail) const;
  // Ends all its connections; nothing more comes from it.
  void abandon(int peer);

  // Payload of writes handed over to a NIC.
  uint64_t sent_bytes(int rail) const;

 private:
  explicit FabricRails(const Options& options);

  FabricLink* link(int peer, int rail) const;
  void push(FabricLink& link, bool hold);
  void push_busy();
  void note_closing(FabricLink& link);

  void read_completions();
  bool read_completions(int rail);
  void complete(int rail, const FabricCompletion& completion);
  void close_links(int rail);

  // fabric_connect.cc
  Status add_links(const std::vector<std::byte>& contact, int peer);
  void read_events();
  void handle(int rail, const FabricConnectionEvent& event);
  void answer(int rail, const FabricConnectionEvent& event);
  void dial_due(std::span<const int> peers);
  std::string missing(std::span<const int> peers) const;
  void sleep(Duration longest) const;

  Options options_;
  uint64_t token_ = 0;
  int wait_fd_ = -1;
  std::vector<std::unique_ptr<FabricNic>> nics_;
  std::vector<std::unique_ptr<FabricLink>> links_;  // [peer * rails + rail], null: unknown
  std::vector<uint64_t> tokens_;                    // of the peers
  std::vector<FabricLink*> busy_;                   // something to hand over
  std::vector<FabricLink*> closing_;
  std::vector<Event> inbox_;
  std::size_t next_in_inbox_ = 0;
  int since_look_ = 0;
};

}  // namespace mixnet::ep
