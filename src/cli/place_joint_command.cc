#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/command.h"
#include "cli/place_arguments.h"
#include "cli/place_output.h"
#include "cli/placement_gain.h"

namespace mixnet::cli {
namespace {

constexpr uint64_t kSpreadSeed = 1;
constexpr int64_t kMostJointLoad = int64_t{1} << 50;  // sums of shares stay exact

// Tokens by source server: what a trace says, or spread as typed.
Result<DemandMatrix> sent_by_server(const PlaceArguments& typed, const PlaceInputs& inputs,
                                    std::size_t layer) {
  const auto servers = static_cast<std::size_t>(typed.nodes);
  if (inputs.layers.sources.empty()) {
    const auto row = inputs.layers.loads.row(layer);
    return spread_over_servers(std::vector<double>(row.begin(), row.end()), servers, typed.spread,
                               kSpreadSeed + layer);
  }
  const Matrix<double>& sources = inputs.layers.sources[layer];
  if (sources.rows() % servers != 0) {
    return error_at(typed.loads,
                    fmt::format("the {0} sources of the trace do not divide over {1} nodes: give "
                                "--nodes a divisor of {0}",
                                sources.rows(), servers));
  }
  DemandMatrix sent(servers, sources.cols());
  for (std::size_t s = 0; s < sources.rows(); ++s) {
    for (std::size_t x = 0; x < sources.cols(); ++x) {
      sent(s / (sources.rows() / servers), x) += sources(s, x);
    }
  }
  return sent;
}

Result<std::vector<PlacementGain>> place_joint(const PlaceArguments& typed,
                                               const PlaceInputs& inputs) {
  if (typed.gpus % typed.nodes != 0 || typed.slots < typed.gpus) {
    return Error{
        "--policy joint needs equal nodes and at least one slot per GPU: change --gpus, "
        "--nodes or --slots",
        ""};
  }
  if (typed.slots < static_cast<int>(inputs.layers.loads.cols())) {
    return error_at(
        typed.loads,
        fmt::format("{} slots do not hold its {} experts: give at least --slots {}", typed.slots,
                    inputs.layers.loads.cols(), inputs.layers.loads.cols()));
  }
  const auto& loads = inputs.layers.loads.cells();
  if (!loads.empty() && *std::max_element(loads.begin(), loads.end()) > kMostJointLoad) {
    return Error{fmt::format("a load is above {}: give the loads in a larger unit", kMostJointLoad),
                 typed.loads};
  }
  std::vector<PlacementGain> gains;
  for (std::size_t l = 0; l < inputs.layers.loads.rows(); ++l) {
    Result<DemandMatrix> sent = sent_by_server(typed, inputs, l);
    if (!sent) {
      return sent.error();
    }
    plan::JointProblem problem;
    problem.sent = std::move(sent).value();
    problem.gpus_per_server = typed.gpus / typed.nodes;
    problem.alpha = typed.alpha;
    problem.eps = typed.eps;
    Result<PlacementGain> gain = placement_gain(problem, typed.slots);
    if (!gain) {
      return error_at(typed.loads, fmt::format("layer {}: {}", l, gain.error().message));
    }
    gains.push_back(std::move(gain).value());
  }
  return gains;
}

}  // namespace

void add_joint_options(CLI::App& command, PlaceArguments& typed) {
  command.add_option("--alpha", typed.alpha, "joint: optical NICs of a node")
      ->check(CLI::Range(0, 1024));
  command.add_option("--eps", typed.eps, "joint: electrical NICs of a node")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--spread", typed.spread,
                  "joint: how much nodes differ in what they have for an expert, sigma of a "
                  "log-normal share; a trace says it itself")
      ->capture_default_str()
      ->check(finite_range(0.0, 5.0));
}

int run_place_joint(const PlaceArguments& typed, const PlaceInputs& inputs) {
  const Result<std::vector<PlacementGain>> gains = place_joint(typed, inputs);
  if (!gains) {
    return report_usage_error(gains.error());
  }
  if (typed.json) {
    print_json(joint_json(*gains, inputs.layers.loads.cols()));
  } else {
    fmt::print("{}", joint_text(*gains));
  }
  return kExitOk;
}

}  // namespace mixnet::cli
