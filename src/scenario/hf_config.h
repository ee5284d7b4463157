#pragma once

#include <string>
#include <string_view>

#include "core/moe_model.h"
#include "core/result.h"

namespace mixnet::scenario {

// Reads the shape of a mixture-of-experts model from a Hugging Face config.json. Known key names:
// Mixtral (num_local_experts), Qwen2-MoE and Qwen3-MoE (num_experts, moe_intermediate_size,
// shared_expert_intermediate_size, decoder_sparse_step, mlp_only_layers), DeepSeek-V2/V3, Kimi-K2
// and GLM (n_routed_experts, n_shared_experts, first_k_dense_replace, moe_layer_freq), OLMoE,
// gpt-oss, DBRX (ffn_config, attn_config). A multimodal model's text_config is used.
// A dense model, a missing key, a value that is not a count, and an arrangement of dense blocks
// that is not "some leading ones, then every n-th is MoE" are errors that name the key.
Result<MoeModel> read_hf_config(const std::string& path);

// The same for text; `file` is for messages.
Result<MoeModel> parse_hf_config(std::string_view text, const std::string& file);

}  // namespace mixnet::scenario
