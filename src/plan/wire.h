#pragma once

#include "core/fabric_spec.h"
#include "core/matrix.h"
#include "core/wiring.h"

// Problem. n servers have `alpha` optical and `eps` electrical NICs each, all of one rate. Demand
// (i, j) is what server i must send to server j; the diagonal is local and ignored. Choose duplex
// circuits (an integer symmetric matrix with row sums <= alpha) and split every pair's demand over
// its circuits, the electrical NICs and, where allowed, one optical relay hop, so that the last
// byte arrives as early as possible.
namespace mixnet::plan {

struct WireProblem {
  DemandMatrix demand;  // n x n, >= 0
  int alpha = 0;        // optical NICs per server, >= 0
  int eps = 0;          // electrical NICs per server, >= 0
};

// Pure and deterministic. The problem is valid (square, finite, non-negative, alpha + eps > 0);
// the caller checks what came from a file. If eps is 0 and a pair with demand gets no circuit (and
// no relay), the completion is +infinity.
Wiring wire(const WireProblem& problem, Allocator allocator);

// Port bound: max over servers of max(sent, received) / (alpha + eps).
double port_bound(const WireProblem& problem);

}  // namespace mixnet::plan
