#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mixnet::report {

// The page of a sweep: self-contained like report.html. Curves over the first axis, one line per
// fabric; small multiples over the second axis; a choice for every further one.
//
// `sweep` is {label, version, axes, points}:
//   axes: [{keys: [key], log, values: [value], magnitudes: [number or null]}], at least one;
//   points: the full product of the axes, the last one fastest: null if there is no result,
//   {error}, or {fabrics: [{name, iteration_s, all_to_all_s, exposed_switching_s, cost_usd,
//   perf_per_dollar, bound_s}]} with null for what is not known.
std::string sweep_html(const nlohmann::ordered_json& sweep);

}  // namespace mixnet::report
