#include "cli/place_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/json_values.h"
#include "report/table.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string number(double value) { return fmt::format("{:.4f}", value); }

double ratio(double value, double bound) { return bound > 0 ? value / bound : 1; }

// Slots of every expert, ascending, padded with -1 as EPLB pads them.
Json slots_of(const std::vector<int>& phy2log, std::size_t experts) {
  std::vector<std::vector<int>> slots(experts);
  for (std::size_t s = 0; s < phy2log.size(); ++s) {
    slots[static_cast<std::size_t>(phy2log[s])].push_back(static_cast<int>(s));
  }
  std::size_t most = 0;
  for (const std::vector<int>& of_expert : slots) {
    most = std::max(most, of_expert.size());
  }
  for (std::vector<int>& of_expert : slots) {
    of_expert.resize(most, -1);
  }
  return slots;
}

std::vector<int> copies_of(const std::vector<int>& phy2log, std::size_t experts) {
  std::vector<int> copies(experts, 0);
  for (const int expert : phy2log) {
    ++copies[static_cast<std::size_t>(expert)];
  }
  return copies;
}

Json point_json(const PlaceReplayPoint& point) {
  return {{"contiguous", point.contiguous}, {"planned", point.planned}, {"swapped", point.swapped}};
}

}  // namespace

Json joint_json(const std::vector<PlacementGain>& gains, std::size_t experts) {
  Json object = {{"policy", "joint"}, {"layers", Json::array()}};
  for (const PlacementGain& gain : gains) {
    const plan::JointPlan& plan = gain.plan;
    object["layers"].push_back({{"phy2log", plan.slot_expert},
                                {"log2phy", slots_of(plan.slot_expert, experts)},
                                {"logcnt", copies_of(plan.slot_expert, experts)},
                                {"max_over_mean", ratio(plan.max_gpu_load, plan.mean_gpu_load)},
                                {"circuits", rows_of(plan.wiring.circuits)},
                                {"completion", gain.joint},
                                {"place_then_wire", gain.place_then_wire},
                                {"wire_only", gain.wire_only},
                                {"bound", gain.bound}});
  }
  return object;
}

std::string joint_text(const std::vector<PlacementGain>& gains) {
  report::Table table({{"layer"},
                       {"GPU max/mean"},
                       {"wire only"},
                       {"place, then wire"},
                       {"joint"},
                       {"gain of joint (%)"}});
  for (std::size_t l = 0; l < gains.size(); ++l) {
    const PlacementGain& g = gains[l];
    table.add_row({std::to_string(l), number(ratio(g.plan.max_gpu_load, g.plan.mean_gpu_load)),
                   number(ratio(g.wire_only, g.bound)), number(ratio(g.place_then_wire, g.bound)),
                   number(ratio(g.joint, g.bound)),
                   fmt::format("{:.2f}", 100 * (1 - ratio(g.joint, g.place_then_wire)))});
  }
  return table.text() +
         "Completion of the dispatch over its bound for any placement of as many copies and any "
         "circuits. Where all\nthree are 1.0000, nothing is left to gain. --json prints maps and "
         "circuits.\n";
}

Json replay_json(const PlaceReplayResult& result, const PlaceReplayOptions& options) {
  Json object = {{"every", options.every},
                 {"threshold", options.swaps.threshold},
                 {"plans", result.plans},
                 {"moved", result.moved},
                 {"swaps", result.swaps},
                 {"right_after", point_json(result.right_after)},
                 {"before_next", point_json(result.before_next)},
                 {"mean", point_json(result.mean)},
                 {"iterations", Json::array()}};
  for (const PlaceReplayPoint& point : result.points) {
    Json entry = {{"iteration", point.iteration}, {"age", point.age}};
    entry.update(point_json(point));
    object["iterations"].push_back(std::move(entry));
  }
  return object;
}

std::string replay_text(const PlaceReplayResult& result, const PlaceReplayOptions& options) {
  report::Table table(
      {{"GPU max/mean", report::Align::kLeft}, {"in order"}, {"planned"}, {"with swaps per step"}});
  const auto add = [&](const std::string& name, const PlaceReplayPoint& point) {
    table.add_row({name, number(point.contiguous), number(point.planned), number(point.swapped)});
  };
  add("right after a plan", result.right_after);
  add(fmt::format("{} iterations later", result.before_next.age), result.before_next);
  add("mean", result.mean);
  return table.text() +
         fmt::format(
             "{} plans, one every {} iterations from the counts since the one before; {} "
             "experts moved\nafter the first, {} swaps taken (threshold {}), all layers "
             "together. The time of moves\nand swaps is not part of these ratios.\n",
             result.plans, options.every, result.moved, result.swaps, options.swaps.threshold);
}

}  // namespace mixnet::cli
