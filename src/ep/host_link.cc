#include "ep/host_link.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/index.h"
#include "ep/monotonic.h"

namespace mixnet::ep {
namespace {

// How soon a sender whose peer's ring was full looks again: readers do not ring back, since a ring
// is full only when its reader is busy or gone.
constexpr Duration kFullRingPause = std::chrono::microseconds(200);

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

std::vector<int> ranks_of_host(const RankMap& map, int rank) {
  const int host = map.host_of(rank);
  std::vector<int> ranks(at(map.size_of(host)));
  std::iota(ranks.begin(), ranks.end(), map.first_of(host));
  return ranks;
}

// The pipe of a peer's doorbell, as this process opens it.
Result<net::UniqueFd> open_pipe(const HostCard& card, const std::string& owner) {
  auto pipe = open_descriptor_of(card.memory.pid, card.pipe, owner);
  struct stat info {};
  if (pipe && (fstat(pipe->get(), &info) != 0 || !S_ISFIFO(info.st_mode))) {
    return Error{fmt::format("{} announced a doorbell that is none", owner), {}};
  }
  return pipe;
}

}  // namespace

Result<std::unique_ptr<HostLink>> HostLink::open(const HostLinkOptions& options, Store& store) {
  const Instant until = monotonic_now() + options.deadline;
  auto own = make_own(options);
  if (!own) {
    return own.error();
  }
  const HostCard card{own->memory.name(), own->doorbell.pipe(), options.ring_bytes};
  const auto cards = meet(options, card, store, until);
  if (!cards) {
    return cards.error();
  }
  std::unique_ptr<HostLink> link(new HostLink(options, *std::move(own)));
  const std::vector<int> ranks = ranks_of_host(options.ranks, options.rank);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Status added =
        ranks[i] == options.rank ? link->add_own_end() : link->add_end(ranks[i], (*cards)[i], card);
    if (!added) {
      return added.error();
    }
  }
  // Only now may anyone close what the others open by its process id.
  const std::string opened = options.prefix + "opened/";
  if (Status set = store.set(opened + std::to_string(options.rank), "", until); !set) {
    return set.error();
  }
  const auto all = get_of_ranks(store, opened, ranks, until);
  if (!all) {
    return all.error();
  }
  return link;
}

void HostLink::share_processors_with(int ranks) {
  doorbell_.set_policy(choose_wait_policy(ranks, usable_hardware_threads()));
}

Result<HostLink::Own> HostLink::make_own(const HostLinkOptions& options) {
  const int host_ranks = options.ranks.size_of(options.ranks.host_of(options.rank));
  auto memory = SharedWindow::create(host_control_bytes(host_ranks, options.ring_bytes),
                                     options.window_bytes);
  if (!memory) {
    return memory.error();
  }
  auto doorbell = Doorbell::create(host_control(*memory).doorbell,
                                   choose_wait_policy(host_ranks, usable_hardware_threads()));
  if (!doorbell) {
    return doorbell.error();
  }
  return Own{*std::move(memory), *std::move(doorbell)};
}

Result<std::vector<HostCard>> HostLink::meet(const HostLinkOptions& options, const HostCard& card,
                                             Store& store, Instant until) {
  const std::string prefix = options.prefix + "host/";
  if (Status set = store.set(prefix + std::to_string(options.rank), host_card_text(card), until);
      !set) {
    return set.error();
  }
  const std::vector<int> ranks = ranks_of_host(options.ranks, options.rank);
  const auto texts = get_of_ranks(store, prefix, ranks, until);
  if (!texts) {
    return texts.error();
  }
  std::vector<HostCard> cards;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    auto parsed = parse_host_card((*texts)[i], rank_text(ranks[i]));
    if (!parsed) {
      return parsed.error();
    }
    cards.push_back(*std::move(parsed));
  }
  return cards;
}

HostLink::HostLink(const HostLinkOptions& options, Own own)
    : map_(options.ranks),
      rank_(options.rank),
      first_(map_.first_of(map_.host_of(rank_))),
      ring_bytes_(options.ring_bytes),
      owner_(getpid()),
      own_(std::move(own.memory)),
      doorbell_(std::move(own.doorbell)),
      ready_([this] { return ready(); }) {}

HostLink::~HostLink() {
  if (getpid() != owner_ || ends_.size() != at(map_.size_of(map_.host_of(rank_)))) {
    return;  // a copy made by fork(), or never open
  }
  host_control(own_).left.store(1, std::memory_order_release);
  for (const End& one : ends_) {
    if (one.memory) {
      host_control(*one.memory).departures.fetch_add(1, std::memory_order_release);
      one.bell.ring();
    }
  }
}

Result<SharedWindow> HostLink::open_peer(const HostCard& card, const HostCard& own,
                                         const std::string& owner) {
  if (card.ring_bytes != own.ring_bytes || card.memory.window_bytes != own.memory.window_bytes ||
      card.memory.control_bytes != own.memory.control_bytes) {
    return Error{fmt::format("{} has a window of {} bytes and rings of {} bytes, this rank {} and "
                             "{}: give all ranks the same sizes, and the same list of hosts",
                             owner, card.memory.window_bytes, card.ring_bytes,
                             own.memory.window_bytes, own.ring_bytes),
                 {}};
  }
  return SharedWindow::open(card.memory, owner);
}

Status HostLink::add_end(int peer, const HostCard& card, const HostCard& own_card) {
  const std::string owner = rank_text(peer);
  // Before its memory, which then proves that the process id still means the same process.
  auto process = watch_process(card.memory.pid, owner);
  if (!process) {
    return process.error();
  }
  auto memory = open_peer(card, own_card, owner);
  if (!memory) {
    return memory.error();
  }
  auto pipe = open_pipe(card, owner);
  if (!pipe) {
    return pipe.error();
  }
  Bell bell(host_control(*memory).doorbell, *std::move(pipe));
  push_end(*std::move(memory), std::move(bell), *std::move(process));
  return {};
}

Status HostLink::add_own_end() {
  auto bell = doorbell_.own_bell();
  if (!bell) {
    return bell.error();
  }
  push_end(std::nullopt, *std::move(bell), {});
  return {};
}

// In order of rank.
void HostLink::push_end(std::optional<SharedWindow> memory, Bell bell, net::UniqueFd process) {
  const int peer_index = static_cast<int>(ends_.size());
  std::byte* out = host_ring(memory ? *memory : own_, rank_ - first_, ring_bytes_);
  std::byte* in = host_ring(own_, peer_index, ring_bytes_);
  ends_.push_back(End{std::move(memory), RingWriter(out, ring_bytes_), RingReader(in, ring_bytes_),
                      std::move(bell), std::move(process), false});
}

HostLink::End& HostLink::end(int peer) {
  CHECK(reaches(peer), "a rank of this host");
  return ends_[at(peer - first_)];
}

const HostLink::End& HostLink::end(int peer) const {
  CHECK(reaches(peer), "a rank of this host");
  return ends_[at(peer - first_)];
}

Address HostLink::mapped(int peer) const {
  const End& one = end(peer);
  return one.memory ? one.memory->window().base : own_.window().base;
}

void HostLink::post(int peer, std::span<const std::byte> message) {
  End& to = end(peer);
  if (!to.abandoned) {
    to.out.message(message);
    to.bell.ring();
  }
}

void HostLink::signal(int peer, uint32_t immediate) {
  End& to = end(peer);
  if (!to.abandoned) {
    to.out.signal(immediate);
    to.bell.ring();
  }
}

Event HostLink::poll() {
  flush();
  for (std::size_t tried = 0; tried < ends_.size(); ++tried) {
    const std::size_t index = next_;
    next_ = next_ + 1 == ends_.size() ? 0 : next_ + 1;
    End& from = ends_[index];
    if (!reading(from)) {
      continue;
    }
    RingRecord record = from.in.next();
    const int peer = first_ + static_cast<int>(index);
    switch (record.kind) {
      case RingRecord::Kind::kMessage:
        return Event{Event::Kind::kMessage, peer, kInsideHost, 0, std::move(record.message)};
      case RingRecord::Kind::kSignal:
        return Event{Event::Kind::kSignal, peer, kInsideHost, record.immediate, {}};
      case RingRecord::Kind::kNothing:
        break;
    }
  }
  return {};
}

void HostLink::wait(Instant until) {
  flush();
  doorbell_.wait(ready_, flush_by(until));
  forget_news();
}

void HostLink::wait(std::span<pollfd> more, Instant until) {
  flush();
  doorbell_.wait(ready_, more, flush_by(until));
  forget_news();
}

bool HostLink::lost(int peer) const {
  const End& one = end(peer);
  if (one.out.broken() || one.in.broken()) {
    return true;
  }
  // It set this after it sent its last, which is still to be read.
  return one.memory && host_control(*one.memory).left.load(std::memory_order_acquire) != 0 &&
         !reading(one);
}

void HostLink::notify() {
  news_.store(true, std::memory_order_release);
  ends_[at(rank_ - first_)].bell.ring();
}

std::vector<PulsePeer> HostLink::pulse_peers() {
  std::vector<PulsePeer> peers;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    End& one = ends_[i];
    if (one.memory) {
      peers.push_back(PulsePeer{first_ + static_cast<int>(i),
                                std::move(one.process),
                                &host_control(*one.memory).beats,
                                {}});
    }
  }
  return peers;
}

void HostLink::flush() {
  for (End& to : ends_) {
    if (to.abandoned) {
      continue;
    }
    if (to.out.queued() && to.out.flush()) {
      to.bell.ring();
    }
  }
}

bool HostLink::ready() const {
  return news_.load(std::memory_order_acquire) || departures() != departures_seen_ ||
         std::any_of(ends_.begin(), ends_.end(), [this](const End& one) { return reading(one); });
}

uint32_t HostLink::departures() const {
  return host_control(own_).departures.load(std::memory_order_acquire);
}

// Whatever the news were, the caller sees them from now on: both are read with what they announce.
void HostLink::forget_news() {
  news_.exchange(false, std::memory_order_acq_rel);
  departures_seen_ = departures();
}

// When a wait has to end although nothing came.
Instant HostLink::flush_by(Instant until) const {
  const bool queued = std::any_of(ends_.begin(), ends_.end(), [](const End& one) {
    return !one.abandoned && one.out.queued();
  });
  return queued ? std::min(until, monotonic_now() + kFullRingPause) : until;
}

}  // namespace mixnet::ep
