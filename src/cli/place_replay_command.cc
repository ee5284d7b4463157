#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/command.h"
#include "cli/place_arguments.h"
#include "cli/place_output.h"
#include "cli/place_replay.h"
#include "report/replay_page.h"
#include "scenario/trace.h"

namespace mixnet::cli {
namespace {

constexpr int64_t kMostThreshold = int64_t{1} << 40;  // no step has as many tokens

Status write_pictures(const PlaceArguments& typed, const nlohmann::ordered_json& result) {
  if (Status status = make_folder(typed.out); !status) {
    return status;
  }
  const std::string title = std::filesystem::path(typed.replay).stem().string();
  return write_files({{typed.out + "/report.html", report::replay_html(result, title)},
                      {typed.out + "/replay.json", result.dump(2) + "\n"}});
}

// What the plans leave out of account.
std::vector<std::string> replay_notes(const PlaceArguments& typed, bool eplb) {
  std::vector<std::string> notes = shape_notes(typed);
  if (typed.groups % typed.nodes != 0 && (eplb || typed.groups > 1)) {
    notes.push_back(
        fmt::format("{} group{} cannot be divided over {} nodes, so every plan ignores "
                    "groups{}",
                    typed.groups, typed.groups == 1 ? "" : "s", typed.nodes,
                    eplb ? " and nodes (EPLB's global policy)" : ""));
  }
  return notes;
}

}  // namespace

void add_replay_options(CLI::App& command, PlaceArguments& typed) {
  command.add_option("--replay", typed.replay,
                     "routing trace (.npy): how placements age on it, with and without swaps in "
                     "each step; instead of LOADS");
  command.add_option("--out", typed.out, "replay: folder for report.html and replay.json");
  command.add_option("--every", typed.every, "replay: iterations between plans")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  CLI::Option* const threshold =
      command
          .add_option("--threshold", typed.threshold,
                      "replay: tokens by which a swap must lower the heavier GPU of its pair; "
                      "--swap-size and --token-time compute it")
          ->capture_default_str()
          ->check(CLI::Range(int64_t{1}, kMostThreshold));
  add_swap_cost_options(command, *threshold, typed.swap_cost);
}

int run_place_replay(const PlaceArguments& typed, const plan::PlaceCluster& cluster) {
  const Result<scenario::RoutingTrace> trace = scenario::RoutingTrace::map(typed.replay);
  if (!trace) {
    return report_usage_error(trace.error());
  }
  if (Status status = check_groups(typed, trace->view().experts, typed.replay); !status) {
    return report_usage_error(status.error());
  }
  const bool eplb = typed.policy == plan::place_policy_name(plan::PlacePolicy::kEplb);
  const Result<std::optional<SwapCost>> cost = swap_cost_of(typed.swap_cost, typed.nvlink_rate);
  if (!cost) {
    return report_usage_error(cost.error());
  }
  PlaceReplayOptions options;
  options.cluster = cluster;
  options.policy = eplb ? plan::PlacePolicy::kEplb : plan::PlacePolicy::kNicAware;
  options.groups = typed.groups;
  options.every = typed.every;
  options.swaps.threshold =
      cost->has_value() ? std::min((*cost)->threshold, kMostThreshold) : typed.threshold;
  options.search.move_cost = typed.move_cost;
  options.search.nic_weight = typed.nic_weight;
  options.search.work = static_cast<int64_t>(typed.budget_ms * kPlaceStepsPerMs);
  const Result<PlaceReplayResult> result = replay_placement(trace->view(), options);
  if (!result) {
    const Error& error = result.error();
    return report_usage_error(
        error_at(error.where.empty() ? typed.replay : error.where, error.message));
  }
  const std::vector<std::string> notes = replay_notes(typed, eplb);
  for (const std::string& note : notes) {
    print_note("note: " + note);
  }
  nlohmann::ordered_json json = replay_json(*result, options);
  json["notes"] = notes;
  if (cost->has_value()) {
    json["swap_cost"] = swap_cost_json(**cost);
  }
  if (!typed.out.empty()) {
    if (Status status = write_pictures(typed, json); !status) {
      return report_failure(status.error());
    }
  }
  if (typed.json) {
    print_json(json);
  } else {
    fmt::print("{}", replay_text(*result, options));
    if (cost->has_value()) {
      fmt::print("{}", swap_cost_text(**cost));
    }
    if (!typed.out.empty()) {
      fmt::print("Written: {0}/report.html, {0}/replay.json\n", typed.out);
    }
  }
  return kExitOk;
}

}  // namespace mixnet::cli
