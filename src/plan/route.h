#pragma once

#include <vector>

#include "core/wiring.h"

// From a wiring between servers to who sends what: which NICs are the ends of every circuit, and
// for every GPU and destination server, which GPU and NIC carry which share of its bytes.
//
// Problem. A server has GPUs and NICs on NUMA nodes; a NIC is fed by the GPU beside it, its
// delegation GPU. What a server sends to another one is gathered over NVLink to the delegation
// GPUs of the circuits between them, of the electrical NICs, and of circuits to a relay; there it
// is scattered (MixNet, SIGCOMM 2025, sections 5.2 and 5.3). Two choices are free:
//   * which NIC of a server is the end of which circuit. Any will do for the switch, so NUMA nodes
//     get equal loads: heaviest circuit first, to the node with the least so far (no more than 4/3
//     of the best), then exchanges between nodes while the heaviest falls;
//   * which source GPU feeds which carrier. A GPU prefers its own NIC, then NICs of its NUMA node,
//     so that little crosses between nodes.
// Complexity: O(n^2 alpha + n alpha^2) for the circuits of n servers, and O(GPUs * carriers) per
// pair of servers.
namespace mixnet::plan {

// One server; all of a region are alike. NIC numbers count optical and electrical ones together.
struct ServerLayout {
  std::vector<int> gpu_node;         // NUMA node of every GPU
  std::vector<int> nic_node;         // NUMA node of every NIC
  std::vector<int> nic_gpu;          // the GPU beside every NIC
  std::vector<int> optical_nics;     // ascending
  std::vector<int> electrical_nics;  // ascending
};

// `gpus` and `nics` >= 1 spread evenly over `nodes`, NIC k beside GPU k * gpus / nics. Of every
// node's NICs the same share is optical, as far as it divides. 0 <= alpha <= nics, nodes >= 1.
ServerLayout even_layout(int gpus, int nics, int alpha, int nodes);

// The two ends of a duplex circuit; server_a < server_b.
struct CircuitEnds {
  int server_a = 0;
  int nic_a = 0;
  int server_b = 0;
  int nic_b = 0;
};

enum class CarrierKind { kCircuit, kElectrical, kRelay };

// Carries `share` of what its server sends to one other server.
struct Carrier {
  CarrierKind kind = CarrierKind::kCircuit;
  int gpu = 0;  // delegation GPU of the sending server
  int nic = 0;
  int peer_nic = -1;  // NIC at the other end of the circuit; -1 if electrical
  int via = -1;       // relay server, kRelay only
  int via_nic = -1;   // NIC that the relay sends on with
  int last_nic = -1;  // NIC at which it arrives at last, kRelay only
  double share = 0;
};

// `share` of what `gpu` sends to a server goes over one of the pair's carriers.
struct GpuShare {
  int gpu = 0;
  int carrier = 0;  // index into the carriers of the pair
  double share = 0;
};

struct PairRoute {
  int src = 0;
  int dst = 0;
  std::vector<Carrier> carriers;  // shares sum to 1
  std::vector<GpuShare> gpus;     // shares of one GPU sum to 1; ascending by GPU, then carrier
};

struct RouteTable {
  std::vector<CircuitEnds> circuits;
  std::vector<PairRoute> pairs;  // those with demand; ascending by (src, dst)
};

// Every GPU of a server sends the same amount. The wiring fits the layout: at most as many circuits
// per server as optical NICs, and electrical shares only with electrical NICs.
RouteTable route_table(const Wiring& wiring, const ServerLayout& layout);

// Load of the heaviest NUMA node over the mean of all nodes, over the servers' optical NICs; 1 is
// even. A figure for judging route_table().
double numa_imbalance(const RouteTable& table, const Wiring& wiring, const ServerLayout& layout);

}  // namespace mixnet::plan
