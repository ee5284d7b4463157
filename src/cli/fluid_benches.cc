#include "cli/bench.h"
#include "cli/flow_run.h"
#include "cli/process_usage.h"
#include "scenario/flow_sets.h"

namespace mixnet::cli {
namespace {

constexpr const char* kSimGrid = "simgrid 3.32 (published, other machine)";

// Runs a flow set as the published measurements did: fat-tree, 100 Gb/s, payload only. The time is
// that of the simulation, without making the flow set.
Result<BenchFigure> run_fluid(const scenario::FlowSet& set, double reference_cpu_s,
                              bool reference_unfinished) {
  FlowRunOptions options;
  options.rate = BitRate::from_gbps(100);
  const double before_s = process_usage().cpu_s;
  Result<FlowRun> run = run_flows(set, options);
  if (!run) {
    return run.error();
  }
  const CompletionStats stats = completion_stats(std::move(run->completion));
  const ProcessUsage after = process_usage();
  BenchFigure figure;
  figure.cpu_s = after.cpu_s - before_s;
  figure.reference_cpu_s = reference_cpu_s;
  figure.reference_unfinished = reference_unfinished;
  figure.against = kSimGrid;
  figure.details = {{"flows", set.flows.size()},
                    {"mean_us", stats.mean_us},
                    {"max_us", stats.max_us},
                    {"peak_rss_bytes", after.peak_rss_bytes}};
  return figure;
}

}  // namespace

// Smallest first: the peak memory of a row is that of the process so far.
std::vector<BenchCase> fluid_benches() {
  return {
      {"fluid-rand8-1024", "fluid network, 8 random flows of 1 MiB per host, 1024 hosts",
       [] { return run_fluid(scenario::random_flows(1024, 8), 84.0, false); }},
      {"fluid-moe-1024", "fluid network, skewed all-to-all in 32 groups of 32 hosts",
       [] { return run_fluid(scenario::moe_flows(32, 4), 31.8, false); }},
      {"fluid-a2a-1024", "fluid network, all-to-all of 64 KiB, 1024 hosts",
       [] { return run_fluid(scenario::all_to_all_flows(1024, Bytes(65'536)), 416, true); }},
  };
}

}  // namespace mixnet::cli
