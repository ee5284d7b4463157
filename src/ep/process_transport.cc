#include "ep/process_transport.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "core/fnv.h"
#include "ep/message.h"
#include "ep/monotonic.h"
#include "ep/shared_window.h"
#include "net/address.h"

namespace mixnet::ep {
namespace {

// Of declarations: about eight bytes per rank and host.
constexpr uint64_t kLargestFabricMessage = 16 << 10;

// What a rank publishes for those of other hosts.
struct NicCard {
  std::vector<std::byte> contact;
  std::vector<std::string> beats;  // "address:port" by rail
  std::string machine;             // equal for ranks that share processors
};

std::string encode(const NicCard& card) {
  MessageWriter message;
  message.put_all(std::span<const std::byte>(card.contact));
  message.put(static_cast<uint32_t>(card.beats.size()));
  for (const std::string& beat : card.beats) {
    message.put_text(beat);
  }
  message.put_text(card.machine);
  const auto bytes = message.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<NicCard> decode(const std::string& text, int rank) {
  MessageReader reader(std::as_bytes(std::span<const char>(text)));
  NicCard card;
  card.contact = reader.get_all<std::byte>();
  const auto beats = reader.get<uint32_t>();
  for (uint32_t i = 0; i < beats && reader.ok(); ++i) {
    card.beats.push_back(reader.get_text());
  }
  card.machine = reader.get_text();
  if (!reader.finished()) {
    return Error{"rank " + std::to_string(rank) +
                     " published what cannot be read: run the same version everywhere",
                 {}};
  }
  return card;
}

// An address as it is, or the first IPv4 address of an interface.
Result<std::string> address_of(const std::string& nic) {
  in_addr v4{};
  in6_addr v6{};
  if (inet_pton(AF_INET, nic.c_str(), &v4) == 1 || inet_pton(AF_INET6, nic.c_str(), &v6) == 1) {
    return nic;
  }
  ifaddrs* all = nullptr;
  std::string found;
  if (getifaddrs(&all) == 0) {
    for (const ifaddrs* one = all; one != nullptr && found.empty(); one = one->ifa_next) {
      if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET && nic == one->ifa_name) {
        char text[INET_ADDRSTRLEN] = {};
        const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
        found = inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != nullptr ? text : "";
      }
    }
    freeifaddrs(all);
  }
  if (found.empty()) {
    return Error{"NIC '" + nic + "' is neither an address nor an interface with one: see `ip addr`",
                 {}};
  }
  return found;
}

std::vector<int> other_ranks(const RankMap& ranks, int self) {
  std::vector<int> others;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    if (rank != self) {
      others.push_back(rank);
    }
  }
  return others;
}

// Opens the NICs and gathers what all ranks publish of theirs.
class NicOpening {
 public:
  NicOpening(const ProcessOptions& options, Window window, Store& store, Instant until)
      : options_(options), window_(window), store_(store), until_(until) {}

  Status run();
  std::unique_ptr<FabricRails> take_rails() { return std::move(rails_); }
  std::vector<net::UniqueFd> take_sockets() { return std::move(sockets_); }
  // Where the heartbeats of ranks of other hosts come from.
  Result<std::vector<PulsePeer>> remote_peers() const;
  // Ranks on this machine, of whatever host they call themselves.
  int neighbours() const;

 private:
  Status open_nics();
  Status exchange();

  const ProcessOptions& options_;
  Window window_;
  Store& store_;
  Instant until_;
  std::unique_ptr<FabricRails> rails_;
  std::vector<net::UniqueFd> sockets_;
  NicCard own_;
  std::vector<NicCard> cards_;  // [rank]
};

Status NicOpening::open_nics() {
  FabricRails::Options fabric;
  fabric.ranks = options_.link.ranks;
  fabric.rank = options_.link.rank;
  fabric.nics = options_.nics;
  fabric.provider = options_.provider;
  fabric.window = window_;
  fabric.largest_message = kLargestFabricMessage;
  auto rails = FabricRails::open(fabric);
  if (!rails) {
    return rails.error();
  }
  rails_ = *std::move(rails);
  own_.contact = rails_->contact();
  own_.machine = boot_id();
  for (const std::string& nic : options_.nics) {
    const Result<std::string> address = address_of(nic);
    if (!address) {
      return address.error();
    }
    auto socket = open_beat_socket(*address);
    if (!socket) {
      return socket.error();
    }
    own_.beats.push_back(beat_address(*socket).host_port().text());
    sockets_.push_back(*std::move(socket));
  }
  return {};
}

Status NicOpening::exchange() {
  const int ranks = options_.link.ranks.ranks();
  const std::string prefix = options_.link.prefix + "nics/";
  const Status published =
      store_.set(prefix + std::to_string(options_.link.rank), encode(own_), until_);
  if (!published) {
    return published;
  }
  std::vector<int> all(at(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    all[at(rank)] = rank;
  }
  const auto texts = get_of_ranks(store_, prefix, all, until_);
  if (!texts) {
    return texts.error();
  }
  for (int rank = 0; rank < ranks; ++rank) {
    auto card = decode((*texts)[at(rank)], rank);
    if (!card) {
      return card.error();
    }
    cards_.push_back(*std::move(card));
  }
  return {};
}

Status NicOpening::run() {
  if (Status opened = open_nics(); !opened) {
    return opened;
  }
  if (Status exchanged = exchange(); !exchanged) {
    return exchanged;
  }
  std::vector<std::vector<std::byte>> contacts;
  for (const NicCard& card : cards_) {
    contacts.push_back(card.contact);
  }
  const std::vector<int> others = other_ranks(options_.link.ranks, options_.link.rank);
  return rails_->connect(contacts, others, until_ - monotonic_now());
}

Result<std::vector<PulsePeer>> NicOpening::remote_peers() const {
  std::vector<PulsePeer> peers;
  for (const int rank : other_ranks(options_.link.ranks, options_.link.rank)) {
    if (options_.link.ranks.same_host(rank, options_.link.rank)) {
      continue;
    }
    PulsePeer peer;
    peer.rank = rank;
    for (const std::string& beat : cards_[at(rank)].beats) {
      const auto host_port = net::parse_host_port(beat);
      if (!host_port) {
        return host_port.error();
      }
      for (const net::SocketAddress& address : net::numeric_addresses(*host_port)) {
        peer.addresses.push_back(address);
      }
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

int NicOpening::neighbours() const {
  return static_cast<int>(std::count_if(cards_.begin(), cards_.end(), [this](const NicCard& card) {
    return card.machine == own_.machine;
  }));
}

}  // namespace

Result<std::unique_ptr<ProcessTransport>> ProcessTransport::open(const ProcessOptions& options,
                                                                 Store& store) {
  const RankMap& ranks = options.link.ranks;
  if (ranks.hosts() > 1 && options.nics.empty()) {
    return Error{"there are " + std::to_string(ranks.hosts()) +
                     " hosts but no NICs: name at least one NIC of every rank",
                 {}};
  }
  const Instant until = monotonic_now() + options.link.deadline;
  auto link = HostLink::open(options.link, store);
  if (!link) {
    return link.error();
  }
  HostLink& shared = **link;
  PulseOptions watch;
  watch.rank = options.link.rank;
  watch.ranks = ranks.ranks();
  watch.interval = options.beat_interval;
  watch.communicator = fnv1a(options.link.prefix);
  watch.beats = shared.beats();
  watch.peers = shared.pulse_peers();
  watch.news = [&shared] { shared.notify(); };
  std::unique_ptr<FabricRails> rails;
  if (!options.nics.empty() && ranks.ranks() > 1) {
    NicOpening nics(options, shared.window(), store, until);
    if (Status opened = nics.run(); !opened) {
      return opened.error();
    }
    auto remote = nics.remote_peers();
    if (!remote) {
      return remote.error();
    }
    std::move(remote->begin(), remote->end(), std::back_inserter(watch.peers));
    watch.sockets = nics.take_sockets();
    rails = nics.take_rails();
    shared.share_processors_with(nics.neighbours());
  }
  auto pulse = Pulse::start(std::move(watch));
  if (!pulse) {
    return pulse.error();
  }
  return std::unique_ptr<ProcessTransport>(
      new ProcessTransport(options, *std::move(link), std::move(rails), *std::move(pulse)));
}

ProcessTransport::ProcessTransport(const ProcessOptions& options, std::unique_ptr<HostLink> link,
                                   std::unique_ptr<FabricRails> rails, std::unique_ptr<Pulse> pulse)
    : ranks_(options.link.ranks),
      rank_(options.link.rank),
      largest_message_(rails ? std::min(link->largest_message(), kLargestFabricMessage)
                             : link->largest_message()),
      link_(std::move(link)),
      rails_(std::move(rails)),
      pulse_(std::move(pulse)) {}

void ProcessTransport::post(int peer, std::span<const std::byte> message) {
  if (link_->reaches(peer)) {
    link_->post(peer, message);
  } else {
    rails_->post(peer, message);
  }
}

void ProcessTransport::write(const RemoteWrite& write) {
  CHECK(rails_ != nullptr, "a write leaves through a NIC");
  rails_->write(write);
}

void ProcessTransport::signal(int peer, int rail, uint32_t immediate) {
  if (rail == kInsideHost) {
    link_->signal(peer, immediate);
  } else {
    rails_->signal(peer, rail, immediate);
  }
}

// In turns, so that neither way starves.
Event ProcessTransport::poll() {
  if (!rails_) {
    return link_->poll();
  }
  rails_first_ = !rails_first_;
  Event event = rails_first_ ? rails_->poll() : link_->poll();
  if (event.kind == Event::Kind::kNothing) {
    event = rails_first_ ? link_->poll() : rails_->poll();
  }
  return event;
}

void ProcessTransport::wait(Instant until) {
  if (!rails_) {
    link_->wait(until);
    return;
  }
  if (rails_->arm()) {
    pollfd network{rails_->wait_fd(), POLLIN, 0};
    link_->wait(std::span<pollfd>(&network, 1), until);
  }
}

Instant ProcessTransport::now() { return monotonic_now(); }

Health ProcessTransport::health(int peer) {
  Health health = pulse_->health(peer, monotonic_now());
  const bool inside = link_->reaches(peer);
  health.gone = health.gone || (inside ? link_->lost(peer) : rails_->closed(peer));
  return health;
}

void ProcessTransport::abandon(int peer) {
  if (link_->reaches(peer)) {
    link_->abandon(peer);
  }
  if (rails_) {
    rails_->abandon(peer);
  }
}

}  // namespace mixnet::ep
