#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "sim/fluid_network.h"

// An all-to-all of n ranks with log-normal sizes over one host port per rank and direction: the
// shape of a MoE dispatch.
namespace mixnet::sim {
namespace {

constexpr int32_t kExtraLink = 1;  // behind the ports, to meet other traffic

std::vector<BitRate> ports(int32_t ranks) {
  return std::vector<BitRate>(static_cast<std::size_t>(2 * ranks + kExtraLink),
                              BitRate::from_gbps(400));
}

std::vector<FlowClass> all_to_all(int32_t ranks) {
  RandomStream random(1, "fluid-benchmark");
  std::vector<FlowClass> flows;
  for (int32_t i = 0; i < ranks; ++i) {
    for (int32_t j = 0; j < ranks; ++j) {
      if (i != j) {
        flows.push_back({{{LinkId(i), 1.0}, {LinkId(ranks + j), 1.0}},
                         Bytes(static_cast<int64_t>(1e6 * random.log_normal(0, 1))),
                         1});
      }
    }
  }
  return flows;
}

SimTime drain(FluidNetwork& network) {
  std::vector<TransferId> done;
  SimTime now;
  while (const auto next = network.next_completion()) {
    now = *next;
    network.advance(now, done);
  }
  return now;
}

void solve(benchmark::State& state) {
  const auto ranks = static_cast<int32_t>(state.range(0));
  const std::vector<FlowClass> flows = all_to_all(ranks);
  FluidNetwork network(ports(ranks));
  SimTime now;
  for (auto _ : state) {
    network.start(flows, now);
    now = drain(network);
  }
}
BENCHMARK(solve)->Arg(8)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);

void start_alone(benchmark::State& state) {
  const auto ranks = static_cast<int32_t>(state.range(0));
  FluidNetwork network(ports(ranks));
  const TemplateId flows = network.define(all_to_all(ranks));
  SimTime now;
  for (auto _ : state) {
    network.start(flows, now);
    now = drain(network);
  }
}
BENCHMARK(start_alone)->Arg(8)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);

// A point-to-point transfer meets the all-to-all on one port, half-way.
void start_and_meet(benchmark::State& state) {
  const auto ranks = static_cast<int32_t>(state.range(0));
  FluidNetwork network(ports(ranks));
  const TemplateId flows = network.define(all_to_all(ranks));
  const LinkShare path[] = {{LinkId(0), 1.0}, {LinkId(2 * ranks), 1.0}};
  SimTime now;
  for (auto _ : state) {
    network.start(flows, now);
    const SimTime alone = *network.next_completion() - now;
    now += SimTime::from_ps(alone.ps() / 2);
    network.start(path, Bytes(1'000'000), now);
    now = drain(network);
  }
}
BENCHMARK(start_and_meet)->Arg(8)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace mixnet::sim

BENCHMARK_MAIN();
