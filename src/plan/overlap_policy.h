#pragma once

#include <string>
#include <vector>

#include "core/deployment.h"
#include "plan/overlap.h"

// Problem: which transport and which overlap should a deployment use at each batch size?
//
// Every choice is predicted and the one with the shortest step wins; among those that are as short
// to a millionth, the first of overlap_choices(), the simplest. Deterministic; O(batches * choices
// * layers). Source: "Balancing and Beyond" (SIGCOMM 2026), section 5.2: a table per deployment.
namespace mixnet::plan {

struct PolicyEntry {
  OverlapChoice choice;
  LayerPrediction time;
};

struct PolicyRow {
  int batch = 0;
  std::vector<PolicyEntry> entries;  // all choices, best first, then by step; at least two
  std::string why;                   // one sentence: why the second is slower

  const PolicyEntry& best() const { return entries[0]; }
  const PolicyEntry& runner_up() const { return entries[1]; }
};

// A row per batch of the deployment, in its order.
std::vector<PolicyRow> overlap_policy(const Deployment& deployment);

// The deployment with `imbalance`, if it is given, turned into `skew`.
Deployment with_resolved_skew(Deployment deployment);

// "mode 1, per-expert x 2".
std::string choice_text(const OverlapChoice& choice);

}  // namespace mixnet::plan
