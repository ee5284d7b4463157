#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/fabric_spec.h"
#include "core/result.h"

namespace mixnet::scenario {

// Prices of one link rate, USD per item.
struct PriceRow {
  int gbps = 0;
  double transceiver = 0;
  double nic = 0;
  double eps_port = 0;
  double ocs_port = 0;
  double patch_panel_port = 0;
  double fiber = 0;  // one fibre of the assumed length
};

struct PriceList {
  std::string source;
  std::vector<PriceRow> rows;
};

struct CostItem {
  std::string item;
  int64_t count = 0;
  double unit_usd = 0;
};

struct FabricCost {
  std::vector<CostItem> items;
  std::string formula;
  double total_usd() const;
};

// The paper does not print its count of items. Both readings count the ports of a three-tier
// fat-tree per NIC; they differ in the core and in the optical ports.
enum class CostReading {
  // 5 switch ports per electrical NIC (edge down, edge up, aggregation down and up, core) and one
  // optical port per optical NIC: gives the published cost ratios exactly.
  kFivePorts,
  // 6 switch ports per electrical NIC (core ports on both sides) and an optical port on every NIC,
  // electrical ones included: gives the published performance per dollar to about 5 %.
  kSixPorts,
};

const char* cost_reading_name(CostReading reading);  // "five-ports", "six-ports"

// Network cost of a whole cluster of N = servers * nics_per_server NICs (MixNet, SIGCOMM 2025,
// Appendix D.2, as reconstructed). NICs inside servers, transceivers at both ends of every cable,
// switch ports, optical or panel ports, and fibres; no GPUs, power or labour. With reading
// kFivePorts, E electrical and O optical NICs (E + O = N):
//   fat-tree, rail-optimized  N nic + (5N + N) transceiver + 5N eps_port + (5N + N)/2 fiber
//   oversubscribed r : 1      the same with U = ceil(N/r) in every tier above the edge's
//                             downlinks: P = N + 4U ports instead of 5N
//   mixnet                    N nic + (5E + N) transceiver + 5E eps_port + O ocs_port
//                             + ((5E + E)/2 + O) fiber
//   topoopt                   N (nic + transceiver + patch_panel_port + fiber)
//   ideal                     nothing: it cannot be bought
// Fails if the list has no row for the cluster's NIC rate.
Result<FabricCost> fabric_cost(const FabricSpec& fabric, const Cluster& cluster,
                               const PriceList& prices,
                               CostReading reading = CostReading::kFivePorts);

}  // namespace mixnet::scenario
