#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ep/conformance.h"
#include "ep/simulated_fabric.h"

namespace mixnet::ep {

// Ranks of a test under the simulated clock, each with the state of a communicator.
struct SimulatedRanks {
  std::vector<int> host_sizes = {2, 2};
  int rails = 1;
  uint64_t window_bytes = 1 << 20;
  Patience patience;
  uint64_t seed = 1;
  std::vector<SimulatedFault> faults;

  using Body = std::function<std::string(ExchangeState&)>;

  // What `body` returned, by rank; "killed" of those that did not come so far.
  std::vector<std::string> run(const Body& body) const {
    SimulationOptions options;
    options.ranks = RankMap(host_sizes);
    options.rails = rails;
    options.window_bytes = window_bytes;
    options.seed = seed;
    std::vector<std::string> texts(at(options.ranks.ranks()), "killed");
    run_simulated(options, faults, [&](Transport& transport) {
      HostCopyEngine copies;
      ExchangeState state(transport, copies, patience);
      texts[at(transport.rank())] = body(state);
    });
    return texts;
  }
  // `body` returns what is wrong.
  void expect_right(const Body& body) const {
    const std::vector<std::string> texts = run(body);
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      EXPECT_EQ(texts[rank], "") << "rank " << rank << " of " << texts.size();
    }
  }
  // `body` returns the same on all ranks.
  std::string said_by_all(const Body& body) const {
    const std::vector<std::string> texts = run(body);
    const std::set<std::string> different(texts.begin(), texts.end());
    EXPECT_EQ(different.size(), 1u) << *different.begin() << "\n" << *different.rbegin();
    return texts.front();
  }
};

// As if this rank computed for so long: it is heard of, but takes part in nothing.
inline void compute_for(ExchangeState& state, Duration time) {
  Transport& transport = state.endpoint.transport;
  const Instant until = transport.now() + time;
  while (transport.now() < until) {
    for (Event event = transport.poll(); event.kind != Event::Kind::kNothing;
         event = transport.poll()) {
      state.endpoint.early.push_back(std::move(event));
    }
    transport.wait(until);
  }
}

}  // namespace mixnet::ep
