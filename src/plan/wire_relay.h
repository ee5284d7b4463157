#pragma once

#include <cstdint>

#include "core/wiring.h"
#include "plan/wire.h"

// Circuits and shares with one optical relay hop.
//
// Uniform demand shows what a relay is worth: with alpha circuits beside e electrical NICs and
// n - 1 peers, direct circuits reach alpha of them, one relay hop up to alpha^2, and the electrical
// NICs carry the rest. With 6 + 2 NICs that is 1.9 times faster at 16 servers (mixnet 12 C).
//
// The search, each part on the result of the one before:
//   1. Algorithm 1 that goes on past blocked pairs;
//   2. simulated annealing on what circuits reach and carry directly (plan/coverage_search.h);
//   3. exchanges of circuits led by the prices of the routing (plan/circuit_exchange.h);
//   4. the routing itself, to within about 0.1 % of the optimum for its circuits
//      (plan/relay_flow.h).
// It is a heuristic: how far it is from the best is known only by the bound.
namespace mixnet::plan {

// The budget that wire() takes if none is given. With the routing at the end, which comes on top,
// `mixnet bench relay-8 relay-64 relay-250` measured 1 ms, 20 ms and 200 ms on one core.
RelayBudget relay_budget(std::size_t servers);

// Best wiring found within the budget; ends early where a bound is met. The problem is valid and
// has demand, and every server with demand has a NIC. Relabelling the servers relabels the answer
// (where servers differ in what they send and receive). The bound is set;
// the completion is left to the caller.
Wiring relay_wiring(const WireProblem& problem, const RelayBudget& budget);

// Shares over circuits that are there, one relay hop allowed. Preconditions as above.
Wiring relay_over(const WireProblem& problem, const Matrix<int>& circuits);

}  // namespace mixnet::plan
