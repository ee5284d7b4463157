#include "plan/overlap_times.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/check.h"
#include "core/workload.h"
#include "plan/transport_copies.h"

namespace mixnet::plan {
namespace {

constexpr double kHeaderBytes = 16;        // of a dispatched copy (DeepEP)
constexpr double kElementsPerScale = 128;  // one float32 scale each
constexpr double kActivationBytes = 2;

// Parts are capped here, so that sums over any number of layers stay in the range of SimTime.
SimTime part_seconds(double seconds) {
  constexpr double kLongestPart = 100;
  return SimTime::from_seconds(std::min(seconds, kLongestPart));
}

SimTime scaled(SimTime time, double factor) { return part_seconds(time.seconds() * factor); }

double memory_rate(const Deployment& d) {
  return d.gpu.hbm_gbytes_per_s * 1e9 * d.memory_efficiency;
}

double bf16_rate(const Deployment& d) { return d.gpu.bf16_tflops * 1e12 * d.compute_efficiency; }

// At the precision of the weights.
double weight_rate(const Deployment& d) {
  const bool fp8 = d.weight_bytes <= 1 && d.gpu.fp8_tflops > 0;
  return fp8 ? d.gpu.fp8_tflops * 1e12 * d.compute_efficiency : bf16_rate(d);
}

SimTime kernel_time(const Deployment& d, double flops, double rate, double bytes) {
  return part_seconds(std::max(flops / rate, bytes / memory_rate(d))) + d.launch;
}

// A matrix that all tokens pass.
SimTime matrix_time(const Deployment& d, int64_t parameters, int tokens) {
  const auto p = static_cast<double>(parameters);
  return kernel_time(d, 2.0 * p * tokens, weight_rate(d), p * d.weight_bytes);
}

SimTime score_time(const Deployment& d, int tokens) {
  const auto cached = static_cast<double>(cache_elements_per_token(d.model)) * d.cache_bytes;
  if (d.phase == Phase::kDecode) {
    const double flops = decode_score_flops_per_token(d.model, d.context) * tokens;
    return kernel_time(d, flops, bf16_rate(d), cached * d.context * tokens);
  }
  // All of a layer's attention without its projections, which are counted apart.
  const double flops = attention_flops_per_token(d.model, d.context) -
                       2.0 * static_cast<double>(attention_parameters(d.model));
  return kernel_time(d, flops * tokens, bf16_rate(d), cached * tokens);
}

SimTime attention_time(const Deployment& d, int tokens) {
  SimTime time = matrix_time(d, attention_parameters(d.model), tokens) + score_time(d, tokens) +
                 matrix_time(d, gate_parameters(d.model), tokens);
  if (d.model.shared_ffn > 0) {
    time += matrix_time(d, shared_expert_parameters(d.model), tokens);
  }
  return time;
}

// Experts of the fullest GPU in one group.
int group_experts(const Deployment& d, const LayerPart& part) {
  const int held = experts_per_gpu(d);
  return held / part.groups + (part.group < held % part.groups ? 1 : 0);
}

SimTime gemm_time(const Deployment& d, const LayerPart& part) {
  const double held = group_experts(d, part);
  const double picks = static_cast<double>(part.tokens) * d.ep;  // tokens that pick experts
  const double chance = static_cast<double>(d.model.top_k) / d.model.experts;
  const double active = held * (1 - std::pow(1 - chance, picks));
  const double pairs = picks * chance * held * d.skew.gpu;
  const double weights = active * static_cast<double>(expert_parameters(d.model)) * d.weight_bytes;
  // Input, both halves of the gated width, their product, output.
  const double activations =
      pairs * (2.0 * d.model.dispatch_width + 3.0 * d.model.expert_ffn) * kActivationBytes;
  return kernel_time(d, pairs * expert_flops_per_assignment(d.model), weight_rate(d),
                     weights + activations);
}

Transport effective(const Deployment& d, Transport transport) {
  const bool relayed = transport_mode(transport) == 2;
  return relayed && expert_spread(d).hosts() == 1 ? Transport::kNvlink : transport;
}

double nic_skew(const Deployment& d, Transport transport) {
  switch (transport) {
    case Transport::kRelay:
      return d.skew.host;
    case Transport::kRelayCopies:
      return d.skew.host_copies;
    default:
      return d.skew.nic;
  }
}

// Share of the copies that go to one group's experts.
double group_share(const Deployment& d, const LayerPart& part) {
  return static_cast<double>(group_experts(d, part)) / experts_per_gpu(d);
}

SimTime network_time(const Deployment& d, Transport transport, const LayerPart& part,
                     double copy_bytes) {
  const ExpertSpread spread = expert_spread(d);
  const CopiesPerToken copies = copies_per_token(spread, transport, part.groups);
  const double share = group_share(d, part);
  const double detour = 1 + copies.cross_rail_share() * (d.cross_rail_slowdown - 1);
  const double nic = bytes_per_nic(spread, copies, part.tokens, copy_bytes) * share * detour *
                     nic_skew(d, transport) / d.nic_rate.bytes_per_second();
  const double nvlink = part.tokens * copies.nvlink * copy_bytes * share * d.skew.gpu /
                        (d.gpu.nvlink_gbytes_per_s * 1e9 * d.nvlink_efficiency);
  return part_seconds(std::max(nic, nvlink));
}

// One direction: half of what is calibrated for both.
CommunicationTime round_time(const Deployment& d, Transport transport, const LayerPart& part,
                             double copy_bytes) {
  const TransportOverhead& overhead = d.overheads.of(transport);
  CommunicationTime time;
  time.latency = scaled(overhead.latency, 0.5);
  time.network = network_time(d, transport, part, copy_bytes);
  const double share = group_share(d, part);
  if (overhead.kernel == SimTime()) {
    return time;
  }
  if (part.tokens <= kLowLatencyTokens) {
    const SimTime whole = later_of(SimTime(), scaled(overhead.kernel, 0.5) - d.launch);
    time.kernel = d.launch + scaled(whole, share * part.tokens / kOverheadTokens);
  } else if (transport == Transport::kDirect) {
    const double packed = copy_bytes * d.model.top_k * part.tokens * share;
    time.kernel = d.launch + part_seconds(packed / memory_rate(d));
  } else {
    time.kernel = d.launch + scaled(time.network, d.sm_share);
  }
  return time;
}

PartTimes computed_times(const Deployment& d, Transport transport, const LayerPart& part) {
  PartTimes times;
  times.attention = attention_time(d, part.tokens);
  times.gemm = gemm_time(d, part);
  times.dispatch = round_time(d, transport, part, dispatch_copy_bytes(d));
  times.combine = round_time(d, transport, part, combine_copy_bytes(d));
  return times;
}

// The measurement of `field` that is nearest to `tokens`, by ratio; among equals the smaller batch.
template <typename Usable>
const MeasuredLayer* nearest_row(const Deployment& d, int tokens, const Usable& usable) {
  const MeasuredLayer* best = nullptr;
  double distance = 0;
  for (const MeasuredLayer& row : d.measured) {
    const double apart = std::abs(std::log(static_cast<double>(row.batch) / tokens));
    if (usable(row) && (best == nullptr || apart < distance)) {
      best = &row;
      distance = apart;
    }
  }
  return best;
}

// Measured over computed, of one quantity.
template <typename Field, typename Computed>
double calibration(const Deployment& d, Transport transport, int tokens, Field field,
                   const Computed& computed) {
  const bool moves = field == &MeasuredLayer::dispatch || field == &MeasuredLayer::combine;
  const MeasuredLayer* row = nearest_row(d, tokens, [&](const MeasuredLayer& r) {
    return (r.*field).has_value() && (!moves || effective(d, r.transport) == transport);
  });
  if (row == nullptr) {
    return 1;
  }
  const SimTime model = computed(computed_times(d, transport, {row->batch, 1, 0}));
  return model == SimTime() ? 1 : (row->*field)->seconds() / model.seconds();
}

CommunicationTime scaled(const CommunicationTime& time, double factor) {
  return {scaled(time.latency, factor), scaled(time.network, factor), scaled(time.kernel, factor)};
}

}  // namespace

int experts_per_gpu(const Deployment& d) { return (d.model.experts + d.ep - 1) / d.ep; }

double dispatch_copy_bytes(const Deployment& d) {
  const double width = d.model.dispatch_width;
  const double scales = d.dispatch_bytes < 2 ? 4 * std::ceil(width / kElementsPerScale) : 0;
  return width * d.dispatch_bytes + scales + kHeaderBytes;
}

double combine_copy_bytes(const Deployment& d) { return d.model.dispatch_width * d.combine_bytes; }

PartTimes part_times(const Deployment& d, Transport asked, int batch, const LayerPart& part) {
  CHECK(part.tokens >= 1 && part.tokens <= batch, "a part has some of the batch's tokens");
  CHECK(part.groups >= 1 && part.group < part.groups && part.groups <= experts_per_gpu(d),
        "more groups than experts on a GPU");
  const Transport transport = effective(d, asked);
  PartTimes times = computed_times(d, transport, part);
  if (d.measured.empty()) {
    return times;
  }
  const int tokens = part.tokens;
  times.attention =
      scaled(times.attention, calibration(d, transport, tokens, &MeasuredLayer::attention,
                                          [](const PartTimes& t) { return t.attention; }));
  times.gemm = scaled(times.gemm, calibration(d, transport, tokens, &MeasuredLayer::gemm,
                                              [](const PartTimes& t) { return t.gemm; }));
  times.dispatch =
      scaled(times.dispatch, calibration(d, transport, tokens, &MeasuredLayer::dispatch,
                                         [](const PartTimes& t) { return t.dispatch.alone(); }));
  times.combine =
      scaled(times.combine, calibration(d, transport, tokens, &MeasuredLayer::combine,
                                        [](const PartTimes& t) { return t.combine.alone(); }));
  return times;
}

SimTime outside_time(const Deployment& d, int batch) {
  SimTime time = d.other;
  for (int layer = 0; layer < d.model.layers; ++layer) {
    if (!d.model.is_moe(layer)) {
      time += matrix_time(d, attention_parameters(d.model), batch) + score_time(d, batch) +
              matrix_time(d, dense_ffn_parameters(d.model), batch);
    }
  }
  const auto head = static_cast<double>(embedding_parameters(d.model));
  return time + kernel_time(d, head_flops_per_token(d.model) * batch, bf16_rate(d),
                            head * kActivationBytes);
}

}  // namespace mixnet::plan
