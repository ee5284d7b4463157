#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/comparison.h"

namespace mixnet::report {

// `result.json`: {fabrics: [...], bound_s, bound_series_s, bound_critical_path_s, notes, config,
// version}. Times are means over the simulated iterations.
//
// Per fabric: name, kind, iteration_s, all_to_all_s, all_to_all_share (of the iteration),
// mean_all_to_all_s, exposed_switching_s, switching_total_s, switches (of all iterations),
// exposed_by_cause_s {ocs, nic, control, detour}, iterations, iteration_p50_s, iteration_p99_s,
// switches_per_iteration, series {iteration_s, all_to_all_s, exposed_switching_s, switches,
// changed_circuits: a value per iteration}, cadence_explanation (null unless one decided), bound_s,
// bound_ratio (iteration / bound; null if the bound is 0), cost_usd, perf_per_dollar (null if no
// fat-tree was compared), critical_path_s {activity: s}, traffic_bytes {tensor, expert,
// expert_network, pipeline, gradient}, region_demand_tokens [from][to] and region_circuits
// [server][server] of one layer of the traced region ([] if there are none).
//
// Equal comparisons give equal bytes: nothing about this run (paths, dates, CPU time) gets in, and
// doubles are printed by nlohmann::json with the fewest digits that read back to the same value.
nlohmann::ordered_json comparison_json(const Comparison& comparison,
                                       const nlohmann::ordered_json& config,
                                       const std::string& version);

// One line of text without a line break. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace mixnet::report
