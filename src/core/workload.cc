#include "core/workload.h"

namespace mixnet {
namespace {

// Multi-head latent attention keeps a rotary part of this width beside each head's latent part;
// configurations of the DeepSeek family agree on it.
constexpr int kLatentRotaryWidth = 64;

bool is_latent(const MoeModel& m) { return m.kv_lora_rank > 0; }

int64_t query_width(const MoeModel& m) {
  return static_cast<int64_t>(m.query_heads) *
         (m.head_dim + (is_latent(m) ? kLatentRotaryWidth : 0));
}

int64_t value_width(const MoeModel& m) { return static_cast<int64_t>(m.query_heads) * m.head_dim; }

int64_t gated_ffn_parameters(int64_t hidden, int64_t width) { return 3 * hidden * width; }

}  // namespace

int64_t attention_parameters(const MoeModel& m) {
  const int64_t h = m.hidden;
  const int64_t output = value_width(m) * h;
  if (!is_latent(m)) {
    const int64_t key_value = 2LL * m.kv_heads * m.head_dim;
    return h * (query_width(m) + key_value) + output;
  }
  const int64_t rank = m.q_lora_rank;
  const int64_t query = rank > 0 ? h * rank + rank * query_width(m) : h * query_width(m);
  const int64_t key_value =
      h * (m.kv_lora_rank + kLatentRotaryWidth) + m.kv_lora_rank * 2 * value_width(m);
  return query + key_value + output;
}

int64_t gate_parameters(const MoeModel& m) { return static_cast<int64_t>(m.hidden) * m.experts; }
int64_t dense_ffn_parameters(const MoeModel& m) {
  return gated_ffn_parameters(m.hidden, m.dense_ffn);
}
int64_t shared_expert_parameters(const MoeModel& m) {
  return gated_ffn_parameters(m.hidden, m.shared_ffn);
}
int64_t expert_parameters(const MoeModel& m) {
  return gated_ffn_parameters(m.dispatch_width, m.expert_ffn);
}
int64_t embedding_parameters(const MoeModel& m) { return static_cast<int64_t>(m.vocab) * m.hidden; }

double attention_flops_per_token(const MoeModel& m, int sequence_length) {
  const double projections = 2.0 * static_cast<double>(attention_parameters(m));
  // Scores and weighted values, each 2 s d per head and token, halved by the causal mask.
  const double scores =
      static_cast<double>(sequence_length) * static_cast<double>(query_width(m) + value_width(m));
  return projections + scores;
}

double decode_score_flops_per_token(const MoeModel& m, int context) {
  // Per head and cached token a query-key product and a weighted value, without causal half.
  const double width = is_latent(m) ? static_cast<double>(m.query_heads) *
                                          (2.0 * m.kv_lora_rank + kLatentRotaryWidth)
                                    : static_cast<double>(query_width(m) + value_width(m));
  return 2.0 * context * width;
}

double gate_flops_per_token(const MoeModel& m) {
  return 2.0 * static_cast<double>(gate_parameters(m));
}
double dense_ffn_flops_per_token(const MoeModel& m) {
  return 2.0 * static_cast<double>(dense_ffn_parameters(m));
}
double shared_expert_flops_per_token(const MoeModel& m) {
  return 2.0 * static_cast<double>(shared_expert_parameters(m));
}
double head_flops_per_token(const MoeModel& m) {
  return 2.0 * static_cast<double>(embedding_parameters(m));
}
double expert_flops_per_assignment(const MoeModel& m) {
  return 2.0 * static_cast<double>(expert_parameters(m));
}

int64_t cache_elements_per_token(const MoeModel& m) {
  return is_latent(m) ? m.kv_lora_rank + kLatentRotaryWidth : 2LL * m.kv_heads * m.head_dim;
}

Bytes assignment_bytes(const MoeModel& m, const ComputeSettings& compute) {
  return Bytes(static_cast<int64_t>(m.dispatch_width) * compute.bytes_per_element);
}

Bytes activation_bytes(const MoeModel& m, const ComputeSettings& compute, int64_t tokens) {
  return Bytes(tokens * m.hidden * compute.bytes_per_element);
}

SimTime compute_time(double flops, int gpus, const GpuSpec& gpu, const ComputeSettings& compute) {
  const double rate = static_cast<double>(gpus) * gpu.bf16_tflops * 1e12 * compute.efficiency;
  return SimTime::from_seconds(flops / rate);
}

SimTime memory_time(Bytes bytes, int gpus, const GpuSpec& gpu) {
  const double rate = static_cast<double>(gpus) * gpu.hbm_gbytes_per_s * 1e9;
  return SimTime::from_seconds(static_cast<double>(bytes.count()) / rate);
}

SimTime nvlink_all_reduce_time(Bytes bytes, int gpus, const GpuSpec& gpu,
                               const NetworkSettings& network) {
  if (gpus <= 1) {
    return SimTime();
  }
  const double sent =
      2.0 * static_cast<double>(gpus - 1) / gpus * static_cast<double>(bytes.count());
  return SimTime::from_seconds(sent / (gpu.nvlink_gbytes_per_s * 1e9)) +
         network.nvlink_latency * (2LL * (gpus - 1));
}

Bytes wire_bytes(Bytes payload, const NetworkSettings& network) {
  if (!network.headers || payload.count() == 0) {
    return payload;
  }
  const int64_t size = network.packet_payload.count();
  const int64_t packets = (payload.count() + size - 1) / size;
  return payload + network.packet_header * packets;
}

}  // namespace mixnet
