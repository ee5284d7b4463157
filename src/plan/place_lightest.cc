#include "plan/place_lightest.h"

namespace mixnet::plan {

LightestGpu::LightestGpu(std::size_t gpus) : cost_(gpus, 0), tie_(gpus, 0) {
  while (leaves_ < gpus) {
    leaves_ *= 2;
  }
  winner_.assign(2 * leaves_, kNone);
}

void LightestGpu::set(std::size_t gpu, double cost, double tie) {
  cost_[gpu] = cost;
  tie_[gpu] = tie;
  winner_[leaves_ + gpu] = gpu;
  play(gpu);
}

void LightestGpu::leave(std::size_t gpu) {
  winner_[leaves_ + gpu] = kNone;
  play(gpu);
}

bool LightestGpu::before(std::size_t a, std::size_t b) const {
  if (b == kNone || a == kNone) {
    return a != kNone;
  }
  if (cost_[a] != cost_[b]) {
    return cost_[a] < cost_[b];
  }
  return tie_[a] != tie_[b] ? tie_[a] < tie_[b] : a < b;
}

void LightestGpu::play(std::size_t gpu) {
  if (leaves_ == 1) {
    return;  // the only leaf is the root
  }
  for (std::size_t node = (leaves_ + gpu) / 2; node > 0; node /= 2) {
    const std::size_t left = winner_[2 * node];
    const std::size_t right = winner_[2 * node + 1];
    winner_[node] = before(right, left) ? right : left;
    ++games_;
  }
}

}  // namespace mixnet::plan
