#include <fmt/format.h>

#include "cli/bench.h"
#include "cli/compare.h"
#include "cli/policies.h"
#include "cli/process_usage.h"

namespace mixnet::cli {
namespace {

// No other tool answers the same question, so the reference is a budget that a reader can hold the
// figure against.
Result<BenchFigure> run_compare(const char* path, double budget_cpu_s) {
  const Result<scenario::Scenario> scenario = scenario::read_scenario(path);
  if (!scenario) {
    return Error{scenario.error().text() + " (run this from the project's root)", ""};
  }
  const Result<scenario::RoutingTrace> routing = scenario::load_routing(*scenario);
  if (!routing) {
    return routing.error();
  }
  const double before_s = process_usage().cpu_s;
  const Result<Comparison> comparison = compare(*scenario, routing->view(), nullptr);
  const ProcessUsage after = process_usage();
  if (!comparison) {
    return comparison.error();
  }
  BenchFigure figure;
  figure.cpu_s = after.cpu_s - before_s;
  figure.reference_cpu_s = budget_cpu_s;
  figure.against = fmt::format("budget of {} CPU s", budget_cpu_s);
  figure.details = {{"scenario", path},
                    {"gpus", scenario->study.cluster.gpus()},
                    {"fabrics", comparison->fabrics.size()},
                    {"peak_rss_bytes", after.peak_rss_bytes}};
  return figure;
}

// One region of Mixtral 8x7B, 32 layers and 8 micro-batches, that decides anew for every layer, a
// thousand iterations long.
Result<BenchFigure> run_thousand_iterations(int tensor_ranks) {
  const int servers = tensor_ranks;  // 8 expert ranks of 8 GPUs over servers of 8
  const Result<scenario::Scenario> scenario = scenario::read_scenario(
      "examples/mixtral-8x7b-256gpu.toml",
      {"parallelism.pp=1", "parallelism.dp=1", fmt::format("parallelism.tp={}", tensor_ranks),
       fmt::format("cluster.servers={}", servers),
       "routing={generator='log-normal', skew=1.0, drift=0.05}", "run={iterations=1000}",
       "fabric=[{name='mixnet', cadence='layer'}]"});
  if (!scenario) {
    return Error{scenario.error().text() + " (run this from the project's root)", ""};
  }
  const Result<scenario::RoutingTrace> routing = scenario::load_routing(*scenario);
  if (!routing) {
    return routing.error();
  }
  const FabricSpec& spec = scenario->study.fabrics.front();
  sim::IterationOptions options = iteration_policies(spec, scenario->study);
  options.timeline = false;
  const double before_s = process_usage().cpu_s;
  const FabricResult result =
      sim::simulate_iterations(scenario->study, spec, routing->view(), options);
  const ProcessUsage after = process_usage();
  constexpr double kBudget = 60;
  BenchFigure figure;
  figure.cpu_s = after.cpu_s - before_s;
  figure.reference_cpu_s = kBudget;
  figure.against = fmt::format("budget of {} CPU s", kBudget);
  figure.details = {{"servers", servers},
                    {"iterations", result.iterations.size()},
                    {"switches", result.switches},
                    {"peak_rss_bytes", after.peak_rss_bytes}};
  return figure;
}

}  // namespace

std::vector<BenchCase> compare_benches() {
  return {
      {"compare-1024gpu", "all fabrics of examples/mixtral-8x22b-1024gpu.toml",
       [] { return run_compare("examples/mixtral-8x22b-1024gpu.toml", 10); }},
      {"compare-32768gpu", "all fabrics of examples/mixtral-8x7b-32768gpu.toml",
       [] { return run_compare("examples/mixtral-8x7b-32768gpu.toml", 120); }},
      {"thousand-4", "1,000 iterations of a region of 4 servers, circuits per layer",
       [] { return run_thousand_iterations(4); }},
      {"thousand-8", "1,000 iterations of a region of 8 servers, circuits per layer",
       [] { return run_thousand_iterations(8); }},
  };
}

}  // namespace mixnet::cli
