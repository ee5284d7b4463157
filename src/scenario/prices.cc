#include "scenario/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenario/names.h"

namespace mixnet::scenario {
namespace {

constexpr int64_t kBpsPerGbps = 1'000'000'000;

Result<PriceRow> row_for(BitRate rate, const PriceList& prices) {
  std::vector<std::string> known;
  for (const PriceRow& row : prices.rows) {
    if (row.gbps * kBpsPerGbps == rate.bps()) {
      return row;
    }
    known.push_back(fmt::format("{}Gbps", row.gbps));
  }
  return Error{fmt::format("no prices for NICs of {} Gbps: set `nic_rate` to {}, or add a "
                           "[[prices.rows]] with `gbps = {}` to the scenario",
                           rate.gbps(), quoted_list(known), rate.gbps()),
               ""};
}

// Ports of an electrical fabric with `nics` NICs, `up` of which could send upwards at once.
int64_t eps_ports(int64_t nics, int64_t up, CostReading reading) {
  return nics + up * (reading == CostReading::kFivePorts ? 4 : 5);
}

FabricCost tree_cost(int64_t nics, double ratio, const PriceRow& price, CostReading reading) {
  const auto up = static_cast<int64_t>(std::ceil(static_cast<double>(nics) / ratio));
  const int64_t ports = eps_ports(nics, up, reading);
  FabricCost cost;
  cost.items = {{"NIC", nics, price.nic},
                {"transceiver", ports + nics, price.transceiver},
                {"switch port", ports, price.eps_port},
                {"fibre", (ports + nics + 1) / 2, price.fiber}};
  const int factor = reading == CostReading::kFivePorts ? 4 : 5;
  const std::string p = ratio > 1 ? fmt::format("P = N + {}*ceil(N/{})", factor, ratio)
                                  : fmt::format("P = {}N", factor + 1);
  cost.formula = p + "; N*nic + (P + N)*transceiver + P*switch_port + (P + N)/2*fibre";
  return cost;
}

FabricCost mixnet_cost(int64_t electrical, int64_t optical, const PriceRow& price,
                       CostReading reading) {
  const int64_t nics = electrical + optical;
  const int64_t ports = eps_ports(electrical, electrical, reading);
  const bool five = reading == CostReading::kFivePorts;
  // The second reading keeps three cables per electrical NIC: with them it gives the published
  // performance per dollar.
  const int64_t fibres = 3 * electrical + optical;
  FabricCost cost;
  cost.items = {{"NIC", nics, price.nic},
                {"transceiver", ports + nics, price.transceiver},
                {"switch port", ports, price.eps_port},
                {"optical port", five ? optical : nics, price.ocs_port},
                {"fibre", fibres, price.fiber}};
  cost.formula = fmt::format(
      "E electrical, O optical NICs, N = E + O, P = {}E; N*nic + (P + N)*transceiver + "
      "P*switch_port + {}*optical_port + (3E + O)*fibre",
      five ? 5 : 6, five ? "O" : "N");
  return cost;
}

FabricCost panel_cost(int64_t nics, const PriceRow& price) {
  FabricCost cost;
  cost.items = {{"NIC", nics, price.nic},
                {"transceiver", nics, price.transceiver},
                {"patch-panel port", nics, price.patch_panel_port},
                {"fibre", nics, price.fiber}};
  cost.formula = "N*(nic + transceiver + patch_panel_port + fibre)";
  return cost;
}

}  // namespace

double FabricCost::total_usd() const {
  double total = 0;
  for (const CostItem& item : items) {
    total += static_cast<double>(item.count) * item.unit_usd;
  }
  return total;
}

const char* cost_reading_name(CostReading reading) {
  return reading == CostReading::kFivePorts ? "five-ports" : "six-ports";
}

Result<FabricCost> fabric_cost(const FabricSpec& fabric, const Cluster& cluster,
                               const PriceList& prices, CostReading reading) {
  if (fabric.kind == FabricKind::kIdeal) {
    FabricCost nothing;
    nothing.formula = "not priced: a bound, not something to buy";
    return nothing;
  }
  const Result<PriceRow> price = row_for(cluster.nic_rate, prices);
  if (!price.ok()) {
    return price.error();
  }
  const int64_t nics = int64_t{cluster.servers} * cluster.nics_per_server;
  switch (fabric.kind) {
    case FabricKind::kFatTree:
    case FabricKind::kRailOptimized:
      return tree_cost(nics, 1, *price, reading);
    case FabricKind::kFatTreeOversubscribed:
      return tree_cost(nics, fabric.oversubscription, *price, reading);
    case FabricKind::kTopoOpt:
      return panel_cost(nics, *price);
    case FabricKind::kMixnet: {
      const int64_t optical = int64_t{cluster.servers} * fabric.mixnet.alpha;
      return mixnet_cost(nics - optical, optical, *price, reading);
    }
    case FabricKind::kIdeal:
      break;
  }
  CHECK(false, "unknown fabric kind");
}

}  // namespace mixnet::scenario
