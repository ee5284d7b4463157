#include "report/comparison_json.h"

#include "report/format.h"

namespace mixnet::report {
namespace {

using nlohmann::ordered_json;

ordered_json activities_json(const SimTime (&times)[kActivityCount]) {
  ordered_json json = ordered_json::object();
  for (int a = 0; a < kActivityCount; ++a) {
    json[activity_name(static_cast<Activity>(a))] = exact_seconds(times[a]);
  }
  return json;
}

template <typename T>
ordered_json matrix_json(const Matrix<T>& matrix) {
  ordered_json rows = ordered_json::array();
  for (std::size_t r = 0; r < matrix.rows(); ++r) {
    ordered_json row = ordered_json::array();
    for (const T& cell : matrix.row(r)) {
      row.push_back(cell);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json traffic_json(const TrafficBytes& traffic) {
  return {{"tensor", traffic.tensor.count()},
          {"expert", traffic.expert.count()},
          {"expert_network", traffic.expert_network.count()},
          {"pipeline", traffic.pipeline.count()},
          {"gradient", traffic.gradient.count()}};
}

ordered_json fabric_json(const FabricResult& fabric, SimTime bound) {
  ordered_json json;
  json["name"] = fabric.name;
  json["kind"] = fabric.kind;
  json["iteration_s"] = exact_seconds(fabric.iteration);
  json["all_to_all_s"] = exact_seconds(fabric.all_to_all);
  json["all_to_all_share"] = share_of(fabric.all_to_all, fabric.iteration);
  json["mean_all_to_all_s"] = exact_seconds(fabric.mean_all_to_all);
  json["exposed_switching_s"] = exact_seconds(fabric.exposed_switching);
  json["exposed_per_all_to_all"] = fabric.exposed_per_all_to_all;
  json["switching_total_s"] = exact_seconds(fabric.switching_total);
  json["switches"] = fabric.switches;
  json["bound_s"] = exact_seconds(bound);
  json["bound_ratio"] = nullptr;
  if (bound.ps() > 0) {
    json["bound_ratio"] = share_of(fabric.iteration, bound);
  }
  json["cost_usd"] = fabric.cost_usd;
  json["perf_per_dollar"] = nullptr;
  if (fabric.perf_per_dollar > 0) {
    json["perf_per_dollar"] = fabric.perf_per_dollar;
  }
  json["critical_path_s"] = activities_json(fabric.critical_path);
  json["traffic_bytes"] = traffic_json(fabric.traffic);
  json["region_demand_tokens"] = matrix_json(fabric.region_demand);
  json["region_circuits"] = matrix_json(fabric.region_circuits);
  return json;
}

}  // namespace

ordered_json comparison_json(const Comparison& comparison, const ordered_json& config,
                             const std::string& version) {
  ordered_json json;
  json["fabrics"] = ordered_json::array();
  for (const FabricResult& fabric : comparison.fabrics) {
    json["fabrics"].push_back(fabric_json(fabric, comparison.bound));
  }
  json["bound_s"] = exact_seconds(comparison.bound);
  json["bound_critical_path_s"] = activities_json(comparison.critical_path_bound);
  json["notes"] = comparison.notes;
  json["config"] = config;
  json["version"] = version;
  return json;
}

std::string json_text(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace mixnet::report
