#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/pulse_book.h"
#include "ep/transport.h"
#include "net/address.h"
#include "net/unique_fd.h"

namespace mixnet::ep {

// A peer to be watched: one of this host by its process and its counter, one of another host by its
// datagrams.
struct PulsePeer {
  int rank = 0;
  net::UniqueFd process;                         // a pidfd; none: on another host
  const std::atomic<uint64_t>* beats = nullptr;  // where it counts; null: on another host
  std::vector<net::SocketAddress> addresses;     // where it listens for datagrams, by NIC
};

struct PulseOptions {
  int rank = 0;
  int ranks = 1;
  Duration interval = std::chrono::milliseconds(20);
  uint64_t communicator = 0;               // datagrams of others are ignored
  std::atomic<uint64_t>* beats = nullptr;  // where this rank counts, outlives the pulse
  std::vector<net::UniqueFd> sockets;      // of open_beat_socket(), by NIC
  std::vector<PulsePeer> peers;            // what they point to outlives the pulse
  std::function<void()> news;              // called by the thread when a peer went
};

// A datagram socket bound to `address` (of a NIC) and a port that is free.
Result<net::UniqueFd> open_beat_socket(const std::string& address);
// Where it is bound.
net::SocketAddress beat_address(const net::UniqueFd& socket);
// A descriptor that becomes readable when the process ends. Errors name `owner`.
Result<net::UniqueFd> watch_process(int pid, const std::string& owner);

// The sign of life of this rank, and what it knows of that of others: a thread of its own, so that
// a rank that computes for minutes is still heard of, and one whose process was stopped (SIGSTOP)
// is not. The end of a process of the host is known within a millisecond; silence is for the caller
// to judge. The thread does not keep the process from ending.
class Pulse {
 public:
  static Result<std::unique_ptr<Pulse>> start(PulseOptions options);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;
  Pulse(Pulse&&) = delete;
  Pulse& operator=(Pulse&&) = delete;

  // From any thread. A rank that is not watched has just been heard of.
  Health health(int peer, Instant now) const;

 private:
  struct Known {
    std::atomic<bool> gone{false};
    std::atomic<Instant::rep> heard{0};
  };

  Pulse(PulseOptions options, net::UniqueFd stop);
  void run();
  void turn(Instant now);
  void send_beats();
  void receive_beats(Instant now);
  void publish();
  void notice_ends();

  PulseOptions options_;
  net::UniqueFd stop_;  // an eventfd: readable when the thread is to end
  int owner_;           // process id: a fork has no such thread
  PulseBook book_;      // of the thread alone
  uint64_t counter_ = 0;
  std::vector<Known> known_;
  std::vector<bool> watched_;
  std::atomic<Instant::rep> looked_{0};
  std::thread thread_;
};

}  // namespace mixnet::ep
