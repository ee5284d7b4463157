#include "plan/route.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>

#include "core/check.h"
#include "core/index.h"

namespace mixnet::plan {
namespace {

constexpr double kNothing = 1e-12;

Matrix<double> circuit_loads(const Wiring& wiring) {
  Matrix<double> load = wiring.circuit;
  for (const RelayShare& share : wiring.relay) {
    load(at(share.src), at(share.via)) += share.amount;
    load(at(share.via), at(share.dst)) += share.amount;
  }
  return load;
}

int node_count(const ServerLayout& layout) {
  return 1 + *std::max_element(layout.nic_node.begin(), layout.nic_node.end());
}

// One circuit as one of its servers sees it.
struct End {
  std::size_t circuit = 0;
  double load = 0;  // both directions
};

// Ends of one server over its NUMA nodes.
class NodeBalance {
 public:
  explicit NodeBalance(const ServerLayout& layout)
      : free_(at(node_count(layout))), ends_(free_.size()), load_(free_.size(), 0.0) {
    for (const int nic : layout.optical_nics) {
      free_[at(layout.nic_node[at(nic)])].push_back(nic);
    }
  }

  void place(std::vector<End> ends) {
    std::stable_sort(ends.begin(), ends.end(),
                     [](const End& a, const End& b) { return a.load > b.load; });
    for (const End& end : ends) {
      std::size_t best = free_.size();
      for (std::size_t node = 0; node < free_.size(); ++node) {
        if (ends_[node].size() < free_[node].size() &&
            (best == free_.size() || load_[node] < load_[best])) {
          best = node;
        }
      }
      CHECK(best < free_.size(), "a server has more circuits than optical NICs");
      ends_[best].push_back(end);
      load_[best] += end.load;
    }
    while (exchange()) {
    }
  }

  // Calls visit(circuit, nic).
  template <typename Visit>
  void for_ends(const Visit& visit) const {
    for (std::size_t node = 0; node < ends_.size(); ++node) {
      for (std::size_t k = 0; k < ends_[node].size(); ++k) {
        visit(ends_[node][k].circuit, free_[node][k]);
      }
    }
  }

 private:
  // The exchange or move between the heaviest node and another that lowers the heavier most.
  bool exchange() {
    const auto heavy =
        static_cast<std::size_t>(std::max_element(load_.begin(), load_.end()) - load_.begin());
    double best = load_[heavy] * (1 - 1e-9);
    std::tuple<std::size_t, std::size_t, std::size_t> choice{heavy, 0, 0};
    for (std::size_t node = 0; node < ends_.size(); ++node) {
      const bool room = ends_[node].size() < free_[node].size();
      for (std::size_t a = 0; node != heavy && a < ends_[heavy].size(); ++a) {
        for (std::size_t b = 0; b < ends_[node].size() + (room ? 1 : 0); ++b) {
          const double back = b < ends_[node].size() ? ends_[node][b].load : 0;
          const double moved = ends_[heavy][a].load - back;
          const double worst = std::max(load_[heavy] - moved, load_[node] + moved);
          if (worst < best) {
            best = worst;
            choice = {node, a, b};
          }
        }
      }
    }
    const auto [node, a, b] = choice;
    if (node == heavy) {
      return false;
    }
    const double back = b < ends_[node].size() ? ends_[node][b].load : 0;
    load_[node] += ends_[heavy][a].load - back;
    load_[heavy] -= ends_[heavy][a].load - back;
    if (b < ends_[node].size()) {
      std::swap(ends_[heavy][a], ends_[node][b]);
    } else {
      ends_[node].push_back(ends_[heavy][a]);
      ends_[heavy].erase(ends_[heavy].begin() + static_cast<std::ptrdiff_t>(a));
    }
    return true;
  }

  std::vector<std::vector<int>> free_;  // NICs of a node, used from the first on
  std::vector<std::vector<End>> ends_;
  std::vector<double> load_;
};

std::vector<CircuitEnds> assign_nics(const Wiring& wiring, const ServerLayout& layout) {
  const std::size_t n = wiring.circuits.rows();
  const Matrix<double> load = circuit_loads(wiring);
  std::vector<CircuitEnds> circuits;
  std::vector<std::vector<End>> ends(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const int count = wiring.circuits(i, j);
      for (int c = 0; c < count; ++c) {
        const End end{circuits.size(), (load(i, j) + load(j, i)) / count};
        ends[i].push_back(end);
        ends[j].push_back(end);
        circuits.push_back({static_cast<int>(i), -1, static_cast<int>(j), -1});
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    NodeBalance balance(layout);
    balance.place(std::move(ends[i]));
    balance.for_ends([&](std::size_t circuit, int nic) {
      CircuitEnds& c = circuits[circuit];
      (c.server_a == static_cast<int>(i) ? c.nic_a : c.nic_b) = nic;
    });
  }
  return circuits;
}

// NICs of all circuits from one server to another, at both ends.
using NicPairs = std::map<std::pair<int, int>, std::vector<std::pair<int, int>>>;

NicPairs nics_between(const std::vector<CircuitEnds>& circuits) {
  NicPairs nics;
  for (const CircuitEnds& c : circuits) {
    nics[{c.server_a, c.server_b}].emplace_back(c.nic_a, c.nic_b);
    nics[{c.server_b, c.server_a}].emplace_back(c.nic_b, c.nic_a);
  }
  return nics;
}

void add_carriers(PairRoute& route, const Wiring& wiring, const NicPairs& nics,
                  const std::vector<const RelayShare*>& relays, const ServerLayout& layout) {
  const auto gpu_of = [&](int nic) { return layout.nic_gpu[at(nic)]; };
  const double direct = wiring.circuit(at(route.src), at(route.dst));
  if (direct > 0) {
    const auto& list = nics.at({route.src, route.dst});
    for (const auto& [nic, peer] : list) {
      route.carriers.push_back({CarrierKind::kCircuit, gpu_of(nic), nic, peer, -1, -1, -1,
                                direct / static_cast<double>(list.size())});
    }
  }
  const double electrical = wiring.eps(at(route.src), at(route.dst));
  if (electrical > 0) {
    CHECK(!layout.electrical_nics.empty(), "electrical shares need electrical NICs");
    for (const int nic : layout.electrical_nics) {
      route.carriers.push_back({CarrierKind::kElectrical, gpu_of(nic), nic, -1, -1, -1, -1,
                                electrical / static_cast<double>(layout.electrical_nics.size())});
    }
  }
  for (const RelayShare* relay : relays) {
    const auto& first = nics.at({relay->src, relay->via});
    const auto& second = nics.at({relay->via, relay->dst});
    // As many streams as the wider side has circuits, dealt out in turn.
    const std::size_t streams = std::lcm(first.size(), second.size());
    for (std::size_t k = 0; k < streams; ++k) {
      const auto [nic, peer] = first[k % first.size()];
      const auto [via_nic, last_nic] = second[k % second.size()];
      route.carriers.push_back({CarrierKind::kRelay, gpu_of(nic), nic, peer, relay->via, via_nic,
                                last_nic, relay->amount / static_cast<double>(streams)});
    }
  }
}

// Hands every GPU's equal part to carriers in three rounds: its own NICs, its NUMA node, anywhere.
void feed(PairRoute& route, const ServerLayout& layout) {
  const int gpus = static_cast<int>(layout.gpu_node.size());
  std::vector<double> left(at(gpus), 1.0 / gpus);
  std::vector<double> room;
  for (const Carrier& carrier : route.carriers) {
    room.push_back(carrier.share);
  }
  std::map<std::pair<int, int>, double> given;
  for (int round = 0; round < 3; ++round) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      for (std::size_t c = 0; c < route.carriers.size(); ++c) {
        const Carrier& carrier = route.carriers[c];
        const bool near = round == 0 ? carrier.gpu == gpu
                          : round == 1
                              ? layout.gpu_node[at(carrier.gpu)] == layout.gpu_node[at(gpu)]
                              : true;
        const double amount = near ? std::min(left[at(gpu)], room[c]) : 0;
        if (amount > kNothing) {
          given[{gpu, static_cast<int>(c)}] += amount;
          left[at(gpu)] -= amount;
          room[c] -= amount;
        }
      }
    }
  }
  for (const auto& [key, amount] : given) {
    route.gpus.push_back({key.first, key.second, amount * gpus});
  }
}

}  // namespace

ServerLayout even_layout(int gpus, int nics, int alpha, int nodes) {
  CHECK(gpus >= 1 && nics >= 1 && nodes >= 1 && alpha >= 0 && alpha <= nics,
        "a server has GPUs, NICs and nodes, and at most all NICs are optical");
  ServerLayout layout;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    layout.gpu_node.push_back(gpu * nodes / gpus);
  }
  std::vector<int> seen(at(nodes), 0);
  std::vector<int> size(at(nodes), 0);
  for (int nic = 0; nic < nics; ++nic) {
    layout.nic_node.push_back(nic * nodes / nics);
    layout.nic_gpu.push_back(static_cast<int>(static_cast<int64_t>(nic) * gpus / nics));
    ++size[at(layout.nic_node.back())];
  }
  // Node by node the first NICs are optical; which nodes take one more follows from rounding.
  int before = 0;
  int optical_before = 0;
  std::vector<int> optical(at(nodes), 0);
  for (int node = 0; node < nodes; ++node) {
    before += size[at(node)];
    const int upto = static_cast<int>(static_cast<int64_t>(before) * alpha / nics);
    optical[at(node)] = upto - optical_before;
    optical_before = upto;
  }
  for (int nic = 0; nic < nics; ++nic) {
    const std::size_t node = at(layout.nic_node[at(nic)]);
    (seen[node]++ < optical[node] ? layout.optical_nics : layout.electrical_nics).push_back(nic);
  }
  return layout;
}

RouteTable route_table(const Wiring& wiring, const ServerLayout& layout) {
  RouteTable table;
  table.circuits = assign_nics(wiring, layout);
  const NicPairs nics = nics_between(table.circuits);
  std::map<std::pair<int, int>, std::vector<const RelayShare*>> relays;
  for (const RelayShare& share : wiring.relay) {
    if (share.amount > 0) {
      relays[{share.src, share.dst}].push_back(&share);
    }
  }
  const std::size_t n = wiring.circuits.rows();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      PairRoute route;
      route.src = static_cast<int>(i);
      route.dst = static_cast<int>(j);
      const auto it = relays.find({route.src, route.dst});
      add_carriers(route, wiring, nics,
                   it == relays.end() ? std::vector<const RelayShare*>{} : it->second, layout);
      double total = 0;
      for (const Carrier& carrier : route.carriers) {
        total += carrier.share;
      }
      if (i == j || total <= 0) {
        continue;
      }
      for (Carrier& carrier : route.carriers) {
        carrier.share /= total;
      }
      feed(route, layout);
      table.pairs.push_back(std::move(route));
    }
  }
  return table;
}

double numa_imbalance(const RouteTable& table, const Wiring& wiring, const ServerLayout& layout) {
  const Matrix<double> load = circuit_loads(wiring);
  const auto nodes = at(node_count(layout));
  Matrix<double> sums(wiring.circuits.rows(), nodes, 0.0);
  for (const CircuitEnds& c : table.circuits) {
    const std::size_t a = at(c.server_a);
    const std::size_t b = at(c.server_b);
    const double share = (load(a, b) + load(b, a)) / wiring.circuits(a, b);
    sums(a, at(layout.nic_node[at(c.nic_a)])) += share;
    sums(b, at(layout.nic_node[at(c.nic_b)])) += share;
  }
  double worst = 1;
  for (std::size_t i = 0; i < sums.rows(); ++i) {
    const auto row = sums.row(i);
    const double total = std::accumulate(row.begin(), row.end(), 0.0);
    if (total > 0) {
      worst = std::max(
          worst, *std::max_element(row.begin(), row.end()) * static_cast<double>(nodes) / total);
    }
  }
  return worst;
}

}  // namespace mixnet::plan
