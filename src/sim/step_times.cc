#include "sim/step_times.h"

#include "core/check.h"
#include "core/workload.h"

namespace mixnet::sim {
namespace {

// Residual addition and normalisation read two activations and write two.
constexpr int64_t kAddNormPasses = 4;

}  // namespace

StepTimes::StepTimes(const Study& study) : study_(study) {
  const MoeModel& m = study.model;
  const Parallelism& p = study.parallelism;
  const auto tokens = static_cast<double>(p.tokens_per_micro_batch());
  const auto time = [&](double flops_per_token) {
    return compute_time(tokens * flops_per_token, p.tp, study.cluster.gpu, study.compute);
  };
  attention_ = time(attention_flops_per_token(m, p.sequence_length));
  gate_ = time(gate_flops_per_token(m));
  dense_ffn_ = time(dense_ffn_flops_per_token(m));
  head_ = time(head_flops_per_token(m));
  const Bytes activation = activation_bytes(m, study.compute, p.tokens_per_micro_batch());
  add_norm_ = memory_time(activation * kAddNormPasses, p.tp, study.cluster.gpu);
  dense_tensor_ = nvlink_all_reduce_time(activation, p.tp, study.cluster.gpu, study.network);
}

SimTime StepTimes::scaled(SimTime forward, bool backward) const {
  return backward ? SimTime::from_seconds(forward.seconds() * study_.compute.backward_factor)
                  : forward;
}

SimTime StepTimes::measured(SimTime at_measured_size, bool backward) const {
  const double scale = static_cast<double>(study_.parallelism.micro_batch_size) /
                       study_.compute.measured.micro_batch_size;
  return scaled(SimTime::from_seconds(at_measured_size.seconds() * scale), backward);
}

SimTime StepTimes::expert(double assignments, bool backward) const {
  const LayerTimes& known = study_.compute.measured;
  if (known.expert) {
    return measured(*known.expert, backward);
  }
  const auto tokens = static_cast<double>(study_.parallelism.tokens_per_micro_batch());
  const double flops = assignments * expert_flops_per_assignment(study_.model) +
                       tokens * shared_expert_flops_per_token(study_.model);
  return scaled(compute_time(flops, study_.parallelism.tp, study_.cluster.gpu, study_.compute),
                backward);
}

SimTime StepTimes::dense(const Step& step) const {
  // Without a layer it is the output head of the last stage.
  return scaled(step.layer < 0 ? head_ : dense_ffn_, step.backward);
}

// Tensor-parallel all-reduces move activations in forward and gradients of the same size in
// backward. The one beside the experts moves what the slowest rank received. A measured layer time
// contains its all-reduce.
SimTime StepTimes::tensor(const Step& step, double slowest_rank) const {
  const LayerTimes& known = study_.compute.measured;
  const bool moe = step.layer >= 0 && study_.model.is_moe(step.layer);
  if (moe && (step.experts ? known.expert : known.attention)) {
    return SimTime();
  }
  if (!step.experts) {
    return dense_tensor_;
  }
  const auto copy = static_cast<double>(assignment_bytes(study_.model, study_.compute).count());
  return nvlink_all_reduce_time(Bytes(static_cast<int64_t>(slowest_rank * copy)),
                                study_.parallelism.tp, study_.cluster.gpu, study_.network);
}

// A ring over tp GPUs one of which is behind a NIC: every GPU sends 2 (tp - 1) / tp of the buffer,
// and the NIC is the slowest link. Measured layer times contain the all-reduce inside a server, so
// the whole ring is charged on top of them.
SimTime StepTimes::remote_tensor(const Step& step, double slowest_rank) const {
  const int tp = study_.parallelism.tp;
  const double copy = static_cast<double>(assignment_bytes(study_.model, study_.compute).count());
  const double tokens = step.experts
                            ? slowest_rank
                            : static_cast<double>(study_.parallelism.tokens_per_micro_batch());
  const double sent = tokens * copy * 2 * (tp - 1) / tp;
  const SimTime ring = SimTime::from_seconds(sent / study_.cluster.nic_rate.bytes_per_second()) +
                       study_.network.link_latency * (2LL * (tp - 1));
  return later_of(ring, tensor(step, slowest_rank));
}

SimTime StepTimes::compute(const Step& step, double slowest_rank, bool remote) const {
  const LayerTimes& known = study_.compute.measured;
  switch (step.activity) {
    case Activity::kAttention:
      return known.attention ? measured(*known.attention, step.backward)
                             : scaled(attention_, step.backward);
    case Activity::kGate:
      return known.gate ? measured(*known.gate, step.backward) : scaled(gate_, step.backward);
    case Activity::kAddNorm:
      return known.add_norm ? measured(*known.add_norm, step.backward)
                            : scaled(add_norm_, step.backward);
    case Activity::kExpert:
      return expert(slowest_rank, step.backward);
    case Activity::kDense:
      return dense(step);
    case Activity::kTensor:
      return remote ? remote_tensor(step, slowest_rank) : tensor(step, slowest_rank);
    default:
      CHECK(false, "not a compute activity");
  }
}

}  // namespace mixnet::sim
