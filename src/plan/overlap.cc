#include "plan/overlap.h"

#include <algorithm>
#include <cstddef>

#include "core/check.h"
#include "plan/transport_copies.h"

namespace mixnet::plan {
namespace {

// When the GPU and the network are free again.
class Timeline {
 public:
  SimTime compute(SimTime ready, SimTime duration) {
    gpu_ = later_of(ready, gpu_) + duration;
    return gpu_;
  }

  // Ends when all bytes have arrived and the kernel is done.
  SimTime communicate(SimTime ready, const CommunicationTime& time) {
    const SimTime start = later_of(ready, gpu_);
    gpu_ = start + time.kernel;
    network_ = later_of(start + time.latency, network_) + time.network;
    return later_of(gpu_, network_);
  }

 private:
  SimTime gpu_;
  SimTime network_;
};

class LayerLoop {
 public:
  explicit LayerLoop(std::span<const PartTimes> parts) : parts_(parts), ready_(parts.size()) {}

  SimTime in_sequence() {
    const PartTimes& t = parts_.front();
    ready_.front() += t.attention + t.dispatch.alone() + t.gemm + t.combine.alone();
    return ready_.front();
  }

  SimTime halves() {
    SimTime dispatched[2];
    for (std::size_t i = 0; i < 2; ++i) {
      dispatched[i] =
          line_.communicate(line_.compute(ready_[i], parts_[i].attention), parts_[i].dispatch);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      ready_[i] =
          line_.communicate(line_.compute(dispatched[i], parts_[i].gemm), parts_[i].combine);
    }
    return later_of(ready_[0], ready_[1]);
  }

  SimTime groups() {
    const SimTime attended = line_.compute(ready_.front(), parts_.front().attention);
    std::vector<SimTime> dispatched;
    dispatched.reserve(parts_.size());
    for (const PartTimes& part : parts_) {
      dispatched.push_back(line_.communicate(attended, part.dispatch));
    }
    SimTime end;
    for (std::size_t g = 0; g < parts_.size(); ++g) {
      const SimTime computed = line_.compute(dispatched[g], parts_[g].gemm);
      end = later_of(end, line_.communicate(computed, parts_[g].combine));
    }
    ready_.front() = end;
    return end;
  }

 private:
  std::span<const PartTimes> parts_;
  std::vector<SimTime> ready_;  // of each part, for its next layer
  Timeline line_;
};

std::vector<PartTimes> parts_of(const Deployment& d, const OverlapChoice& choice, int batch) {
  std::vector<PartTimes> parts;
  if (choice.overlap == Overlap::kTwoBatch) {
    CHECK(batch >= 2, "a batch of one token has no halves");
    const int half = (batch + 1) / 2;
    parts.push_back(part_times(d, choice.transport, batch, {half, 1, 0}));
    parts.push_back(part_times(d, choice.transport, batch, {batch - half, 1, 0}));
    return parts;
  }
  for (int group = 0; group < choice.groups; ++group) {
    parts.push_back(part_times(d, choice.transport, batch, {batch, choice.groups, group}));
  }
  return parts;
}

}  // namespace

const char* overlap_name(Overlap overlap) {
  switch (overlap) {
    case Overlap::kNone:
      return "none";
    case Overlap::kTwoBatch:
      return "two-batch";
    default:
      return "per-expert";
  }
}

std::vector<OverlapChoice> overlap_choices(const Deployment& d, int batch) {
  std::vector<OverlapChoice> choices;
  const bool one_host = expert_spread(d).hosts() == 1;
  for (const Transport transport : kTransports) {
    if (one_host && transport_mode(transport) == 2) {
      continue;
    }
    choices.push_back({transport, Overlap::kNone, 1});
    if (batch >= 2) {
      choices.push_back({transport, Overlap::kTwoBatch, 1});
    }
    for (const int groups : {2, 4}) {
      if (groups <= experts_per_gpu(d)) {
        choices.push_back({transport, Overlap::kPerExpert, groups});
      }
    }
  }
  return choices;
}

std::vector<SimTime> layer_ends(Overlap overlap, std::span<const PartTimes> parts, int layers) {
  const std::size_t wanted = overlap == Overlap::kTwoBatch ? 2 : 1;
  CHECK(overlap == Overlap::kPerExpert ? !parts.empty() : parts.size() == wanted,
        "parts that the overlap does not have");
  LayerLoop loop(parts);
  std::vector<SimTime> ends;
  ends.reserve(static_cast<std::size_t>(std::max(0, layers)));
  for (int layer = 0; layer < layers; ++layer) {
    ends.push_back(overlap == Overlap::kNone       ? loop.in_sequence()
                   : overlap == Overlap::kTwoBatch ? loop.halves()
                                                   : loop.groups());
  }
  return ends;
}

LayerPrediction predict_layer(const Deployment& d, const OverlapChoice& choice, int batch) {
  const std::vector<PartTimes> parts = parts_of(d, choice, batch);
  // Filling the pipeline ends within a few layers; the mean is taken behind them.
  constexpr int kFill = 16;
  constexpr int kCounted = 16;
  const int layers = d.model.moe_layers();
  const std::vector<SimTime> ends =
      layer_ends(choice.overlap, parts, std::max(layers, kFill + kCounted));
  LayerPrediction prediction;
  const SimTime span = ends[kFill + kCounted - 1] - ends[kFill - 1];
  prediction.layer = SimTime::from_ps(span.ps() / kCounted);
  prediction.step = outside_time(d, batch);
  if (layers > 0) {
    prediction.step += ends[static_cast<std::size_t>(layers) - 1];
  }
  for (const PartTimes& part : parts) {
    const bool attends = choice.overlap != Overlap::kPerExpert || &part == &parts.front();
    prediction.compute += part.gemm + (attends ? part.attention : SimTime());
    prediction.kernels += part.dispatch.kernel + part.combine.kernel;
    prediction.network += part.dispatch.network + part.combine.network;
  }
  return prediction;
}

}  // namespace mixnet::plan
