#include "ep/fabric_rails.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "core/index.h"
#include "ep/fabric_contact.h"
#include "ep/fabric_link.h"
#include "ep/fabric_nic.h"

namespace mixnet::ep {
namespace {

constexpr std::size_t kCompletionBatch = 16;
// Looking after connections costs system calls: it is done once in 64 polls that found nothing, or
// in 1024 that did.
constexpr int kLookAt = 1024;
constexpr int kIdlePoll = kLookAt / 64;

// Differs between two runs of a rank at one address. Not a secret.
uint64_t fresh_token() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto process = static_cast<uint64_t>(getpid());
  return (static_cast<uint64_t>(now) ^ (process << 40U)) * 0x9e3779b97f4a7c15U;
}

Result<int> open_wait_fd(const std::vector<std::unique_ptr<FabricNic>>& nics) {
  const int all = epoll_create1(EPOLL_CLOEXEC);
  bool ok = all >= 0;
  for (const auto& nic : nics) {
    for (const int one : nic->wait_descriptors()) {
      epoll_event event{};
      event.events = EPOLLIN;
      ok = ok && epoll_ctl(all, EPOLL_CTL_ADD, one, &event) == 0;
    }
  }
  if (ok) {
    return all;
  }
  const Error error{fmt::format("waiting for network interfaces: {}", std::strerror(errno)), ""};
  if (all >= 0) {
    ::close(all);
  }
  return error;
}

}  // namespace

FabricRails::FabricRails(const Options& options) : options_(options), token_(fresh_token()) {
  const std::size_t ranks = at(options_.ranks.ranks());
  links_.resize(ranks * options_.nics.size());
  tokens_.resize(ranks);
}

FabricRails::~FabricRails() {
  links_.clear();
  if (wait_fd_ >= 0) {
    ::close(wait_fd_);
  }
}

Result<std::unique_ptr<FabricRails>> FabricRails::open(const Options& options) {
  CHECK(options.rank >= 0 && options.rank < options.ranks.ranks(), "a rank of the map");
  std::unique_ptr<FabricRails> rails(new FabricRails(options));
  for (const std::string& name : options.nics) {
    FabricNic::Options nic_options;
    nic_options.name = name;
    nic_options.provider = options.provider;
    nic_options.window = options.window;
    nic_options.peers = options.ranks.ranks() - 1;
    nic_options.register_sources = options.register_sources;
    auto nic = FabricNic::open(nic_options);
    if (!nic) {
      return nic.error();
    }
    rails->nics_.push_back(std::move(*nic));
  }
  if (!rails->nics_.empty()) {
    const auto wait_fd = open_wait_fd(rails->nics_);
    if (!wait_fd) {
      return wait_fd.error();
    }
    rails->wait_fd_ = *wait_fd;
  }
  return rails;
}

std::vector<std::byte> FabricRails::contact() const {
  RankContact contact;
  contact.rank = options_.rank;
  contact.token = token_;
  contact.window_bytes = options_.window.bytes;
  contact.address_format = nics_.empty() ? 0 : nics_.front()->address_format();
  for (const auto& nic : nics_) {
    contact.rails.push_back(nic->contact());
  }
  return encode(contact);
}

FabricLink* FabricRails::link(int peer, int rail) const {
  CHECK(peer >= 0 && peer < options_.ranks.ranks() && peer != options_.rank, "another rank");
  CHECK(rail >= 0 && rail < rails(), "a rail of this rank");
  return links_[at(peer) * nics_.size() + at(rail)].get();
}

// ---- sending ----

void FabricRails::push(FabricLink& link, bool hold) {
  const bool done = link.push(hold);
  note_closing(link);
  if (!done && !link.is_busy) {
    link.is_busy = true;
    busy_.push_back(&link);
  }
}

void FabricRails::push_busy() {
  std::erase_if(busy_, [this](FabricLink* link) {
    link->is_busy = !link->push(false);
    note_closing(*link);
    return !link->is_busy;
  });
}

void FabricRails::write(const RemoteWrite& write) {
  FabricLink* const to = link(write.peer, write.rail);
  if (to == nullptr || write.bytes == 0) {
    return;
  }
  CHECK(write.offset <= to->window_bytes() && write.bytes <= to->window_bytes() - write.offset,
        "writes stay inside the window of the peer");
  to->write(write);
  push(*to, true);
}

void FabricRails::signal(int peer, int rail, uint32_t immediate) {
  if (FabricLink* const to = link(peer, rail); to != nullptr) {
    to->signal(immediate);
    push(*to, false);
  }
}

void FabricRails::post(int peer, std::span<const std::byte> message) {
  if (FabricLink* const to = link(peer, 0); to != nullptr) {
    to->post(message);
    push(*to, false);
  }
}

uint64_t FabricRails::pending_writes() {
  push_busy();
  uint64_t pending = 0;
  for (const auto& nic : nics_) {
    pending += nic->tally().unfinished_writes;
  }
  return pending;
}

uint64_t FabricRails::pending_writes(int rail) {
  CHECK(rail >= 0 && rail < rails(), "a rail of this rank");
  push_busy();
  return nics_[at(rail)]->tally().unfinished_writes;
}

bool FabricRails::flushed() {
  push_busy();
  return std::all_of(nics_.begin(), nics_.end(),
                     [](const auto& nic) { return nic->tally().unfinished == 0; });
}

// ---- receiving ----

Event FabricRails::poll() {
  push_busy();
  if (next_in_inbox_ == inbox_.size()) {
    inbox_.clear();
    next_in_inbox_ = 0;
    read_completions();
    push_busy();
  }
  while (next_in_inbox_ < inbox_.size()) {
    Event& event = inbox_[next_in_inbox_++];
    const FabricLink* const from = link(event.peer, std::max(event.rail, 0));
    if (from->state() != FabricLink::State::kClosed) {
      return std::move(event);
    }
  }
  return Event{};
}

void FabricRails::read_completions() {
  bool any = false;
  for (int rail = 0; rail < rails(); ++rail) {
    any = read_completions(rail) || any;
  }
  since_look_ += any ? 1 : kIdlePoll;
  if (since_look_ >= kLookAt) {
    since_look_ = 0;
    read_events();
  }
}

bool FabricRails::read_completions(int rail) {
  std::array<FabricCompletion, kCompletionBatch> completions;
  const std::size_t count = nics_[at(rail)]->read(completions);
  for (std::size_t i = 0; i < count; ++i) {
    complete(rail, completions[i]);
  }
  if (count == 0 && !closing_.empty()) {
    close_links(rail);
  }
  return count > 0;
}

void FabricRails::complete(int rail, const FabricCompletion& completion) {
  if (completion.slot == nullptr) {
    const uint64_t peer = completion.data >> 32U;
    if (completion.failed || peer >= tokens_.size() || static_cast<int>(peer) == rank()) {
      return;
    }
    const FabricLink* const from = link(static_cast<int>(peer), rail);
    if (from != nullptr && from->alive()) {
      inbox_.push_back(from->signalled(completion.data));
    }
    return;
  }
  auto& slot = *static_cast<FabricSlot*>(completion.slot);
  if (slot.link == nullptr) {
    return;
  }
  FabricLink& owner = *slot.link;
  if (slot.use != FabricSlot::Use::kReceive) {
    owner.sent(slot, completion.failed);
  } else if (auto event = owner.received(slot, completion)) {
    inbox_.push_back(std::move(*event));
  }
  note_closing(owner);
}

void FabricRails::note_closing(FabricLink& link) {
  if (link.state() == FabricLink::State::kClosing && !link.is_closing) {
    link.is_closing = true;
    closing_.push_back(&link);
  }
}

// Nothing of a closing link is left to read on this rail.
void FabricRails::close_links(int rail) {
  std::erase_if(closing_, [rail](FabricLink* link) {
    if (link->rail() != rail) {
      return false;
    }
    link->close();
    return true;
  });
}

void FabricRails::wait(Duration longest) {
  push_busy();
  if (next_in_inbox_ == inbox_.size() && arm()) {
    sleep(longest);
  }
}

bool FabricRails::arm() {
  // Whatever wakes the caller, the next poll looks everywhere.
  since_look_ = kLookAt;
  if (next_in_inbox_ < inbox_.size() || !closing_.empty()) {
    return false;
  }
  return std::all_of(nics_.begin(), nics_.end(), [](const auto& nic) { return nic->may_sleep(); });
}

void FabricRails::sleep(Duration longest) const {
  // Refused for now although nothing is under way, by a provider that is out of memory.
  constexpr Duration kRetry = std::chrono::milliseconds(1);
  const Duration time = busy_.empty() ? longest : std::min(longest, kRetry);
  pollfd descriptor{wait_fd_, POLLIN, 0};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec limit{seconds.count(), (time - seconds).count()};
  static_cast<void>(ppoll(&descriptor, wait_fd_ >= 0 ? 1 : 0, &limit, nullptr));
}

// ---- peers ----

bool FabricRails::rail_closed(int peer, int rail) const {
  const FabricLink* const to = link(peer, rail);
  return to == nullptr || !to->alive();
}

bool FabricRails::closed(int peer) const {
  for (int rail = 0; rail < rails(); ++rail) {
    if (!rail_closed(peer, rail)) {
      return false;
    }
  }
  return true;
}

void FabricRails::abandon(int peer) {
  for (int rail = 0; rail < rails(); ++rail) {
    if (FabricLink* const to = link(peer, rail); to != nullptr) {
      to->close();
      std::erase(closing_, to);
    }
  }
}

uint64_t FabricRails::sent_bytes(int rail) const {
  CHECK(rail >= 0 && rail < rails(), "a rail of this rank");
  return nics_[at(rail)]->tally().sent_bytes;
}

}  // namespace mixnet::ep
