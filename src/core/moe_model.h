#pragma once

#include <string>

namespace mixnet {

// Shape of a mixture-of-experts transformer, as a Hugging Face config.json or the catalogue gives
// it. Widths in elements, everything else counts; 0 = the model has none.
struct MoeModel {
  std::string name;
  int hidden = 0;
  int layers = 0;          // transformer blocks, dense ones included
  int first_dense = 0;     // leading blocks with a dense FFN
  int moe_every = 1;       // after the dense ones, every n-th block is MoE
  int dense_ffn = 0;       // FFN width of a dense block
  int experts = 0;         // routed experts per MoE block
  int top_k = 0;           // routed experts per token
  int expert_ffn = 0;      // FFN width of one routed expert
  int shared_experts = 0;  // experts that every token visits
  int shared_ffn = 0;      // FFN width of all shared experts together
  int dispatch_width = 0;  // elements of one dispatched token; `hidden` unless experts are latent
  int query_heads = 0;
  int kv_heads = 0;
  int head_dim = 0;     // with latent attention, of a value head
  int q_lora_rank = 0;  // multi-head latent attention; 0 = ordinary attention
  int kv_lora_rank = 0;
  int vocab = 0;

  // Is block `layer` (from 0) an MoE block?
  bool is_moe(int layer) const {
    return layer >= first_dense && (layer - first_dense) % moe_every == moe_every - 1;
  }
  int moe_layers() const { return (layers - first_dense) / moe_every; }
  bool operator==(const MoeModel&) const = default;
};

// How a job is cut. GPUs = tp * pp * dp * ep: `ep` data-parallel ranks share one copy of the
// experts, `dp` counts those copies, so the dense parameters have dp * ep replicas.
struct Parallelism {
  int tp = 1;
  int pp = 1;
  int dp = 1;
  int ep = 1;
  int micro_batch_size = 1;  // sequences of one micro-batch of one data-parallel rank
  int micro_batches = 1;     // micro-batches of one iteration of one data-parallel rank
  int sequence_length = 4096;

  int gpus() const { return tp * pp * dp * ep; }
  long tokens_per_micro_batch() const {
    return static_cast<long>(micro_batch_size) * sequence_length;
  }
  bool operator==(const Parallelism&) const = default;
};

}  // namespace mixnet
