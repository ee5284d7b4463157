#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "core/random.h"
#include "plan/cadence.h"

namespace mixnet::cli {
namespace {

constexpr int kCadenceLayers = 8;  // of one Mixtral 8x7B stage under PP4
constexpr int kIterations = 1000;

// Log-normal demand whose logarithms take a tenth of new ones every iteration.
class WanderingDemand {
 public:
  explicit WanderingDemand(std::size_t servers) : random_(1, "cadence bench") {
    logs_.assign(kCadenceLayers, DemandMatrix(servers, servers));
    for (DemandMatrix& layer : logs_) {
      for (double& x : layer.cells()) {
        x = random_.normal();
      }
    }
  }

  std::vector<DemandMatrix> next() {
    std::vector<DemandMatrix> demand = logs_;
    for (std::size_t layer = 0; layer < logs_.size(); ++layer) {
      for (std::size_t c = 0; c < logs_[layer].cells().size(); ++c) {
        double& x = logs_[layer].cells()[c];
        demand[layer].cells()[c] = 0.005 * std::exp(x);
        x = std::sqrt(0.99) * x + 0.1 * random_.normal();
      }
    }
    return demand;
  }

 private:
  RandomStream random_;
  std::vector<DemandMatrix> logs_;
};

// Decisions only: nobody simulates the iterations in between.
Result<BenchFigure> run_cadence(std::size_t servers, int iterations,
                                const plan::SwitchDevice& device, double budget_ms) {
  const plan::Region region{6, 2, Allocator::kSplit, 1};
  plan::CadenceController controller(region, device);
  WanderingDemand demand(servers);
  plan::IterationLoad load;
  load.layers = kCadenceLayers;
  load.micro_batches = 16;
  load.other = SimTime::from_ms(3000);
  load.iteration_window = SimTime::from_ms(50);
  load.layer_switches = plan::layer_switches(DispatchMode::kBlock, SimTime::from_ms(5),
                                             SimTime::from_ms(15), SimTime::from_ms(10));
  Matrix<int> laid = plan::circuits_for(region, DemandMatrix(servers, servers, 1.0));
  int changes = 0;
  int per_layer = 0;
  BenchFigure figure;
  for (int t = 0; t < iterations; ++t) {
    load.demand = demand.next();
    const double before_s = process_usage().cpu_s;
    controller.observe(load, laid);
    const plan::CadenceDecision decision = controller.decide();
    figure.cpu_s += process_usage().cpu_s - before_s;
    changes += decision.mode == plan::CadenceMode::kRewire ? 1 : 0;
    per_layer += decision.mode == plan::CadenceMode::kLayer ? 1 : 0;
    laid = decision.circuits;
  }
  figure.reference_cpu_s = budget_ms * 1e-3 * iterations;
  figure.against = fmt::format("budget of {} ms per iteration", budget_ms);
  figure.details = {
      {"servers", servers},       {"layers", kCadenceLayers},
      {"iterations", iterations}, {"ms_per_iteration", figure.cpu_s * 1e3 / iterations},
      {"changes", changes},       {"iterations_per_layer", per_layer}};
  return figure;
}

plan::SwitchDevice fast_device() {
  return plan::SwitchDevice{Delay{SimTime::from_us(10), SimTime()}, SimTime(), Delay{}};
}

plan::SwitchDevice middle_device() {
  return plan::SwitchDevice{Delay{SimTime::from_ms(25), SimTime()}, SimTime(), Delay{}};
}

}  // namespace

std::vector<BenchCase> cadence_benches() {
  return {
      {"cadence-10us", "1000 decisions of a region of 8 servers, 10 us switch",
       [] { return run_cadence(8, kIterations, fast_device(), 3); }},
      {"cadence-25ms", "the same with a 25 ms switch",
       [] { return run_cadence(8, kIterations, middle_device(), 3); }},
      {"cadence-prototype", "the same with the prototype's switch and NICs (5.67 s)",
       [] { return run_cadence(8, kIterations, plan::prototype_device(), 3); }},
      {"cadence-32", "50 decisions of a region of 32 servers, 25 ms switch",
       [] { return run_cadence(32, 50, middle_device(), 100); }},
  };
}

}  // namespace mixnet::cli
