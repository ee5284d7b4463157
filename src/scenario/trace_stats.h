#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/routing.h"

// What a routing trace looks like, in the terms of the field. A step is one layer of one
// iteration; the load of an expert is what all sources send to it in a step; EP rank r of ep holds
// the experts [r * experts / ep, (r + 1) * experts / ep).
namespace mixnet::scenario {

// Largest load divided by the mean load (1 = balanced); 1 if there is no load at all.
double imbalance_ratio(std::span<const int64_t> loads);

// Total variation distance of the normalised loads, 1/2 sum_e |a_e / sum(a) - b_e / sum(b)|: the
// share of all assignments that go somewhere else, 0 (same shares) to 1 (no expert in common).
// 0 if one of the two has no load. The spans have one length.
double load_drift(std::span<const int64_t> a, std::span<const int64_t> b);

// Over some steps.
struct Spread {
  double mean = 0;
  double max = 0;
};

struct LayerStats {
  Spread expert_imbalance;  // imbalance ratio of the experts' loads, over the iterations
  Spread rank_imbalance;    // of the EP ranks' loads
  Spread drift;             // load_drift() of consecutive iterations; 0 with one iteration
  double zero_share = 0;    // share of cells (source, expert) without a token
  double cold_share = 0;  // share of cells below a tenth of their step's mean cell, zeros included
};

struct HotExpert {
  int64_t layer = 0;
  int64_t expert = 0;
  double load_ratio = 0;  // its load over all iterations divided by the layer's mean expert load
};

struct TraceStats {
  std::vector<LayerStats> layers;
  LayerStats overall;              // means over the layers of the means and shares; largest maxima
  std::vector<HotExpert> hottest;  // by load_ratio, then by layer and expert; as many as asked for
  int64_t assignments = 0;         // sum of all counts
  int64_t empty_steps = 0;         // steps without any token
};

// One pass over the trace. `ep` >= 1 divides the number of experts (the caller checks).
TraceStats trace_stats(const RoutingView& trace, int64_t ep, std::size_t hottest);

}  // namespace mixnet::scenario
