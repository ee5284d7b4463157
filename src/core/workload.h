#pragma once

#include <cstdint>

#include "core/cluster.h"
#include "core/compute.h"
#include "core/moe_model.h"
#include "core/units.h"

// Bytes, FLOPs and parameters of a mixture-of-experts transformer from its shape: the only place
// where these formulas stand. docs/workload.md explains them.
//
// Notation: h = hidden, q = query heads, v = key/value heads, d = head width, s = sequence length,
// f = FFN width; a multiply-add is 2 FLOPs; an FFN is gated (three matrices); attention is causal,
// so half of the score matrix is computed.
namespace mixnet {

// Forward FLOPs of one token in one layer.
double attention_flops_per_token(const MoeModel& model, int sequence_length);
// Of the scores and weighted values of one new token that attends to `context` cached ones; latent
// attention works in the latent space (the projections of the cache are absorbed).
double decode_score_flops_per_token(const MoeModel& model, int context);
double gate_flops_per_token(const MoeModel& model);
double dense_ffn_flops_per_token(const MoeModel& model);
double shared_expert_flops_per_token(const MoeModel& model);
double head_flops_per_token(const MoeModel& model);  // output projection to the vocabulary
// Of one (token, routed expert) assignment.
double expert_flops_per_assignment(const MoeModel& model);

// Parameters of one layer.
int64_t attention_parameters(const MoeModel& model);
int64_t gate_parameters(const MoeModel& model);
int64_t dense_ffn_parameters(const MoeModel& model);
int64_t shared_expert_parameters(const MoeModel& model);
int64_t expert_parameters(const MoeModel& model);     // of one routed expert
int64_t embedding_parameters(const MoeModel& model);  // one vocabulary matrix

// Elements that one token leaves in the key-value cache of one layer.
int64_t cache_elements_per_token(const MoeModel& model);

// Bytes of one dispatched token copy. Every (token, expert) assignment is one copy.
Bytes assignment_bytes(const MoeModel& model, const ComputeSettings& compute);
// Bytes of the activations of `tokens` tokens between two layers.
Bytes activation_bytes(const MoeModel& model, const ComputeSettings& compute, int64_t tokens);

// Time of `flops` spread over `gpus` GPUs at the stated efficiency.
SimTime compute_time(double flops, int gpus, const GpuSpec& gpu, const ComputeSettings& compute);
// Time of a memory-bound pass over `bytes` spread over `gpus` GPUs.
SimTime memory_time(Bytes bytes, int gpus, const GpuSpec& gpu);

// Ring all-reduce of `bytes` inside a server over n GPUs: each sends 2 (n - 1) / n of the buffer
// over its NVLink, in 2 (n - 1) steps.
SimTime nvlink_all_reduce_time(Bytes bytes, int gpus, const GpuSpec& gpu,
                               const NetworkSettings& network);

// Bytes on the wire for a payload: a header for each started packet, if headers are charged.
Bytes wire_bytes(Bytes payload, const NetworkSettings& network);

}  // namespace mixnet
