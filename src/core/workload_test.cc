#include "core/workload.h"

#include <gtest/gtest.h>

namespace mixnet {
namespace {

MoeModel mixtral_8x7b() {
  MoeModel m;
  m.name = "mixtral-8x7b";
  m.hidden = 4096;
  m.layers = 32;
  m.experts = 8;
  m.top_k = 2;
  m.expert_ffn = 14336;
  m.dispatch_width = 4096;
  m.query_heads = 32;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.vocab = 32000;
  return m;
}

MoeModel deepseek_v3() {
  MoeModel m;
  m.hidden = 7168;
  m.layers = 61;
  m.first_dense = 3;
  m.dense_ffn = 18432;
  m.experts = 256;
  m.top_k = 8;
  m.expert_ffn = 2048;
  m.shared_experts = 1;
  m.shared_ffn = 2048;
  m.dispatch_width = 7168;
  m.query_heads = 128;
  m.kv_heads = 128;
  m.head_dim = 128;
  m.q_lora_rank = 1536;
  m.kv_lora_rank = 512;
  m.vocab = 129280;
  return m;
}

int64_t total_parameters(const MoeModel& m) {
  int64_t total = 2 * embedding_parameters(m);
  for (int layer = 0; layer < m.layers; ++layer) {
    total += attention_parameters(m);
    total += m.is_moe(layer) ? gate_parameters(m) + shared_expert_parameters(m) +
                                   m.experts * expert_parameters(m)
                             : dense_ffn_parameters(m);
  }
  return total;
}

// The published sizes: 46.7 billion and 671 billion parameters (norms and the multi-token
// prediction head are not counted here).
TEST(Workload, ParameterCountsMatchThePublishedModels) {
  EXPECT_NEAR(static_cast<double>(total_parameters(mixtral_8x7b())) * 1e-9, 46.7, 0.1);
  EXPECT_NEAR(static_cast<double>(total_parameters(deepseek_v3())) * 1e-9, 671.0, 1.0);
}

// The roofline example of the reference: Mixtral 8x7B, micro-batch 8, TP 4, H100 at 40 %: 14.6 ms.
TEST(Workload, ExpertTimeOfMixtralIsTheRoofline) {
  GpuSpec h100;
  h100.bf16_tflops = 989;
  ComputeSettings compute;
  const double assignments = 8.0 * 4096 * 2;
  const SimTime t =
      compute_time(assignments * expert_flops_per_assignment(mixtral_8x7b()), 4, h100, compute);
  EXPECT_NEAR(t.ms(), 14.6, 0.05);
}

TEST(Workload, MoeLayersFollowTheDenseOnes) {
  const MoeModel m = deepseek_v3();
  EXPECT_EQ(m.moe_layers(), 58);
  EXPECT_FALSE(m.is_moe(2));
  EXPECT_TRUE(m.is_moe(3));
  MoeModel every_second = mixtral_8x7b();
  every_second.layers = 48;
  every_second.moe_every = 2;
  EXPECT_EQ(every_second.moe_layers(), 24);
  EXPECT_FALSE(every_second.is_moe(0));
  EXPECT_TRUE(every_second.is_moe(1));
}

TEST(Workload, DecodingReadsTheCacheAndScoresAllOfIt) {
  // Grouped queries: 2 kv_heads d elements; 4 c q d FLOPs, twice the causal ones of a sequence.
  EXPECT_EQ(cache_elements_per_token(mixtral_8x7b()), 2048);
  EXPECT_DOUBLE_EQ(decode_score_flops_per_token(mixtral_8x7b(), 1000), 4.0 * 1000 * 32 * 128);
  // Latent attention: 576 elements; queries of 576, values of 512 in the latent space.
  EXPECT_EQ(cache_elements_per_token(deepseek_v3()), 576);
  EXPECT_DOUBLE_EQ(decode_score_flops_per_token(deepseek_v3(), 1000),
                   2.0 * 1000 * 128 * (576 + 512));
}

TEST(Workload, WireBytesChargeEveryStartedPacket) {
  NetworkSettings network;
  EXPECT_EQ(wire_bytes(Bytes(0), network).count(), 0);
  EXPECT_EQ(wire_bytes(Bytes(1), network).count(), 65);
  EXPECT_EQ(wire_bytes(Bytes(4096), network).count(), 4160);
  EXPECT_EQ(wire_bytes(Bytes(4097), network).count(), 4097 + 128);
  network.headers = false;
  EXPECT_EQ(wire_bytes(Bytes(4097), network).count(), 4097);
}

TEST(Workload, NvlinkAllReduceIsFreeForOneGpu) {
  GpuSpec gpu;
  gpu.nvlink_gbytes_per_s = 450;
  EXPECT_EQ(nvlink_all_reduce_time(Bytes(1'000'000), 1, gpu, NetworkSettings()), SimTime());
  const SimTime t = nvlink_all_reduce_time(Bytes(450'000'000), 2, gpu, NetworkSettings());
  EXPECT_EQ(t, SimTime::from_ms(1) + SimTime::from_us(2));
}

}  // namespace
}  // namespace mixnet
