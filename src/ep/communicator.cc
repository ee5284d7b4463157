#include "ep/communicator.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "ep/environment.h"
#include "ep/host_list.h"
#include "ep/monotonic.h"
#include "ep/process_transport.h"
#include "ep/renumbered_transport.h"
#include "ep/tcp_store.h"
#include "net/address.h"
#include "net/unique_fd.h"

namespace mixnet::ep {
namespace {

std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  std::size_t first = 0;
  while (first <= list.size()) {
    const std::size_t end = std::min(list.find(',', first), list.size());
    if (end > first) {
      names.push_back(list.substr(first, end - first));
    }
    first = end + 1;
  }
  return names;
}

// The address that this machine has towards `server`; nothing is sent.
Result<std::string> address_towards(const net::HostPort& server) {
  const auto addresses = net::resolve_now(server);
  if (!addresses) {
    return addresses.error();
  }
  for (net::SocketAddress address : *addresses) {
    const net::UniqueFd probe(socket(address.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (probe && connect(probe.get(), address.get(), address.size) == 0 &&
        getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size) ==
            0) {
      return address.host_port().host;
    }
  }
  return Error{"no interface leads to " + server.text() + ": set MIXNET_NICS to the NICs to use",
               {}};
}

Result<std::vector<std::string>> nics_of(const CommunicatorOptions& options, const RankMap& ranks,
                                         const net::HostPort& server) {
  if (!options.nics.empty()) {
    return options.nics;
  }
  const auto named = process_environment()("MIXNET_NICS");
  if (named && !named->empty()) {
    return split_names(*named);
  }
  if (ranks.hosts() == 1) {
    return std::vector<std::string>{};
  }
  const Result<std::string> address = address_towards(server);
  if (!address) {
    return address.error();
  }
  return std::vector<std::string>{*address};
}

void carry_over(std::vector<Event>& from, const RenumberedTransport& survivors,
                std::vector<Event>& to) {
  for (Event& event : from) {
    event.peer = survivors.number_of(event.peer);
    if (event.peer >= 0) {
      to.push_back(std::move(event));
    }
  }
  from.clear();
}

// With what came in already from survivors that are ahead.
void carry_over(Endpoint& from, const RenumberedTransport& survivors, Endpoint& to) {
  to.memory = from.memory;
  to.attempts = from.attempts;
  to.foreign = from.attempts;
  to.sends = from.sends;
  carry_over(from.early, survivors, to.early);
  carry_over(from.direct, survivors, to.direct);
  for (const int rank : from.excluded.ranks()) {
    if (survivors.number_of(rank) >= 0) {
      to.excluded.add(survivors.number_of(rank));
    }
  }
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::from_environment(
    const CommunicatorOptions& options) {
  const auto member = read_membership(process_environment(), machine_name());
  if (!member) {
    return member.error();
  }
  std::unique_ptr<TcpStoreServer> server;
  if (member->rank == 0 && member->ranks > 1) {
    auto started = TcpStoreServer::start(member->store);
    if (!started) {
      return started.error();
    }
    server = *std::move(started);
  }
  const Instant until = monotonic_now() + options.opening;
  MemoryStore alone;
  TcpStore shared(member->store);
  Store& store = member->ranks > 1 ? static_cast<Store&>(shared) : alone;
  const auto ranks = agree_on_hosts(store, options.name + "/hosts/", *member, until);
  if (!ranks) {
    return ranks.error();
  }
  CommunicatorOptions complete = options;
  auto nics = nics_of(options, *ranks, member->store);
  if (!nics) {
    return nics.error();
  }
  complete.nics = *std::move(nics);
  auto communicator = open(*ranks, member->rank, store, complete);
  if (communicator) {
    const Status met = meet_last(store, options.name + "/met/", member->rank, member->ranks, until);
    if (!met) {
      return met.error();
    }
  }
  return communicator;
}

Result<std::unique_ptr<Communicator>> Communicator::open(const RankMap& ranks, int rank,
                                                         Store& store,
                                                         const CommunicatorOptions& options) {
  ProcessOptions process;
  process.link.ranks = ranks;
  process.link.rank = rank;
  process.link.window_bytes = options.window_bytes;
  process.link.deadline = options.opening;
  process.link.prefix = options.name + "/";
  process.nics = options.nics;
  process.provider = options.provider;
  auto transport = ProcessTransport::open(process, store);
  if (!transport) {
    return transport.error();
  }
  return std::make_unique<Communicator>(*std::move(transport), options.patience);
}

Communicator::Communicator(std::shared_ptr<Transport> transport, const Patience& patience)
    : transport_(std::move(transport)), state_(*transport_, copies_, patience) {}

Result<WindowBuffer> Communicator::allocate(uint64_t bytes) {
  const std::optional<uint64_t> offset = state_.endpoint.memory->allocate(bytes);
  if (!offset) {
    return Error{
        "the window has no room for " + std::to_string(bytes) +
            " bytes: open the communicator with a larger one, or give results back earlier",
        {}};
  }
  return WindowBuffer{WindowBlock(state_.endpoint.memory, *offset),
                      transport_->window().base + *offset};
}

Result<Dispatched> Communicator::dispatch(const DispatchInput& input,
                                          const DispatchOptions& options) {
  return worker_.run([&] { return ep::dispatch(state_, input, options); });
}

Result<Dispatched> Communicator::dispatch_again(const DispatchInput& input,
                                                std::shared_ptr<const DispatchHandle> handle) {
  return worker_.run([&] { return ep::dispatch_again(state_, input, handle); });
}

Result<Combined> Communicator::combine(const CombineInput& input,
                                       std::shared_ptr<const DispatchHandle> handle, Address out) {
  return worker_.run([&] { return ep::combine(state_, input, handle, out); });
}

std::future<Result<Dispatched>> Communicator::start_dispatch(const DispatchInput& input,
                                                             const DispatchOptions& options) {
  return worker_.start([this, input, options] { return ep::dispatch(state_, input, options); });
}

std::future<Result<Combined>> Communicator::start_combine(
    const CombineInput& input, std::shared_ptr<const DispatchHandle> handle, Address out) {
  return worker_.start([this, input, handle = std::move(handle), out] {
    return ep::combine(state_, input, handle, out);
  });
}

Result<Received> Communicator::all_to_all(const std::vector<Parcel>& parcels) {
  return worker_.run([&] { return ep::all_to_all(state_, parcels); });
}

Status Communicator::barrier() {
  return worker_.run([&] { return ep::barrier(state_); });
}

Status Communicator::broadcast(Address data, uint64_t bytes, int root) {
  return worker_.run([&] { return ep::broadcast(state_, data, bytes, root); });
}

Status Communicator::all_gather(ConstAddress in, uint64_t bytes, Address out) {
  return worker_.run([&] { return ep::all_gather(state_, in, bytes, out); });
}

Result<std::vector<uint64_t>> Communicator::all_gather_v(const GatherInput& input, Address out,
                                                         uint64_t capacity) {
  return worker_.run([&] { return ep::all_gather_v(state_, input, out, capacity); });
}

Status Communicator::reduce_scatter(ConstAddress in, int64_t elements_per_rank, DataType type,
                                    Address out) {
  return worker_.run([&] { return ep::reduce_scatter(state_, in, elements_per_rank, type, out); });
}

Status Communicator::all_reduce(Address data, int64_t elements, DataType type) {
  return worker_.run([&] { return ep::all_reduce(state_, data, elements, type); });
}

std::future<Status> Communicator::start_all_gather(ConstAddress in, uint64_t bytes, Address out) {
  return worker_.start([this, in, bytes, out] { return ep::all_gather(state_, in, bytes, out); });
}

std::future<Status> Communicator::start_reduce_scatter(ConstAddress in, int64_t elements_per_rank,
                                                       DataType type, Address out) {
  return worker_.start([this, in, elements_per_rank, type, out] {
    return ep::reduce_scatter(state_, in, elements_per_rank, type, out);
  });
}

std::future<Status> Communicator::start_all_reduce(Address data, int64_t elements, DataType type) {
  return worker_.start(
      [this, data, elements, type] { return ep::all_reduce(state_, data, elements, type); });
}

Status Communicator::send(const Outgoing& outgoing) {
  return worker_.run([&] { return ep::send(state_, outgoing); });
}

Status Communicator::receive(const Incoming& incoming) {
  return worker_.run([&] { return ep::receive(state_, incoming); });
}

Status Communicator::send_receive(const Outgoing& outgoing, const Incoming& incoming) {
  return worker_.run([&] { return ep::send_receive(state_, outgoing, incoming); });
}

Status Communicator::set_routes(int64_t version, const RouteTable& routes) {
  const Status fits = routes.check(ranks(), rails());
  if (fits) {
    worker_.run([&] {
      state_.routes.hand_in(version, routes);
      return 0;
    });
  }
  return fits;
}

void Communicator::exclude(int rank) {
  worker_.run([&] {
    state_.endpoint.excluded.add(rank);
    return 0;
  });
}

std::unique_ptr<Communicator> Communicator::shrink() {
  return worker_.run([&] {
    auto survivors = std::make_shared<RenumberedTransport>(transport_, state_.endpoint.lost);
    auto shrunk = std::make_unique<Communicator>(survivors, state_.patience);
    carry_over(state_.endpoint, *survivors, shrunk->state_.endpoint);
    return shrunk;
  });
}

}  // namespace mixnet::ep
