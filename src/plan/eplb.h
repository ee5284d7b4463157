#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/result.h"

// The expert load balancer that serving engines use (deepseek-ai/EPLB), as a baseline and as an
// interface: the maps have its shapes, so that vLLM or SGLang take them as they are.
//
// Problem. E logical experts of a layer get P >= E slots ("physical experts") on D GPUs, P / D
// slots each; GPU g owns slots g * P / D to (g + 1) * P / D - 1, and node n owns D / N GPUs in a
// row. An expert with r slots has c / r of its load in each.
//
// Method. Packing of n weights into m bins of n / m items: by weight descending, each into the
// lightest bin that is not full; the identity if n = m. Replication: P - E times one more slot for
// the expert with the largest c / r. Hierarchical policy, if the G groups divide over the N nodes:
// groups are packed into nodes, experts are replicated inside their node, and slots are packed
// into the GPUs of the node. Global policy: the same with one group and one node.
//
// Ties go to the lower index everywhere (the original leaves them to its sort), and loads are
// compared as integers scaled by 2^32, not as 32-bit floats. Weaknesses of the method, such as two
// slots of one expert on one GPU, are reproduced; plan/place.h does without them.
namespace mixnet::plan {

struct EplbPlan {
  Matrix<int> phy2log;               // [layer, P]: logical expert of a slot
  std::vector<Matrix<int>> log2phy;  // [layer][E, most slots of any expert in any layer], padded
                                     // with -1, in the order in which slots were added
  Matrix<int> logcnt;                // [layer, E]: slots of an expert
  bool hierarchical = false;
  std::string warning;  // what was asked for and could not be done; empty if nothing
};

// `weight` is [layers, E], tokens or any other count >= 0. Errors, each with what to change:
// no layers or experts, a negative weight, counts below 1, P < E, G that does not divide E, N that
// does not divide D, D that does not divide P. If N does not divide G, the global policy is used as
// in the original, which ignores nodes and groups; `warning` says so.
// O(layers * P log P).
Result<EplbPlan> rebalance_experts(const Matrix<int64_t>& weight, int num_replicas, int num_groups,
                                   int num_nodes, int num_gpus);

// The slots of one layer: expert of every slot. Errors: those of rebalance_experts().
Result<std::vector<int>> eplb_layer(const std::vector<int64_t>& loads, int slots, int groups,
                                    int nodes, int gpus);

}  // namespace mixnet::plan
