#include <algorithm>
#include <string>
#include <vector>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "plan/overlap_policy.h"
#include "scenario/deployment.h"

namespace mixnet::cli {
namespace {

constexpr int kPolicyTables = 20;

// CPU time of one table of the example deployment, at another expert-parallel size.
Result<BenchFigure> run_policy(int ep) {
  Result<Deployment> deployment =
      scenario::read_deployment("examples/deployment-deepseek-h20.toml");
  if (!deployment) {
    return Error{deployment.error().message + ": run this benchmark in the source tree",
                 deployment.error().where};
  }
  deployment->ep = ep;
  deployment->model.experts = std::max(deployment->model.experts, ep);
  std::size_t choices = 0;
  const double before_s = process_usage().cpu_s;
  for (int i = 0; i < kPolicyTables; ++i) {
    choices = 0;
    for (const plan::PolicyRow& row : plan::overlap_policy(*deployment)) {
      choices += row.entries.size();
    }
  }
  BenchFigure figure;
  figure.cpu_s = (process_usage().cpu_s - before_s) / kPolicyTables;
  figure.against = "nothing: a table is made once per deployment";
  figure.details = {{"gpus", ep},
                    {"experts", deployment->model.experts},
                    {"batches", deployment->batches.size()},
                    {"choices", choices}};
  return figure;
}

}  // namespace

std::vector<BenchCase> overlap_benches() {
  const std::string what = "transport and overlap for five batch sizes, DeepSeek-R1 on H20, EP ";
  return {{"policy-32", what + "32", [] { return run_policy(32); }},
          {"policy-256", what + "256", [] { return run_policy(256); }},
          {"policy-4096", what + "4,096 with as many experts", [] { return run_policy(4096); }}};
}

}  // namespace mixnet::cli
