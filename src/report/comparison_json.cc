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

ordered_json causes_json(const SimTime (&times)[kSwitchCauseCount]) {
  ordered_json json = ordered_json::object();
  for (int c = 0; c < kSwitchCauseCount; ++c) {
    json[switch_cause_name(static_cast<SwitchCause>(c))] = exact_seconds(times[c]);
  }
  return json;
}

ordered_json series_json(const std::vector<IterationSample>& iterations) {
  ordered_json json = {{"iteration_s", ordered_json::array()},
                       {"all_to_all_s", ordered_json::array()},
                       {"exposed_switching_s", ordered_json::array()},
                       {"switches", ordered_json::array()},
                       {"changed_circuits", ordered_json::array()}};
  for (const IterationSample& s : iterations) {
    json["iteration_s"].push_back(exact_seconds(s.iteration));
    json["all_to_all_s"].push_back(exact_seconds(s.all_to_all));
    json["exposed_switching_s"].push_back(exact_seconds(s.exposed_switching));
    json["switches"].push_back(s.switches);
    json["changed_circuits"].push_back(s.changed_circuits);
  }
  return json;
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
  json["exposed_by_cause_s"] = causes_json(fabric.exposed_by_cause);
  json["iterations"] = fabric.iterations.size();
  json["iteration_p50_s"] = exact_seconds(fabric.iteration_p50);
  json["iteration_p99_s"] = exact_seconds(fabric.iteration_p99);
  json["switches_per_iteration"] = per_iteration(fabric.switches, fabric);
  json["series"] = series_json(fabric.iterations);
  json["cadence_explanation"] = nullptr;
  json["placement"] = {{"policy", fabric.placement.policy},
                       {"imbalance", fabric.placement.imbalance},
                       {"plans", fabric.placement.plans},
                       {"moved_experts", fabric.placement.moved},
                       {"moved_bytes", fabric.placement.moved_bytes.count()},
                       {"moving_s", exact_seconds(fabric.placement.moving)}};
  if (!fabric.cadence_explanation.empty()) {
    json["cadence_explanation"] = fabric.cadence_explanation;
  }
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
  json["bound_series_s"] = ordered_json::array();
  for (const SimTime time : comparison.bound_iterations) {
    json["bound_series_s"].push_back(exact_seconds(time));
  }
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
