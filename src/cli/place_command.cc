#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "cli/place_arguments.h"
#include "cli/place_input.h"
#include "plan/eplb.h"
#include "plan/place.h"
#include "report/table.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostGpus = 1 << 16;
constexpr int kMostSlots = 1 << 20;

struct Answer {
  std::vector<plan::LayerPlacement> layers;
  std::string method;  // of the policy eplb: hierarchical or global
  std::set<std::string> notes;
};

plan::PlaceProblem problem_of(const PlaceInputs& inputs, std::size_t layer, int groups) {
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

Status check_current(const PlaceArguments& typed, const PlaceInputs& inputs) {
  for (std::size_t l = 0; l < inputs.current.size(); ++l) {
    const plan::PlaceProblem problem = problem_of(inputs, l, typed.groups);
    if (Status status = plan::check_current(problem, inputs.cluster.slots()); !status) {
      return error_at(typed.current, fmt::format("layer {}: {}", l, status.error().message));
    }
  }
  return Status();
}

Result<PlaceInputs> read_inputs(PlaceArguments& typed) {
  PlaceInputs inputs;
  Result<LayerLoads> layers = read_layer_loads(typed.loads);
  if (!layers) {
    return layers.error();
  }
  inputs.layers = std::move(layers).value();
  if (Status status =
          check_groups(typed, static_cast<int64_t>(inputs.layers.loads.cols()), typed.loads);
      !status) {
    return status.error();
  }
  Result<plan::PlaceCluster> cluster = cluster_of(typed);
  if (!cluster) {
    return cluster.error();
  }
  inputs.cluster = std::move(cluster).value();
  inputs.notes = shape_notes(typed);
  if (Status status = plan::check_place_size(inputs.cluster, inputs.layers.loads.cols()); !status) {
    return error_at(typed.loads, status.error().message);
  }
  if (!typed.current.empty()) {
    Result<std::vector<std::vector<int>>> maps =
        read_current(typed.current, inputs.layers.loads.rows());
    if (!maps) {
      return maps.error();
    }
    inputs.current = std::move(maps).value();
    if (Status status = check_current(typed, inputs); !status) {
      return status.error();
    }
  }
  return inputs;
}

Result<Answer> place_eplb(const PlaceArguments& typed, const PlaceInputs& inputs) {
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
    if (!problem.current.empty()) {
      layer.moved = plan::moved_experts(inputs.cluster, problem.current, layer.phy2log);
    }
    answer.layers.push_back(std::move(layer));
  }
  return answer;
}

Result<Answer> place_nic_aware(const PlaceArguments& typed, const PlaceInputs& inputs) {
  plan::PlaceOptions options;
  options.nic_weight = typed.nic_weight;
  options.move_cost = typed.move_cost;
  options.work = static_cast<int64_t>(typed.budget_ms * kPlaceStepsPerMs);
  Answer answer;
  if (typed.groups > 1 && inputs.cluster.hosts() == 1) {
    answer.notes.insert("all groups are on the only node, so --groups changes nothing");
  }
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
      return error_at(typed.loads, fmt::format("layer {}: {}", l, layer.error().message));
    }
    if (!layer->note.empty()) {
      answer.notes.insert(layer->note);
    }
    if (layer->above_eplb) {
      answer.notes.insert(
          "some layers carry more on a GPU than EPLB's map: it repeats an expert there, or the "
          "search would take longer");
    }
    answer.layers.push_back(std::move(layer).value());
  }
  return answer;
}

Json to_json(const PlaceArguments& typed, const PlaceInputs& inputs, const Answer& answer) {
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

void print_table(const PlaceArguments& typed, const PlaceInputs& inputs, const Answer& answer) {
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

// Options that go together, or not at all.
Status check_arguments(const PlaceArguments& typed, bool joint) {
  if (typed.loads.empty() == typed.replay.empty()) {
    return Error{"give either LOADS or --replay TRACE", ""};
  }
  if (joint && !typed.replay.empty()) {
    return Error{"--replay compares placements alone: use --policy eplb or nic-aware", ""};
  }
  if (!typed.current.empty() && (joint || !typed.replay.empty())) {
    return Error{"--current is for a placement alone, not for --policy joint or --replay", ""};
  }
  if (joint && typed.alpha + typed.eps == 0) {
    return Error{
        "--policy joint decides experts and circuits together: give the NICs of a node, "
        "for example --alpha 6 --eps 2",
        ""};
  }
  return Status();
}

Status check_effects(const CLI::App& command, const PlaceArguments& typed) {
  const bool joint = typed.policy == plan::place_policy_name(plan::PlacePolicy::kJoint);
  const bool nic_aware = typed.policy == plan::place_policy_name(plan::PlacePolicy::kNicAware);
  const bool replay = !typed.replay.empty();
  const bool moves = nic_aware && (replay || !typed.current.empty());
  const char* const is_replay = "it is for --replay TRACE";
  const char* const is_joint = "--alpha, --eps and --spread are for --policy joint";
  const char* const is_nic_aware = "it is for --policy nic-aware";
  return check_used(
      command,
      {{"--out", replay, "--out is for --replay; the maps of a placement come with --json"},
       {"--every", replay, is_replay},
       {"--threshold", replay, is_replay},
       {"--swap-size", replay, is_replay},
       {"--swap-rate", replay, is_replay},
       {"--token-time", replay, is_replay},
       {"--weight-bytes", replay, is_replay},
       {"--weight-bytes", !typed.swap_cost.size.empty(), "it is for --swap-size"},
       {"--swap-training", replay, is_replay},
       {"--alpha", joint, is_joint},
       {"--eps", joint, is_joint},
       {"--spread", joint, is_joint},
       {"--spread", !typed.loads.ends_with(".npy"),
        "the trace says what every source sends; leave it out"},
       {"--groups", !joint, "--policy joint knows no groups; use eplb or nic-aware"},
       {"--nic-weight", nic_aware, is_nic_aware},
       {"--budget", nic_aware, is_nic_aware},
       {"--move-cost", moves,
        "it is for --policy nic-aware with a placement in use; give it with --current"}});
}

int run_place(const CLI::App& command, PlaceArguments typed) {
  if (Status status = check_effects(command, typed); !status) {
    return report_usage_error(status.error());
  }
  const bool joint = typed.policy == plan::place_policy_name(plan::PlacePolicy::kJoint);
  if (Status status = check_arguments(typed, joint); !status) {
    return report_usage_error(status.error());
  }
  if (!typed.replay.empty()) {
    const Result<plan::PlaceCluster> cluster = cluster_of(typed);
    return cluster ? run_place_replay(typed, *cluster) : report_usage_error(cluster.error());
  }
  const Result<PlaceInputs> inputs = read_inputs(typed);
  if (!inputs) {
    return report_usage_error(inputs.error());
  }
  if (joint) {
    for (const std::string& note : inputs->notes) {
      print_note("note: " + note);
    }
    return run_place_joint(typed, *inputs);
  }
  const bool eplb = typed.policy == plan::place_policy_name(plan::PlacePolicy::kEplb);
  Result<Answer> answer = eplb ? place_eplb(typed, *inputs) : place_nic_aware(typed, *inputs);
  if (!answer) {
    return report_usage_error(answer.error());
  }
  answer->notes.insert(inputs->notes.begin(), inputs->notes.end());
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
      ->check(finite_range(0.0, 1e3));
  command
      ->add_option("--nic-weight", typed->nic_weight,
                   "weight of the NICs against the GPUs in the objective")
      ->capture_default_str()
      ->check(finite_range(0.0, 1e3));
  command
      ->add_option("--budget", typed->budget_ms,
                   "nic-aware: milliseconds of search per layer on a common machine; it counts "
                   "steps, so that equal budgets give equal answers; 0: the greedy start")
      ->capture_default_str()
      ->check(finite_range(0.0, 1e6));
  command->add_flag("--json", typed->json, "print one JSON object instead of a table");
  command->footer(
      "Examples: mixnet place examples/data/olmoe_loads.csv --gpus 16 --nodes 2 --slots 96\n"
      "          mixnet place examples/data/olmoe_loads.csv --policy joint --gpus 64 --nodes 8 "
      "--slots 64 --alpha 6 --eps 2\n"
      "          mixnet place --replay trace.npy --every 200 --gpus 16 --nodes 2 --slots 72\n"
      "          mixnet place --replay trace.npy --topology examples/h20.toml --nodes 2 --slots 72 "
      "--swap-size 42MiB --token-time 1us\n"
      "          mixnet place loads.csv --topology examples/h20.toml --nodes 4 --slots 288 --json");
  command->callback(
      [command, typed, &outcome] { outcome.exit_code = run_place(*command, *typed); });
}

}  // namespace mixnet::cli
