#include "cli/exchange_routes.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/index.h"

namespace mixnet::cli {
namespace {

// The NICs of all servers as ranks and rails.
class NicNumbers {
 public:
  NicNumbers(const plan::ServerLayout& layout, const ep::RankMap& ranks)
      : layout_(layout), ranks_(ranks) {
    std::map<int, int> seen;
    for (const int gpu : layout.nic_gpu) {
      rails_.push_back(seen[gpu]++);
    }
  }

  int rank(int server, int nic) const { return ranks_.first_of(server) + layout_.nic_gpu[at(nic)]; }
  // Out of `nic` of one server and in at `peer_nic` of another.
  ep::Hop hop(int from, int nic, int to, int peer_nic) const {
    return ep::Hop{rank(from, nic), rails_[at(nic)], rank(to, peer_nic)};
  }

 private:
  const plan::ServerLayout& layout_;
  const ep::RankMap& ranks_;
  std::vector<int> rails_;  // [nic]
};

std::vector<ep::Hop> hops_of(const plan::PairRoute& pair, const plan::Carrier& carrier,
                             const NicNumbers& nics) {
  switch (carrier.kind) {
    case plan::CarrierKind::kElectrical:
      return {nics.hop(pair.src, carrier.nic, pair.dst, carrier.nic)};
    case plan::CarrierKind::kCircuit:
      return {nics.hop(pair.src, carrier.nic, pair.dst, carrier.peer_nic)};
    default:
      break;
  }
  std::vector<ep::Hop> hops = {nics.hop(pair.src, carrier.nic, carrier.via, carrier.peer_nic)};
  const ep::Hop second = nics.hop(carrier.via, carrier.via_nic, pair.dst, carrier.last_nic);
  if (hops.front().to != second.from) {
    hops.push_back(ep::Hop{hops.front().to, ep::kInsideHost, second.from});
  }
  hops.push_back(second);
  return hops;
}

Status check_servers(const plan::RouteTable& table, const plan::ServerLayout& layout,
                     const ep::RankMap& ranks) {
  const int gpus = static_cast<int>(layout.gpu_node.size());
  for (int host = 0; host < ranks.hosts(); ++host) {
    if (ranks.size_of(host) != gpus) {
      return Error{"host " + std::to_string(host) + " has " + std::to_string(ranks.size_of(host)) +
                       " ranks, not one for each of " + std::to_string(gpus) + " GPUs",
                   {}};
    }
  }
  for (const plan::PairRoute& pair : table.pairs) {
    const int largest = std::max(pair.src, pair.dst);
    if (largest >= ranks.hosts()) {
      return Error{"server " + std::to_string(largest) + " is none of " +
                       std::to_string(ranks.hosts()) + " hosts",
                   {}};
    }
  }
  return {};
}

}  // namespace

int exchange_rails(const plan::ServerLayout& layout) {
  std::map<int, int> nics;
  int most = 0;
  for (const int gpu : layout.nic_gpu) {
    most = std::max(most, ++nics[gpu]);
  }
  return most;
}

Result<ep::RouteTable> exchange_routes(const plan::RouteTable& table,
                                       const plan::ServerLayout& layout, const ep::RankMap& ranks) {
  const Status fits = check_servers(table, layout, ranks);
  if (!fits) {
    return fits.error();
  }
  const NicNumbers nics(layout, ranks);
  ep::RouteTable routes;
  for (const plan::PairRoute& pair : table.pairs) {
    std::map<int, std::vector<ep::Carrier>> by_gpu;
    for (const plan::GpuShare& fed : pair.gpus) {
      const plan::Carrier& carrier = pair.carriers[at(fed.carrier)];
      by_gpu[fed.gpu].push_back(ep::Carrier{hops_of(pair, carrier, nics), fed.share});
    }
    for (auto& [gpu, carriers] : by_gpu) {
      routes.set(ranks.first_of(pair.src) + gpu, pair.dst, std::move(carriers));
    }
  }
  return routes;
}

}  // namespace mixnet::cli
