#include "cli/route_json.h"

#include <fmt/format.h>

#include "core/check.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(plan::CarrierKind kind) {
  switch (kind) {
    case plan::CarrierKind::kCircuit:
      return "circuit";
    case plan::CarrierKind::kElectrical:
      return "electrical";
    case plan::CarrierKind::kRelay:
      return "relay";
  }
  CHECK(false, "unknown kind of carrier");
}

Json carrier_json(const plan::Carrier& c) {
  Json json = {{"kind", kind_name(c.kind)}, {"gpu", c.gpu}, {"nic", c.nic}, {"share", c.share}};
  if (c.kind != plan::CarrierKind::kElectrical) {
    json["peer_nic"] = c.peer_nic;
  }
  if (c.kind == plan::CarrierKind::kRelay) {
    json["via"] = c.via;
    json["via_nic"] = c.via_nic;
    json["last_nic"] = c.last_nic;
  }
  return json;
}

}  // namespace

Json routes_json(const Wiring& wiring, const plan::ServerLayout& layout) {
  const plan::RouteTable table = plan::route_table(wiring, layout);
  Json circuits = Json::array();
  for (const plan::CircuitEnds& c : table.circuits) {
    circuits.push_back({{"servers", {c.server_a, c.server_b}}, {"nics", {c.nic_a, c.nic_b}}});
  }
  Json pairs = Json::array();
  for (const plan::PairRoute& route : table.pairs) {
    Json carriers = Json::array();
    for (const plan::Carrier& carrier : route.carriers) {
      carriers.push_back(carrier_json(carrier));
    }
    Json gpus = Json::array();
    for (const plan::GpuShare& share : route.gpus) {
      gpus.push_back({{"gpu", share.gpu}, {"carrier", share.carrier}, {"share", share.share}});
    }
    pairs.push_back(
        {{"src", route.src}, {"dst", route.dst}, {"carriers", carriers}, {"gpus", gpus}});
  }
  return {{"circuits", circuits},
          {"numa_imbalance", plan::numa_imbalance(table, wiring, layout)},
          {"pairs", pairs}};
}

void print_routes(const Wiring& wiring, const plan::ServerLayout& layout) {
  const plan::RouteTable table = plan::route_table(wiring, layout);
  fmt::print("\ncircuits by NIC (server/nic)\n");
  for (std::size_t k = 0; k < table.circuits.size(); ++k) {
    const plan::CircuitEnds& c = table.circuits[k];
    fmt::print("{:>16}{}", fmt::format("{}/{} - {}/{}", c.server_a, c.nic_a, c.server_b, c.nic_b),
               k % 5 == 4 || k + 1 == table.circuits.size() ? "\n" : "");
  }
  double own = 0;
  double node = 0;
  double all = 0;
  for (const plan::PairRoute& route : table.pairs) {
    for (const plan::GpuShare& share : route.gpus) {
      const int carrier = route.carriers[static_cast<std::size_t>(share.carrier)].gpu;
      const auto node_of = [&](int gpu) { return layout.gpu_node[static_cast<std::size_t>(gpu)]; };
      all += share.share;
      own += carrier == share.gpu ? share.share : 0;
      node += node_of(carrier) == node_of(share.gpu) ? share.share : 0;
    }
  }
  if (all > 0) {
    fmt::print(
        "{:.0f} % of the bytes leave over their GPU's own NIC, {:.0f} % over one of its NUMA "
        "node; the heaviest NUMA node carries {:.2f} times the mean\n",
        own / all * 100, node / all * 100, plan::numa_imbalance(table, wiring, layout));
  }
}

}  // namespace mixnet::cli
