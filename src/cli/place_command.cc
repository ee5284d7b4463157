#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/place_input.h"
#include "cli/place_output.h"
#include "cli/place_replay.h"
#include "cli/placement_gain.h"
#include "plan/eplb.h"
#include "plan/place.h"
#include "report/table.h"
#include "scenario/host_file.h"
#include "scenario/trace.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostGpus = 1 << 16;
constexpr int kMostSlots = 1 << 20;
constexpr double kStepsPerMs = 1e6;

constexpr uint64_t kSpreadSeed = 1;

struct PlaceArguments {
  std::string loads;
  std::string replay;  // a trace, instead of loads
  int64_t every = 200;
  int64_t threshold = 1;
  int alpha = 0;
  int eps = 0;
  double spread = 0;
  std::string policy = "nic-aware";
  int gpus = 0;
  int nodes = 0;
  int slots = 0;
  int groups = 1;
  std::string topology;
  std::string current;
  double budget_ms = static_cast<double>(plan::kDefaultPlaceWork) / kStepsPerMs;
  double nic_weight = 1;
  double move_cost = 1e-3;
  bool json = false;
};

// Everything the policies need, checked.
struct Inputs {
  LayerLoads layers;
  std::vector<std::vector<int>> current;
  plan::PlaceCluster cluster;
  std::vector<std::string> notes;
};

struct Answer {
  std::vector<plan::LayerPlacement> layers;
  std::string method;  // of the policy eplb: hierarchical or global
  std::set<std::string> notes;
};

template <typename T>
Json rows_of(const Matrix<T>& matrix) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    const auto row = matrix.row(i);
    rows.push_back(std::vector<T>(row.begin(), row.end()));
  }
  return rows;
}

// GPUs and nodes that were not typed follow from the topology.
Result<plan::PlaceCluster> cluster_of(PlaceArguments& typed) {
  std::optional<HostShape> shape;
  if (!typed.topology.empty()) {
    Result<HostShape> read = scenario::read_host_shape(typed.topology);
    if (!read) {
      return read.error();
    }
    shape = std::move(read).value();
    const int room = static_cast<int>(shape->nic_of_gpu.size());
    if (typed.gpus == 0 && typed.nodes > 0) {
      typed.gpus = typed.nodes * room;
    } else if (typed.nodes == 0 && typed.gpus > 0) {
      typed.nodes = (typed.gpus + room - 1) / room;
    }
  }
  if (typed.gpus == 0 || typed.nodes == 0) {
    return Error{"give --gpus and --nodes, or one of them and --topology", ""};
  }
  if (!shape) {
    shape = plan::one_nic_per_gpu((typed.gpus + typed.nodes - 1) / typed.nodes);
  }
  return plan::even_cluster(typed.gpus, typed.nodes, typed.slots, *shape);
}

Result<Inputs> read_inputs(PlaceArguments& typed) {
  Inputs inputs;
  Result<LayerLoads> layers = read_layer_loads(typed.loads);
  if (!layers) {
    return layers.error();
  }
  inputs.layers = std::move(layers).value();
  Result<plan::PlaceCluster> cluster = cluster_of(typed);
  if (!cluster) {
    return cluster.error();
  }
  inputs.cluster = std::move(cluster).value();
  if (!typed.current.empty()) {
    Result<std::vector<std::vector<int>>> maps =
        read_current(typed.current, inputs.layers.loads.rows());
    if (!maps) {
      return maps.error();
    }
    inputs.current = std::move(maps).value();
  }
  return inputs;
}

plan::PlaceProblem problem_of(const Inputs& inputs, std::size_t layer, int groups) {
  plan::PlaceProblem problem;
  const auto row = inputs.layers.loads.row(layer);
  problem.loads.assign(row.begin(), row.end());
  problem.groups = groups;
  if (!inputs.layers.sources.empty()) {
    problem.sources = sources_by_gpu(inputs.layers.sources[layer], inputs.cluster.gpus());
  }
  if (!inputs.current.empty()) {
    problem.current = inputs.current[layer];
  }
  return problem;
}

Result<Answer> place_eplb(const PlaceArguments& typed, const Inputs& inputs) {
  const Result<plan::EplbPlan> plan = plan::rebalance_experts(
      inputs.layers.loads, typed.slots, typed.groups, typed.nodes, typed.gpus);
  if (!plan) {
    return plan.error();
  }
  Answer answer;
  answer.method = plan->hierarchical ? "hierarchical" : "global";
  if (!plan->warning.empty()) {
    answer.notes.insert(plan->warning);
  }
  for (std::size_t l = 0; l < plan->phy2log.rows(); ++l) {
    const plan::PlaceProblem problem = problem_of(inputs, l, typed.groups);
    plan::LayerPlacement layer;
    const auto slots = plan->phy2log.row(l);
    const auto counts = plan->logcnt.row(l);
    layer.phy2log.assign(slots.begin(), slots.end());
    layer.logcnt.assign(counts.begin(), counts.end());
    layer.log2phy = plan->log2phy[l];
    layer.score = plan::score_placement(inputs.cluster, problem, layer.phy2log);
    layer.bound = plan::any_placement_bound(inputs.cluster, problem.loads);
    layer.eplb_gpu = layer.score.gpu;
    if (!problem.current.empty() && problem.current.size() == layer.phy2log.size()) {
      layer.moved = plan::moved_experts(inputs.cluster, problem.current, layer.phy2log);
    }
    answer.layers.push_back(std::move(layer));
  }
  return answer;
}

Result<Answer> place_nic_aware(const PlaceArguments& typed, const Inputs& inputs) {
  plan::PlaceOptions options;
  options.nic_weight = typed.nic_weight;
  options.move_cost = typed.move_cost;
  options.work = static_cast<int64_t>(typed.budget_ms * kStepsPerMs);
  Answer answer;
  for (std::size_t l = 0; l < inputs.layers.loads.rows(); ++l) {
    const plan::PlaceProblem problem = problem_of(inputs, l, typed.groups);
    if (!inputs.layers.sources.empty() && problem.sources.empty()) {
      answer.notes.insert(fmt::format(
          "the {} sources of the trace cannot be divided over {} GPUs, so every GPU is taken to "
          "send as much as any other",
          inputs.layers.sources[l].rows(), inputs.cluster.gpus()));
    }
    Result<plan::LayerPlacement> layer = plan::place_layer(inputs.cluster, problem, options);
    if (!layer) {
      return Error{fmt::format("layer {}: {}", l, layer.error().message), layer.error().where};
    }
    if (!layer->note.empty()) {
      answer.notes.insert(layer->note);
    }
    if (layer->above_eplb) {
      answer.notes.insert(
          "some layers carry more on a GPU than EPLB's map, which repeats an expert there");
    }
    answer.layers.push_back(std::move(layer).value());
  }
  return answer;
}

Json to_json(const PlaceArguments& typed, const Inputs& inputs, const Answer& answer) {
  Json object = {{"policy", typed.policy}, {"gpus", typed.gpus},
                 {"nodes", typed.nodes},   {"slots", typed.slots},
                 {"groups", typed.groups}, {"nics", inputs.cluster.nics()}};
  if (!answer.method.empty()) {
    object["method"] = answer.method;
  }
  object["layers"] = Json::array();
  for (const plan::LayerPlacement& layer : answer.layers) {
    Json entry;
    entry["phy2log"] = layer.phy2log;
    entry["log2phy"] = rows_of(layer.log2phy);
    entry["logcnt"] = layer.logcnt;
    entry["max_over_mean"] = layer.score.gpu;
    entry["bound"] = layer.bound;
    entry["nic_send"] = layer.score.nic_send;
    entry["nic_receive"] = layer.score.nic_receive;
    entry["duplicates"] = layer.score.duplicates;
    entry["eplb_max_over_mean"] = layer.eplb_gpu > 0 ? Json(layer.eplb_gpu) : Json(nullptr);
    entry["moved"] = inputs.current.empty() ? Json(nullptr) : Json(layer.moved);
    object["layers"].push_back(std::move(entry));
  }
  object["notes"] = answer.notes;
  object["version"] = MIXNET_VERSION;
  return object;
}

void print_table(const PlaceArguments& typed, const Inputs& inputs, const Answer& answer) {
  report::Table table({{"layer"},
                       {"GPU max/mean"},
                       {"bound"},
                       {"EPLB"},
                       {"NIC send"},
                       {"NIC receive"},
                       {"duplicates"},
                       {"moved"}});
  const auto number = [](double value) { return fmt::format("{:.4f}", value); };
  for (std::size_t l = 0; l < answer.layers.size(); ++l) {
    const plan::LayerPlacement& a = answer.layers[l];
    const bool network = inputs.cluster.hosts() > 1;
    table.add_row({std::to_string(l), number(a.score.gpu), number(a.bound),
                   a.eplb_gpu > 0 ? number(a.eplb_gpu) : "-",
                   network ? number(a.score.nic_send) : "-",
                   network ? number(a.score.nic_receive) : "-", std::to_string(a.score.duplicates),
                   inputs.current.empty() ? "-" : std::to_string(a.moved)});
  }
  fmt::print(
      "{}\n{}{}: {} slots on {} GPUs in {} nodes with {} NICs. GPU: heaviest over mean load. NIC: "
      "the busiest\nagainst every expert spread evenly over all GPUs. --json prints the maps.\n",
      table.text(), typed.policy, answer.method.empty() ? "" : " (" + answer.method + ")",
      typed.slots, typed.gpus, typed.nodes, inputs.cluster.nics());
}

// Tokens by source server: what a trace says, or spread as typed.
Result<DemandMatrix> sent_by_server(const PlaceArguments& typed, const Inputs& inputs,
                                    std::size_t layer) {
  const auto servers = static_cast<std::size_t>(typed.nodes);
  if (inputs.layers.sources.empty()) {
    const auto row = inputs.layers.loads.row(layer);
    return spread_over_servers(std::vector<double>(row.begin(), row.end()), servers, typed.spread,
                               kSpreadSeed + layer);
  }
  const Matrix<double>& sources = inputs.layers.sources[layer];
  if (sources.rows() % servers != 0) {
    return Error{fmt::format("the {} sources of the trace do not divide over {} nodes",
                             sources.rows(), servers),
                 ""};
  }
  DemandMatrix sent(servers, sources.cols());
  for (std::size_t s = 0; s < sources.rows(); ++s) {
    for (std::size_t x = 0; x < sources.cols(); ++x) {
      sent(s / (sources.rows() / servers), x) += sources(s, x);
    }
  }
  return sent;
}

Result<std::vector<PlacementGain>> place_joint(const PlaceArguments& typed, const Inputs& inputs) {
  if (typed.gpus % typed.nodes != 0 || typed.slots < typed.gpus) {
    return Error{
        "--policy joint needs equal nodes and at least one slot per GPU: change --gpus, "
        "--nodes or --slots",
        ""};
  }
  if (typed.slots < static_cast<int>(inputs.layers.loads.cols())) {
    return Error{
        fmt::format("{} experts need at least as many --slots", inputs.layers.loads.cols()), ""};
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
      return Error{fmt::format("layer {}: {}", l, gain.error().message), gain.error().where};
    }
    gains.push_back(std::move(gain).value());
  }
  return gains;
}

int run_joint(const PlaceArguments& typed, const Inputs& inputs) {
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

int run_replay(const PlaceArguments& typed, const plan::PlaceCluster& cluster) {
  const Result<scenario::RoutingTrace> trace = scenario::RoutingTrace::map(typed.replay);
  if (!trace) {
    return report_usage_error(trace.error());
  }
  PlaceReplayOptions options;
  options.cluster = cluster;
  options.policy = typed.policy == plan::place_policy_name(plan::PlacePolicy::kEplb)
                       ? plan::PlacePolicy::kEplb
                       : plan::PlacePolicy::kNicAware;
  options.groups = typed.groups;
  options.every = typed.every;
  options.swaps.threshold = typed.threshold;
  options.search.move_cost = typed.move_cost;
  options.search.nic_weight = typed.nic_weight;
  options.search.work = static_cast<int64_t>(typed.budget_ms * kStepsPerMs);
  const Result<PlaceReplayResult> result = replay_placement(trace->view(), options);
  if (!result) {
    return report_usage_error(result.error());
  }
  if (typed.json) {
    print_json(replay_json(*result, typed.every));
  } else {
    fmt::print("{}", replay_text(*result, typed.every));
  }
  return kExitOk;
}

// Options that go together, or not at all.
Status check_arguments(const PlaceArguments& typed, bool joint) {
  if (typed.loads.empty() == typed.replay.empty()) {
    return Error{"give either LOADS or --replay TRACE", ""};
  }
  if (joint && !typed.replay.empty()) {
    return Error{"--replay compares placements alone: use --policy eplb or nic-aware", ""};
  }
  if (joint && typed.alpha + typed.eps == 0) {
    return Error{
        "--policy joint decides experts and circuits together: give the NICs of a node, "
        "for example --alpha 6 --eps 2",
        ""};
  }
  if (!joint && (typed.alpha > 0 || typed.eps > 0 || typed.spread > 0)) {
    return Error{"--alpha, --eps and --spread are for --policy joint", ""};
  }
  return Status();
}

int run_place(PlaceArguments typed) {
  const bool joint = typed.policy == plan::place_policy_name(plan::PlacePolicy::kJoint);
  if (Status status = check_arguments(typed, joint); !status) {
    return report_usage_error(status.error());
  }
  if (!typed.replay.empty()) {
    const Result<plan::PlaceCluster> cluster = cluster_of(typed);
    return cluster ? run_replay(typed, *cluster) : report_usage_error(cluster.error());
  }
  const Result<Inputs> inputs = read_inputs(typed);
  if (!inputs) {
    return report_usage_error(inputs.error());
  }
  if (joint) {
    return run_joint(typed, *inputs);
  }
  const bool eplb = typed.policy == plan::place_policy_name(plan::PlacePolicy::kEplb);
  const Result<Answer> answer = eplb ? place_eplb(typed, *inputs) : place_nic_aware(typed, *inputs);
  if (!answer) {
    return report_usage_error(answer.error());
  }
  for (const std::string& note : answer->notes) {
    print_note("note: " + note);
  }
  if (typed.json) {
    print_json(to_json(typed, *inputs, *answer));
  } else {
    print_table(typed, *inputs, *answer);
  }
  return kExitOk;
}

void add_shape_options(CLI::App& command, PlaceArguments& typed) {
  command.add_option("--gpus", typed.gpus, "GPUs of the expert-parallel group")
      ->check(CLI::Range(1, kMostGpus));
  command.add_option("--nodes", typed.nodes, "hosts that they are in")
      ->check(CLI::Range(1, kMostGpus));
  command.add_option("--slots", typed.slots, "experts with their replicas, on all GPUs together")
      ->required()
      ->check(CLI::Range(1, kMostSlots));
  command
      .add_option("--groups", typed.groups,
                  "groups of experts that stay on one host each, for group-limited routing")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostSlots));
  command.add_option(
      "--topology", typed.topology,
      "TOML file with GPUs, NICs and rates of a host, as examples/h20.toml; default: "
      "a NIC per GPU");
}

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
      ->check(CLI::Range(0.0, 5.0));
}

void add_replay_options(CLI::App& command, PlaceArguments& typed) {
  command.add_option("--replay", typed.replay,
                     "routing trace (.npy): how placements age on it, with and without swaps in "
                     "each step; instead of LOADS");
  command.add_option("--every", typed.every, "replay: iterations between plans")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command
      .add_option("--threshold", typed.threshold,
                  "replay: tokens by which a swap must lower the heavier GPU of its pair")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
}

}  // namespace

void add_place_command(CLI::App& app, Outcome& outcome) {
  auto typed = std::make_shared<PlaceArguments>();
  CLI::App* command = app.add_subcommand(
      "place", "choose replicas of experts and their GPUs from the load of every layer");
  command->add_option(
      "LOADS", typed->loads,
      "CSV, one layer per line, one count per expert; or a routing trace (.npy), which "
      "also says where tokens start");
  command
      ->add_option("--policy", typed->policy,
                   "eplb (the maps of deepseek-ai/EPLB), nic-aware (GPUs and NICs, no duplicates), "
                   "or joint (together with circuits: --alpha, --eps)")
      ->capture_default_str()
      ->check(CLI::IsMember({"eplb", "nic-aware", "joint"}));
  add_shape_options(*command, *typed);
  add_joint_options(*command, *typed);
  add_replay_options(*command, *typed);
  command->add_option("--current", typed->current,
                      "placement in use, as --json prints it: nic-aware moves few experts");
  command
      ->add_option("--move-cost", typed->move_cost,
                   "what moving one expert must gain, as a part of the mean GPU load")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e3));
  command
      ->add_option("--nic-weight", typed->nic_weight,
                   "weight of the NICs against the GPUs in the objective")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e3));
  command
      ->add_option("--budget", typed->budget_ms,
                   "nic-aware: milliseconds of search per layer on a common machine; it counts "
                   "steps, so that equal budgets give equal answers; 0: the greedy start")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command->add_flag("--json", typed->json, "print one JSON object instead of a table");
  command->footer(
      "Examples: mixnet place examples/data/olmoe_loads.csv --gpus 16 --nodes 2 --slots 96\n"
      "          mixnet place examples/data/olmoe_loads.csv --policy joint --gpus 64 --nodes 8 "
      "--slots 64 --alpha 6 --eps 2\n"
      "          mixnet place --replay trace.npy --every 200 --gpus 16 --nodes 2 --slots 72\n"
      "          mixnet place loads.csv --topology examples/h20.toml --nodes 4 --slots 288 --json");
  command->callback([typed, &outcome] { outcome.exit_code = run_place(*typed); });
}

}  // namespace mixnet::cli
