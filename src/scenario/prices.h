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

// Network cost of a whole cluster (mixnet.md section 11; MixNet, SIGCOMM 2025, Appendix D.2).
// Fails if the list has no row for the cluster's NIC rate.
Result<FabricCost> fabric_cost(const FabricSpec& fabric, const Cluster& cluster,
                               const PriceList& prices);

}  // namespace mixnet::scenario
