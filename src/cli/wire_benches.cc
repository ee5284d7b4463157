#include <cmath>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "core/random.h"
#include "plan/wire.h"

namespace mixnet::cli {
namespace {

constexpr const char* kTarget = "the time that a decision may take on one core";

// Log-normal demand, 6 + 2 NICs: mean CPU time of one decision and the ratio to the bound, over as
// many demands as take about a second.
Result<BenchFigure> run_relay(std::size_t servers, double sigma, int demands, double budget_s) {
  double ratio = 0;
  double worst = 0;
  double cpu_s = 0;
  for (int seed = 1; seed <= demands; ++seed) {
    RandomStream random(static_cast<uint64_t>(seed), "wire bench");
    DemandMatrix demand(servers, servers);
    for (double& d : demand.cells()) {
      d = 1e6 * random.log_normal(0, sigma);
    }
    const plan::WireProblem problem{std::move(demand), 6, 2};
    const double before_s = process_usage().cpu_s;
    const Wiring wiring = plan::wire(problem, Allocator::kRelay);
    cpu_s += process_usage().cpu_s - before_s;
    ratio += wiring.completion / wiring.bound / demands;
    worst = std::fmax(worst, wiring.completion / wiring.bound);
  }
  BenchFigure figure;
  figure.cpu_s = cpu_s / demands;
  figure.reference_cpu_s = budget_s;
  figure.against = kTarget;
  figure.details = {{"servers", servers},
                    {"sigma", sigma},
                    {"demands", demands},
                    {"mean_to_bound", ratio},
                    {"worst_to_bound", worst}};
  return figure;
}

}  // namespace

std::vector<BenchCase> wire_benches() {
  std::vector<BenchCase> benches;
  struct Row {
    const char* name;
    std::size_t servers;
    double sigma;
    int demands;
    double budget_s;
  };
  for (const Row row :
       {Row{"relay-8", 8, 1.0, 200, 0.5e-3}, Row{"relay-16", 16, 1.0, 50, 2e-3},
        Row{"relay-32", 32, 1.0, 20, 6.5e-3}, Row{"relay-64", 64, 1.0, 10, 20e-3},
        Row{"relay-64-even", 64, 0.5, 10, 20e-3}, Row{"relay-250", 250, 1.0, 2, 250e-3}}) {
    benches.push_back(
        {row.name, "circuits and shares with one relay hop, log-normal demand",
         [row] { return run_relay(row.servers, row.sigma, row.demands, row.budget_s); }});
  }
  return benches;
}

}  // namespace mixnet::cli
