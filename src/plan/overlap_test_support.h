#pragma once

#include "core/deployment.h"
#include "plan/overlap.h"

// The deployments that "Balancing and Beyond" (SIGCOMM 2026) measured, with the catalogue's shapes.
namespace mixnet::plan {

inline MoeModel deepseek_r1() {
  MoeModel m;
  m.name = "deepseek-v3";
  m.hidden = m.dispatch_width = 7168;
  m.layers = 61;
  m.first_dense = 3;
  m.dense_ffn = 18432;
  m.experts = 256;
  m.top_k = 8;
  m.expert_ffn = m.shared_ffn = 2048;
  m.shared_experts = 1;
  m.query_heads = m.kv_heads = m.head_dim = 128;
  m.q_lora_rank = 1536;
  m.kv_lora_rank = 512;
  m.vocab = 129280;
  return m;
}

inline MoeModel qwen3_coder() {
  MoeModel m;
  m.name = "qwen3-coder-480b";
  m.hidden = m.dispatch_width = 6144;
  m.layers = 62;
  m.experts = 160;
  m.top_k = 8;
  m.expert_ffn = 2560;
  m.query_heads = 96;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.vocab = 151936;
  return m;
}

// Four 400 Gb/s NICs for eight GPUs.
inline Deployment h20(int ep) {
  Deployment d;
  d.model = deepseek_r1();
  d.gpu = {"h20", 148, 296, 4096, 450};
  d.ep = ep;
  d.nics_per_host = 4;
  d.nic_rate = BitRate::from_gbps(400);
  return d;
}

// A 400 Gb/s NIC per GPU.
inline Deployment h800(int ep) {
  Deployment d = h20(ep);
  d.gpu = {"h800", 989, 1979, 3430, 200};
  d.nics_per_host = 8;
  return d;
}

// Only the bytes and FLOPs: no latencies, kernels or launches.
inline Deployment without_overheads(Deployment d) {
  d.overheads.direct = d.overheads.nvlink = d.overheads.relay = {};
  d.launch = SimTime();
  return d;
}

// Dispatch and combine of a whole batch that overlap with nothing.
inline double communication_us(const Deployment& d, Transport transport, int batch) {
  const PartTimes t = part_times(d, transport, batch, {batch, 1, 0});
  return t.dispatch.alone().us() + t.combine.alone().us();
}

}  // namespace mixnet::plan
