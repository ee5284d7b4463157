#include "ep/pulse.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>
#include <utility>

#include "core/check.h"
#include "ep/monotonic.h"
#include "net/stream_errors.h"

namespace mixnet::ep {
namespace {

// Datagrams taken at once, so that a flood does not keep the thread from beating.
constexpr int kMaxBeatsPerTurn = 4096;
// Asked of the system, which may give less: what a thousand peers send between two looks.
constexpr int kBeatBufferBytes = 1 << 20;

Instant::rep ticks_of(Instant instant) { return instant.time_since_epoch().count(); }
Instant instant_of(Instant::rep ticks) { return Instant(Duration(ticks)); }

bool has_ended(const net::UniqueFd& process) {
  pollfd one{process.get(), POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}

}  // namespace

Result<net::UniqueFd> open_beat_socket(const std::string& address) {
  const auto addresses = net::numeric_addresses({address, 0});
  if (addresses.empty()) {
    return Error{fmt::format("'{}' is no address of a NIC: write one such as 10.0.0.5", address),
                 {}};
  }
  const net::SocketAddress& local = addresses.front();
  net::UniqueFd opened(
      socket(local.storage.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!opened || bind(opened.get(), local.get(), local.size) != 0) {
    return Error{
        fmt::format("{}: no signs of life from this NIC: {}", address, net::errno_text(errno)), {}};
  }
  setsockopt(opened.get(), SOL_SOCKET, SO_RCVBUF, &kBeatBufferBytes, sizeof kBeatBufferBytes);
  return opened;
}

net::SocketAddress beat_address(const net::UniqueFd& socket) {
  net::SocketAddress bound;
  bound.size = sizeof bound.storage;
  CHECK(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size) == 0,
        "a bound socket has an address");
  return bound;
}

Result<net::UniqueFd> watch_process(int pid, const std::string& owner) {
  net::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) {
    const int code = errno;
    const std::string why = code == ESRCH    ? std::string("it is not running")
                            : code == ENOSYS ? std::string("this needs Linux 5.3 or newer")
                                             : net::errno_text(code);
    return Error{fmt::format("cannot watch process {} of {}: {}", pid, owner, why), {}};
  }
  return process;
}

Result<std::unique_ptr<Pulse>> Pulse::start(PulseOptions options) {
  CHECK(options.beats != nullptr, "a rank counts its beats");
  for (const PulsePeer& peer : options.peers) {
    CHECK(peer.rank >= 0 && peer.rank < options.ranks, "a peer is a rank");
  }
  net::UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop) {
    return Error{fmt::format("no descriptor for signs of life: {}", net::errno_text(errno)), {}};
  }
  std::unique_ptr<Pulse> pulse(new Pulse(std::move(options), std::move(stop)));
  // Signals are for the threads of the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status started;
  try {
    pulse->thread_ = std::thread([raw = pulse.get()] { raw->run(); });
  } catch (const std::system_error& failure) {
    started = Error{fmt::format("no thread for signs of life: {}", failure.what()), {}};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) {
    return started.error();
  }
  return pulse;
}

Pulse::Pulse(PulseOptions options, net::UniqueFd stop)
    : options_(std::move(options)),
      stop_(std::move(stop)),
      owner_(getpid()),
      book_(options_.ranks, options_.interval, monotonic_now()),
      known_(at(options_.ranks)),
      watched_(at(options_.ranks), false) {
  for (const PulsePeer& peer : options_.peers) {
    watched_[at(peer.rank)] = true;
  }
  publish();
}

Pulse::~Pulse() {
  if (!thread_.joinable()) {
    return;
  }
  if (getpid() != owner_) {
    thread_.detach();  // a copy made by fork(): the thread exists in the parent only
    return;
  }
  CHECK(eventfd_write(stop_.get(), 1) == 0, "a counter of one can be added to");
  thread_.join();
}

Health Pulse::health(int peer, Instant now) const {
  if (!watched_[at(peer)]) {
    return Health{false, now};
  }
  const Known& known = known_[at(peer)];
  const Instant heard = instant_of(known.heard.load(std::memory_order_acquire));
  const Instant looked = instant_of(looked_.load(std::memory_order_acquire));
  return Health{known.gone.load(std::memory_order_acquire),
                PulseBook::heard_as_of(now, heard, looked, options_.interval)};
}

void Pulse::run() {
  std::vector<pollfd> watched;
  while (true) {
    turn(monotonic_now());
    watched.assign(1, pollfd{stop_.get(), POLLIN, 0});
    for (const PulsePeer& peer : options_.peers) {
      if (peer.process && !book_.gone(peer.rank)) {
        watched.push_back(pollfd{peer.process.get(), POLLIN, 0});
      }
    }
    // Datagrams are read once per beat: being woken for each would cost more than it tells.
    const Duration left = std::max(book_.next_beat() - monotonic_now(), Duration::zero());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec timeout{static_cast<time_t>(seconds.count()),
                           static_cast<decltype(timespec::tv_nsec)>((left - seconds).count())};
    ppoll(watched.data(), watched.size(), &timeout, nullptr);
    if (watched.front().revents != 0) {
      return;
    }
  }
}

void Pulse::turn(Instant now) {
  if (book_.beat(now)) {
    ++counter_;
    options_.beats->store(counter_, std::memory_order_relaxed);
    send_beats();
  }
  for (const PulsePeer& peer : options_.peers) {
    if (peer.beats != nullptr) {
      book_.saw(peer.rank, peer.beats->load(std::memory_order_relaxed), now);
    }
  }
  receive_beats(now);
  book_.looked(now);
  publish();
  notice_ends();
}

// To every NIC of a peer from the NIC of the same index, so that one that is cut does not silence
// the others. Whatever cannot be sent is as good as lost.
void Pulse::send_beats() {
  if (options_.sockets.empty()) {
    return;
  }
  const auto bytes =
      encode_beat(Beat{static_cast<uint32_t>(options_.rank), options_.communicator, counter_});
  for (const PulsePeer& peer : options_.peers) {
    for (std::size_t nic = 0; nic < peer.addresses.size(); ++nic) {
      const net::SocketAddress& to = peer.addresses[nic];
      const net::UniqueFd& from = options_.sockets[nic % options_.sockets.size()];
      sendto(from.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT, to.get(),
             to.size);
    }
  }
}

void Pulse::receive_beats(Instant now) {
  std::array<std::byte, kBeatBytes + 1> datagram{};
  for (const net::UniqueFd& socket : options_.sockets) {
    for (int taken = 0; taken < kMaxBeatsPerTurn; ++taken) {
      const ssize_t size = recv(socket.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        break;
      }
      const auto length = static_cast<std::size_t>(std::max<ssize_t>(size, 0));
      const auto beat = decode_beat(std::span(datagram).first(length));
      if (beat && beat->communicator == options_.communicator &&
          beat->rank < static_cast<uint32_t>(options_.ranks)) {
        book_.saw(static_cast<int>(beat->rank), beat->counter, now);
      }
    }
  }
}

void Pulse::publish() {
  for (const PulsePeer& peer : options_.peers) {
    known_[at(peer.rank)].heard.store(ticks_of(book_.heard(peer.rank)), std::memory_order_release);
  }
  looked_.store(ticks_of(book_.last_look()), std::memory_order_release);
}

void Pulse::notice_ends() {
  bool news = false;
  for (const PulsePeer& peer : options_.peers) {
    if (peer.process && !book_.gone(peer.rank) && has_ended(peer.process)) {
      news = book_.ended(peer.rank) || news;
      known_[at(peer.rank)].gone.store(true, std::memory_order_release);
    }
  }
  if (news && options_.news) {
    options_.news();
  }
}

}  // namespace mixnet::ep
