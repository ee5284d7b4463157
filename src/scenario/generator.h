#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"
#include "scenario/trace.h"

namespace mixnet::scenario {

enum class LoadShape { kUniform, kZipf, kLogNormal };

// A synthetic routing trace: expert popularity per layer of the given shape, drifting over the
// iterations, with per-source deviations; every source sends exactly tokens * top_k assignments.
//
// Popularity. Every expert of a layer carries a latent normal variable z with
//   z(0) ~ N(0, 1),   z(t) = (1 - drift) z(t-1) + sqrt(1 - (1 - drift)^2) N(0, 1),
// so that the shape is the same in every iteration and only who is popular changes.
//   log-normal: popularity exp(skew * z)   (recorded DeepSeek-V3 loads fit this shape best)
//   zipf:       popularity rank^-skew, where the largest z has rank 1
//   uniform:    popularity 1
// Counts. A source's share of an expert is (1 - hot_share) * popularity / sum, plus
// hot_share / hot_experts for the hot experts of that source and layer, which stay the same in all
// iterations. Shares that would exceed one assignment per token are cut there and the rest is
// scaled up. The shares times tokens * top_k are rounded such that every row sum is exact, and such
// that any range of neighbouring experts gets its share to within one assignment, per source and,
// without hot experts, over all sources together. A uniform trace is therefore balanced per expert
// and per rank for every EP degree, even with fewer tokens than experts. Sampling noise is not
// modelled.
//
// Deterministic. Every iteration of every layer has its own random stream: more iterations, layers
// or experts than before never change the noise of earlier ones.
struct GeneratorOptions {
  LoadShape shape = LoadShape::kLogNormal;
  double skew = 1.0;       // Zipf exponent or log-normal sigma, 0..20; ignored for uniform
  double drift = 0.05;     // share of log-popularity replaced by fresh noise per iteration, 0..1
  int hot_experts = 0;     // experts that each source prefers on its own
  double hot_share = 0.0;  // share of a source's assignments that go to its hot experts
  int64_t iterations = 1;
  int64_t layers = 1;
  int64_t sources = 1;
  int64_t experts = 1;
  int64_t tokens = 1;  // per source and step
  int top_k = 1;       // distinct experts per token: no count exceeds `tokens`
  uint64_t seed = 1;
};

// "uniform", "zipf", "log-normal"; the error lists them.
Result<LoadShape> parse_load_shape(const std::string& name);
std::string load_shape_name(LoadShape shape);

// Are the options in range and consistent? The message names the option and what it may be.
Status check_options(const GeneratorOptions& options);

// The trace in memory. Fails as check_options() and for more than 4 GiB of counts.
Result<RoutingTrace> generate_trace(const GeneratorOptions& options);

// Called with the finished and the total number of (iteration, layer) steps.
using GeneratorProgress = std::function<void(int64_t done, int64_t total)>;

// The same trace, row by row into a file: memory for one step only. `progress` may be empty.
// Errors as generate_trace() (without the limit of size) and TraceWriter.
Status generate_to_file(const GeneratorOptions& options, const std::string& path,
                        const GeneratorProgress& progress);

}  // namespace mixnet::scenario
