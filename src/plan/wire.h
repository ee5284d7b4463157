#pragma once

#include <cstdint>

#include "core/fabric_spec.h"
#include "core/matrix.h"
#include "core/wiring.h"
#include "plan/nic_counts.h"

// Problem. Server i has alpha_i optical and eps_i electrical NICs, all of one rate. Demand
// (i, j) is what server i must send to server j; the diagonal is local and ignored. Choose duplex
// circuits (an integer symmetric matrix with row sums <= alpha_i) and split every pair's demand
// over its circuits, the electrical NICs and, where allowed, one optical relay hop, so that the
// last byte arrives as early as possible.
//
// Completion. A pair's circuits carry one unit each per unit of time and direction; the electrical
// fabric is non-blocking, so only a server's eps_i NICs limit it, out and in. The completion is the
// largest load / rate over circuits and servers. Amounts are directional throughout.
//
// Allocators.
//   algorithm1  MixNet (SIGCOMM 2025), section 5.2, as printed: see plan/wire_greedy.h. A pair is
//               all-or-nothing: over its circuits if it has any, else over the electrical NICs.
//   released    the rule of the authors' released simulator, all-or-nothing as well.
//   split       circuits chosen for, and bytes divided by, optimal splitting of each pair over its
//               circuits and the electrical NICs: see plan/wire_split.h.
//   relay       as split, and a pair may also use a third server and two circuits: see
//               plan/wire_relay.h.
namespace mixnet::plan {

struct WireProblem {
  DemandMatrix demand;  // n x n, >= 0
  NicCounts alpha = 0;  // optical NICs per server
  NicCounts eps = 0;    // electrical NICs per server
};

// Pure and deterministic. The problem is valid (square, finite, non-negative); the caller checks
// what came from a file. The completion is +infinity if some pair with demand has neither circuit,
// nor relay, nor electrical NICs at both ends.
Wiring wire(const WireProblem& problem, Allocator allocator);

// Work that the relay allocator may do, in nanoseconds of a common machine: a count of steps, so
// that answers do not depend on the machine or its load. At its end the best answer so far counts.
struct RelayBudget {
  int64_t work = 0;
};

// wire() with the relay allocator and a budget of the caller's.
Wiring wire_with_relays(const WireProblem& problem, const RelayBudget& budget);

// Shares of the demand over circuits that are already there: all-or-nothing for algorithm1 and
// released, optimally split for split, to within about 0.1 % for relay. Preconditions as above;
// `circuits` is n x n, symmetric.
Wiring route_over(const WireProblem& problem, const Matrix<int>& circuits, Allocator allocator);

// Port bound: max over servers of max(sent, received) / (alpha_i + eps_i); +infinity if a server
// without NICs has demand.
double port_bound(const WireProblem& problem);

// Holds for every wiring, relays included: the larger of the port bound and the hop bound. Of what
// server i sends, at least r_i(T) = max(0, row_i - eps_i * T) takes circuits if the completion is
// T. At most h_i(T) of that is direct and uses one circuit hop; the rest is relayed and uses two:
//   sum_i r_i(T) + max(0, r_i(T) - h_i(T)) <= 2 * floor(sum_i alpha_i / 2) * T,
// where h_i(T) is the largest sum_j min(D_ij, C_ij * T) over integers C_ij that sum to <= alpha_i.
// The same holds for what servers receive. O(n^2 log(1 / precision)).
double any_wiring_bound(const WireProblem& problem);

// Holds for every wiring without relays, and is at least any_wiring_bound(): what the circuits of
// a server cannot carry must fit its electrical NICs, row_i - h_i(T) <= eps_i * T for every server
// and direction. +infinity if a server without electrical NICs has more than alpha_i peers.
double no_relay_bound(const WireProblem& problem);

// Completion over bound as the sources of each allocator state it; 1 if there is no demand.
//   split, relay          wiring.completion / wiring.bound, directional.
//   algorithm1, released  both directions of a pair added, as these rules see demand: the slowest
//                         of added demand / circuits over pairs with circuits and, per server,
//                         added demand of pairs without / eps, over max_i added row_i / (alpha +
//                         eps). This is the figure printed for them (2.21 and 1.39 on the authors'
//                         8x8 matrix with 6 + 2 NICs); it differs from completion / bound.
double reported_ratio(const WireProblem& problem, const Wiring& wiring, Allocator allocator);

}  // namespace mixnet::plan
