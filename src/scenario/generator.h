#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "scenario/trace.h"

namespace mixnet::scenario {

enum class LoadShape { kUniform, kZipf, kLogNormal };

// A synthetic routing trace: expert popularity per layer of the given shape, drifting over the
// iterations, with per-source deviations; every source sends exactly tokens * top_k assignments.
struct GeneratorOptions {
  LoadShape shape = LoadShape::kLogNormal;
  double skew = 1.0;       // Zipf exponent or log-normal sigma; ignored for uniform
  double drift = 0.05;     // share of log-popularity replaced by fresh noise per iteration
  int hot_experts = 0;     // experts that each source prefers on its own
  double hot_share = 0.0;  // share of a source's tokens that go to its hot experts
  int64_t iterations = 1;
  int64_t layers = 1;
  int64_t sources = 1;
  int64_t experts = 1;
  int64_t tokens = 1;  // per source and step
  int top_k = 1;       // distinct experts per token: no count exceeds `tokens`
  uint64_t seed = 1;
};

Result<RoutingTrace> generate_trace(const GeneratorOptions& options);

}  // namespace mixnet::scenario
