#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/failure_runs.h"
#include "scenario/scenario.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct FailuresOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  int draws = 0;
  double probability = kNicFailureProbability;
  bool json = false;
};

constexpr const char* kPublished =
    "The paper has +3.3 % for a NIC (DeepSeek-R1), +5.1 % for a GPU (Mixtral 8x22B), +6.5 % for a\n"
    "server (DeepSeek-R1), each on 1,024 GPUs at 400 Gb/s; docs/failures.md says what differs.\n";

Json to_json(const std::vector<FabricFailures>& fabrics) {
  Json list = Json::array();
  for (const FabricFailures& f : fabrics) {
    Json runs = Json::array();
    for (const FailureRun& run : f.runs) {
      runs.push_back(
          {{"failure", run.what}, {"iteration_s", run.iteration_s}, {"overhead", run.overhead}});
    }
    Json fabric = {{"name", f.fabric}, {"iteration_s", f.iteration_s}, {"failures", runs}};
    if (f.drawn.draws > 0) {
      fabric["drawn"] = {{"draws", f.drawn.draws},
                         {"probability_per_nic", f.drawn.probability},
                         {"draws_with_failures", f.drawn.with_failures},
                         {"mean_overhead", f.drawn.mean_overhead},
                         {"worst_overhead", f.drawn.worst_overhead}};
    }
    list.push_back(fabric);
  }
  return {{"fabrics", list}, {"version", MIXNET_VERSION}};
}

void print_table(const std::vector<FabricFailures>& fabrics) {
  for (const FabricFailures& f : fabrics) {
    fmt::print("{}: {:.4f} s per iteration with nothing broken\n", f.fabric, f.iteration_s);
    for (const FailureRun& run : f.runs) {
      fmt::print("  {:<40}{:>12.4f} s{:>+10.2f} %\n", run.what, run.iteration_s,
                 run.overhead * 100);
    }
    if (f.drawn.draws > 0) {
      fmt::print(
          "  {} jobs with NICs failing at {:.3f} % each: {} hit, mean {:+.3f} %, worst "
          "{:+.2f} %\n",
          f.drawn.draws, f.drawn.probability * 100, f.drawn.with_failures,
          f.drawn.mean_overhead * 100, f.drawn.worst_overhead * 100);
    }
    fmt::print("\n");
  }
  fmt::print("{}", kPublished);
}

int run(const CLI::App& command, const FailuresOptions& options) {
  if (Status status = check_used(command, {{"--probability", options.draws > 0,
                                            "it is for random jobs; add --draws 20, or leave it "
                                            "out"}});
      !status) {
    return report_usage_error(status.error());
  }
  const Result<scenario::Scenario> scenario =
      scenario::read_scenario(options.scenario, options.overrides);
  if (!scenario) {
    return report_usage_error(scenario.error());
  }
  if (scenario->study.failures.empty() && options.draws == 0) {
    return report_usage_error(
        Error{"nothing breaks: add [[failure]] with kind and server (docs/scenario.md), or give "
              "--draws 20",
              options.scenario});
  }
  const Result<scenario::RoutingTrace> routing = scenario::load_routing(*scenario);
  if (!routing) {
    return report_usage_error(routing.error());
  }
  FailureOptions runs;
  runs.draws = options.draws;
  runs.probability = options.probability;
  runs.progress = [](const std::string& what) { fmt::print(stderr, "{}\n", what); };
  const std::vector<FabricFailures> fabrics = run_failures(*scenario, routing->view(), runs);
  if (fabrics.empty()) {
    return report_usage_error(
        Error{"no fabric here can break: failures are simulated on fat-trees and rails with pooled "
              "NICs and on mixnet",
              options.scenario});
  }
  if (options.json) {
    print_json(to_json(fabrics));
  } else {
    print_table(fabrics);
  }
  return kExitOk;
}

}  // namespace

void add_failures_command(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<FailuresOptions>();
  CLI::App* command = app.add_subcommand(
      "failures", "What every failure of a scenario costs per iteration, on every fabric");
  command->footer("Example:\n  mixnet failures examples/mixtral-8x22b-failures.toml --draws 20");
  command->add_option("scenario", options->scenario, "Scenario file with [[failure]] entries")
      ->required();
  command
      ->add_option("--draws", options->draws,
                   "Also draw this many jobs in which NICs fail at random")
      ->check(CLI::Range(0, 100000));
  command
      ->add_option("--probability", options->probability,
                   "Of one NIC failing in a job, for --draws")
      ->check(finite_range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--set", options->overrides,
                      "Change a key of the scenario, e.g. cluster.nic_rate=100Gbps (repeatable)");
  command->add_flag("--json", options->json, "Print one JSON object on standard output");
  command->callback([command, options, &outcome] { outcome.exit_code = run(*command, *options); });
}

}  // namespace mixnet::cli
