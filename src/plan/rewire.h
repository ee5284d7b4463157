#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/fabric_spec.h"
#include "core/matrix.h"
#include "plan/region_time.h"
#include "plan/wire.h"

// Partial change: which circuits of a running region to change so that the change pays.
//
// Problem. Circuits are laid; the demand has moved. Every circuit that is changed is dark for
// seconds, so few changes that bring most of the gain may beat the best wiring. A change of m
// circuits takes max(removed, added) = m of them out of service: removed ones at once, added ones
// until they are up. What is wanted is the frontier: for every m the fastest wiring found, as far
// as more changes bring more.
//
// Method. Two walks start at the laid circuits; each of their stops is an offer.
//   local moves: the circuit end of the slowest server moves (wire_moves.h has the moves), each
//     step judged by reduction of that server's time / circuits that become dark by it;
//   towards the fresh wiring: its circuits are added one by one, each pushing out only the circuits
//     whose ports it needs, those with the highest reduction per dark circuit first.
// The fresh wiring itself is an offer too, so a free change loses nothing against it. Every offer
// keeps degrees and symmetry.
// The best partial change is NP-hard already for the whole change (plan/wire_split.h), so this is a
// heuristic. O(n^3) time evaluations a local step, O(changes) completions for the second walk.
// Minimal rewiring as an aim: FastReChain (arXiv 2507.12265).
namespace mixnet::plan {

struct RewireOption {
  Matrix<int> circuits;
  int changed = 0;             // max(removed, added)
  double completion = 0;       // of the demand, once all is up
  double dark_completion = 0;  // over the circuits that stay: while the change is under way
};

// Offers by ascending `changed`, each with a lower completion than all before. The first is the
// laid circuits (changed = 0). `fresh`: circuits for this demand, chosen without regard to `laid`.
// Both keep the NIC counts of the problem.
std::vector<RewireOption> rewire_frontier(const WireProblem& problem, const Matrix<int>& laid,
                                          const Matrix<int>& fresh, Allocator allocator);

// The option with the least horizon * completion + cost, the first of equals; `cost` has one entry
// per option, in the unit of horizon * completion. The frontier is not empty.
std::size_t best_rewire(std::span<const RewireOption> frontier, std::span<const double> cost,
                        double horizon);

// Exchanges the partners of two circuits as long as the summed completion of `matrices` gets lower,
// from `circuits` on: wiring for a sum of demands is not the best wiring for demands that are sent
// one after the other. Looks at no more than `most` completions. Degrees stay as they are.
Matrix<int> swap_circuits(const Region& region, std::span<const DemandMatrix> matrices,
                          Matrix<int> circuits, int64_t most);

}  // namespace mixnet::plan
