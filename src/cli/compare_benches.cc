#include <fmt/format.h>

#include "cli/bench.h"
#include "cli/compare.h"
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

}  // namespace

std::vector<BenchCase> compare_benches() {
  return {
      {"compare-1024gpu", "all fabrics of examples/mixtral-8x22b-1024gpu.toml",
       [] { return run_compare("examples/mixtral-8x22b-1024gpu.toml", 10); }},
      {"compare-32768gpu", "all fabrics of examples/mixtral-8x7b-32768gpu.toml",
       [] { return run_compare("examples/mixtral-8x7b-32768gpu.toml", 120); }},
  };
}

}  // namespace mixnet::cli
