#include "plan/place_state.h"

#include <algorithm>
#include <utility>

#include "plan/never.h"

namespace mixnet::plan {
namespace {

constexpr double kStateRounding = 1e-12;
// Beyond any load: all of it on one GPU or NIC is at most the number of either.
constexpr double kAboveCap = 1e6;

}  // namespace

PlaceState::PlaceState(const PlaceModel& model, std::vector<int> expert_of)
    : model_(&model),
      expert_of_(std::move(expert_of)),
      gpu_of_(model.slots()),
      copies_(model.experts(), 0),
      piece_(model.experts(), 0),
      on_(model.gpus(), model.experts(), 0) {
  for (std::size_t g = 0; g < model.gpus(); ++g) {
    for (std::size_t p = model.start[g]; p < model.start[g + 1]; ++p) {
      gpu_of_[p] = g;
      const auto e = static_cast<std::size_t>(expert_of_[p]);
      ++copies_[e];
      ++on_(g, e);
    }
  }
  for (std::size_t e = 0; e < model.experts(); ++e) {
    piece_[e] = model.load[e] / copies_[e];
  }
  set_send_base();
  rebuild();
}

PlaceState PlaceState::under(const PlaceModel& model) && {
  PlaceState state = std::move(*this);
  state.model_ = &model;
  state.set_send_base();
  state.rebuild();
  return state;
}

void PlaceState::set_send_base() {
  send_base_.clear();
  if (!model_->networked()) {
    return;
  }
  send_base_.assign(model_->nics(), 0);
  for (std::size_t e = 0; e < model_->experts(); ++e) {
    const auto row = model_->origins->nic.row(e);
    for (std::size_t m = 0; m < row.size(); ++m) {
      send_base_[m] += row[m] * model_->nic_factor[m];
    }
  }
}

void PlaceState::rebuild() {
  const std::size_t d = model_->gpus();
  value_.assign(d + (model_->networked() ? 2 * model_->nics() : 0), 0);
  if (model_->networked()) {
    std::copy(send_base_.begin(), send_base_.end(),
              value_.begin() + static_cast<std::ptrdiff_t>(d + model_->nics()));
  }
  for (std::size_t p = 0; p < expert_of_.size(); ++p) {
    charge(gpu_of_[p], static_cast<std::size_t>(expert_of_[p]), 1);
  }
}

void PlaceState::charge(std::size_t gpu, std::size_t expert, double sign) {
  const PlaceModel& m = *model_;
  value_[gpu] += sign * piece_[expert];
  if (!m.networked()) {
    return;
  }
  const std::size_t host = m.host_of[gpu];
  const std::size_t nic = m.nic_of[gpu];
  const double part = sign / copies_[expert];
  value_[m.gpus() + nic] += (m.load[expert] - m.from_host(expert, host)) * part * m.nic_factor[nic];
  double* const send = value_.data() + m.gpus() + m.nics();
  for (std::size_t k = m.first_nic[host]; k < m.first_nic[host + 1]; ++k) {
    send[k] -= m.from_nic(expert, k) * part * m.nic_factor[k];
  }
}

void PlaceState::charge_everywhere(std::size_t expert, double sign) {
  for (std::size_t g = 0; g < model_->gpus(); ++g) {
    const int times = on_(g, expert);
    if (times > 0) {
      charge(g, expert, sign * times);
    }
  }
}

double PlaceState::gpu_worst() const {
  return *std::max_element(value_.begin(),
                           value_.begin() + static_cast<std::ptrdiff_t>(model_->gpus()));
}

double PlaceState::nic_worst() const {
  double worst = 0;
  for (std::size_t i = model_->gpus(); i < value_.size(); ++i) {
    worst = std::max(worst, value_[i]);
  }
  return worst;
}

double PlaceState::value(std::size_t resource) const {
  return resource < model_->gpus() ? gpu_value(value_[resource]) : value_[resource];
}

std::size_t PlaceState::worst_resource() const {
  std::size_t worst = 0;
  for (std::size_t i = 1; i < value_.size(); ++i) {
    if (value(i) > value(worst)) {
      worst = i;
    }
  }
  return worst;
}

bool PlaceState::can_take(std::size_t gpu, int expert) const {
  const int home = model_->home[static_cast<std::size_t>(expert)];
  return on(gpu, expert) <= model_->repeats[gpu] &&
         (home < 0 || static_cast<std::size_t>(home) == model_->host_of[gpu]);
}

bool PlaceState::can_give(std::size_t gpu, int expert) const {
  return on(gpu, expert) > model_->repeats[gpu];
}

double PlaceState::gpu_value(double load) const {
  return load > model_->gpu_cap + kStateRounding ? kAboveCap + load : load * model_->gpu_factor;
}

double PlaceState::swap_peak(std::size_t slot_a, std::size_t slot_b) const {
  const PlaceModel& m = *model_;
  const std::size_t a = gpu_of_[slot_a];
  const std::size_t b = gpu_of_[slot_b];
  const int x = expert_of_[slot_a];
  const int y = expert_of_[slot_b];
  if (a == b || x == y || !can_take(b, x) || !can_take(a, y) || !can_give(a, x) ||
      !can_give(b, y)) {
    return kNever;
  }
  const double shift = piece(x) - piece(y);
  double peak = std::max(gpu_value(value_[a] - shift), gpu_value(value_[b] + shift));
  if (!m.networked()) {
    return peak;
  }
  const auto ex = static_cast<std::size_t>(x);
  const auto ey = static_cast<std::size_t>(y);
  const std::size_t hosts[2] = {m.host_of[a], m.host_of[b]};
  const std::size_t nics[2] = {m.nic_of[a], m.nic_of[b]};
  const double px = 1.0 / copies_[ex];
  const double py = 1.0 / copies_[ey];
  if (nics[0] == nics[1]) {
    return peak;
  }
  for (int side = 0; side < 2; ++side) {
    const double in = (m.load[ey] - m.from_host(ey, hosts[side])) * py -
                      (m.load[ex] - m.from_host(ex, hosts[side])) * px;
    const double change = side == 0 ? in : -in;
    peak = std::max(peak, value_[m.gpus() + nics[side]] + change * m.nic_factor[nics[side]]);
    if (hosts[0] == hosts[1]) {
      continue;
    }
    const double* const send = value_.data() + m.gpus() + m.nics();
    for (std::size_t k = m.first_nic[hosts[side]]; k < m.first_nic[hosts[side] + 1]; ++k) {
      const double kept = m.from_nic(ey, k) * py - m.from_nic(ex, k) * px;
      peak = std::max(peak, send[k] - (side == 0 ? kept : -kept) * m.nic_factor[k]);
    }
  }
  return peak;
}

void PlaceState::swap(std::size_t slot_a, std::size_t slot_b) {
  const std::size_t a = gpu_of_[slot_a];
  const std::size_t b = gpu_of_[slot_b];
  const auto x = static_cast<std::size_t>(expert_of_[slot_a]);
  const auto y = static_cast<std::size_t>(expert_of_[slot_b]);
  charge(a, x, -1);
  charge(b, y, -1);
  charge(a, y, 1);
  charge(b, x, 1);
  --on_(a, x);
  --on_(b, y);
  ++on_(a, y);
  ++on_(b, x);
  std::swap(expert_of_[slot_a], expert_of_[slot_b]);
}

bool PlaceState::can_replace(std::size_t slot, int expert) const {
  const std::size_t g = gpu_of_[slot];
  const int old = expert_of_[slot];
  return old != expert && copies(old) > 1 && can_give(g, old) && can_take(g, expert) &&
         copies(expert) < model_->most_copies[static_cast<std::size_t>(expert)];
}

void PlaceState::replace(std::size_t slot, int expert) {
  const std::size_t g = gpu_of_[slot];
  const auto old = static_cast<std::size_t>(expert_of_[slot]);
  const auto now = static_cast<std::size_t>(expert);
  charge_everywhere(old, -1);
  charge_everywhere(now, -1);
  --on_(g, old);
  ++on_(g, now);
  piece_[old] = model_->load[old] / --copies_[old];
  piece_[now] = model_->load[now] / ++copies_[now];
  charge_everywhere(old, 1);
  charge_everywhere(now, 1);
  expert_of_[slot] = expert;
}

double PlaceState::replace_gpu_peak(std::size_t slot, int expert) const {
  const std::size_t own = gpu_of_[slot];
  const auto old = static_cast<std::size_t>(expert_of_[slot]);
  const auto now = static_cast<std::size_t>(expert);
  const double thinner = model_->load[old] / (copies_[old] - 1);
  const double thicker = model_->load[now] / (copies_[now] + 1);
  double peak = 0;
  for (std::size_t g = 0; g < model_->gpus(); ++g) {
    const int had = on_(g, old);
    const int has = on_(g, now);
    if (had == 0 && has == 0 && g != own) {
      continue;
    }
    double load = value_[g] + had * (thinner - piece_[old]) + has * (thicker - piece_[now]);
    if (g == own) {
      load += thicker - thinner;
    }
    peak = std::max(peak, gpu_value(load));
  }
  return peak;
}

bool PlaceState::can_exchange(std::size_t gpu_a, std::size_t gpu_b) const {
  const auto width = [this](std::size_t g) { return model_->start[g + 1] - model_->start[g]; };
  if (gpu_a == gpu_b || width(gpu_a) != width(gpu_b)) {
    return false;
  }
  const std::size_t from = model_->start[gpu_a];
  return model_->host_of[gpu_a] == model_->host_of[gpu_b] || width(gpu_a) == 0 ||
         model_->home[static_cast<std::size_t>(expert_of_[from])] < 0;
}

void PlaceState::exchange(std::size_t gpu_a, std::size_t gpu_b) {
  const std::size_t width = model_->start[gpu_a + 1] - model_->start[gpu_a];
  for (std::size_t i = 0; i < width; ++i) {
    swap(model_->start[gpu_a] + i, model_->start[gpu_b] + i);
  }
}

}  // namespace mixnet::plan
