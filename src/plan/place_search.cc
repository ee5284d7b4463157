#include "plan/place_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/never.h"

namespace mixnet::plan {
namespace {

constexpr double kGain = 1e-9;  // less is rounding

// Steps charged per candidate, from measurements.
constexpr int64_t kPairSteps = 2;
constexpr int64_t kNetworkPairSteps = 25;
constexpr int64_t kReplaceSteps = 30;

// What looks at everything once is part of the steps per candidate up to this; beyond, it is
// charged apart.
constexpr int64_t kCheapLook = 1 << 10;
constexpr int64_t kCheapCopy = 1 << 16;

int64_t beyond(int64_t steps, int64_t cheap) { return std::max<int64_t>(0, steps - cheap); }

// Steps to find the worst resource and what makes it up.
int64_t look_steps(const PlaceState& state) {
  return beyond(
      static_cast<int64_t>(state.resources() + state.model().gpus() + state.model().experts()),
      kCheapLook);
}

// Steps to copy a state, or to count its moves.
int64_t copy_steps(const PlaceState& state) {
  return beyond(static_cast<int64_t>(state.model().gpus() * state.model().experts()), kCheapCopy);
}

int64_t at_least_resources(const PlaceState& state, int64_t steps) {
  return std::max(steps, static_cast<int64_t>(state.resources()));
}

double sum_of_squares(const PlaceState& state) {
  double sum = 0;
  for (std::size_t i = 0; i < state.resources(); ++i) {
    sum += state.value(i) * state.value(i);
  }
  return sum;
}

// GPUs whose experts make up the load of a resource.
struct Focus {
  std::size_t resource = 0;
  double value = 0;
  std::vector<std::size_t> inside;
  std::vector<std::size_t> outside;
};

Focus focus_on_worst(const PlaceState& state) {
  const PlaceModel& m = state.model();
  Focus focus;
  focus.resource = state.worst_resource();
  focus.value = state.value(focus.resource);
  const std::size_t d = m.gpus();
  for (std::size_t g = 0; g < d; ++g) {
    bool in = g == focus.resource;
    if (focus.resource >= d + m.nics()) {
      const std::size_t nic = focus.resource - d - m.nics();
      in = m.first_nic[m.host_of[g]] <= nic && nic < m.first_nic[m.host_of[g] + 1];
    } else if (focus.resource >= d) {
      in = m.nic_of[g] == focus.resource - d;
    }
    (in ? focus.inside : focus.outside).push_back(g);
  }
  return focus;
}

// How much of the focus a slot's expert makes up: a swap must bring in less. What a NIC sends falls
// with what stays on its host.
double contribution(const PlaceState& state, const Focus& focus, int expert) {
  const PlaceModel& m = state.model();
  const auto e = static_cast<std::size_t>(expert);
  if (focus.resource < m.gpus()) {
    return state.piece(expert);
  }
  if (focus.resource < m.gpus() + m.nics()) {
    const std::size_t host = m.host_of[focus.inside.front()];
    return (m.load[e] - m.from_host(e, host)) / state.copies(expert);
  }
  return -m.from_nic(e, focus.resource - m.gpus() - m.nics()) / state.copies(expert);
}

struct Swap {
  std::size_t a = 0;
  std::size_t b = 0;
  double peak = kNever;
};

// The slots of two GPUs, each pair looked at only if the focus falls and the other GPU stays below
// the best peak so far.
void best_swap_of(const PlaceState& state, const std::vector<double>& contributes,
                  std::pair<std::size_t, std::size_t> gpus, Swap& best) {
  const PlaceModel& m = state.model();
  const double room =
      m.gpu_factor > 0 ? best.peak / m.gpu_factor - state.gpu_load(gpus.second) : kNever;
  for (std::size_t p = m.start[gpus.first]; p < m.start[gpus.first + 1]; ++p) {
    const int x = state.expert_at(p);
    const double mine = contributes[static_cast<std::size_t>(x)] - kGain;
    for (std::size_t q = m.start[gpus.second]; q < m.start[gpus.second + 1]; ++q) {
      const int y = state.expert_at(q);
      if (contributes[static_cast<std::size_t>(y)] >= mine ||
          state.piece(x) - state.piece(y) >= room) {
        continue;
      }
      const double peak = state.swap_peak(p, q);
      if (peak < best.peak) {
        best = {p, q, peak};
      }
    }
  }
}

bool improve_by_swap(PlaceState& state, const Focus& focus, Effort& effort) {
  const PlaceModel& m = state.model();
  std::vector<double> contributes(m.experts());
  for (std::size_t e = 0; e < m.experts(); ++e) {
    contributes[e] = contribution(state, focus, static_cast<int>(e));
  }
  Swap best;
  best.peak = focus.value - kGain;
  const double limit = best.peak;
  for (const std::size_t a : focus.inside) {
    for (const std::size_t b : focus.outside) {
      if (effort.left <= 0) {
        break;
      }
      const auto pairs =
          static_cast<int64_t>((m.start[a + 1] - m.start[a]) * (m.start[b + 1] - m.start[b]));
      if (!effort.spend(pairs * (m.networked() ? kNetworkPairSteps / 4 : kPairSteps))) {
        break;
      }
      best_swap_of(state, contributes, {a, b}, best);
    }
  }
  if (!(best.peak < limit)) {
    return false;
  }
  state.swap(best.a, best.b);
  return true;
}

// NIC positions: lower worst resource, or as low and more even.
bool improve_by_exchange(PlaceState& state, const Focus& focus, Effort& effort) {
  const PlaceModel& m = state.model();
  if (focus.resource < m.gpus()) {
    return false;
  }
  const double before = sum_of_squares(state);
  for (const std::size_t a : focus.inside) {
    for (const std::size_t b : focus.outside) {
      const auto steps = static_cast<int64_t>(m.start[a + 1] - m.start[a]) * kNetworkPairSteps * 4;
      if (!effort.spend(at_least_resources(state, steps))) {
        return false;
      }
      if (!state.can_exchange(a, b)) {
        continue;
      }
      state.exchange(a, b);
      if (state.worst() < focus.value + kGain && sum_of_squares(state) < before - kGain &&
          state.value(focus.resource) < focus.value - kGain) {
        return true;
      }
      state.exchange(a, b);
    }
  }
  return false;
}

struct Replacement {
  std::size_t slot = 0;
  int expert = 0;
  double peak = kNever;
};

void consider(PlaceState& state, std::size_t slot, int expert, Replacement& best) {
  if (!state.can_replace(slot, expert) || state.replace_gpu_peak(slot, expert) >= best.peak) {
    return;
  }
  double peak = state.replace_gpu_peak(slot, expert);
  if (state.model().networked()) {
    const int old = state.expert_at(slot);
    state.replace(slot, expert);
    peak = std::max(peak, state.nic_worst());
    state.replace(slot, old);
  }
  if (peak < best.peak) {
    best = {slot, expert, peak};
  }
}

// One slot more for what makes up the worst resource, or a lighter expert in its place.
bool improve_by_count(PlaceState& state, const Focus& focus, Effort& effort) {
  const PlaceModel& m = state.model();
  Replacement best;
  best.peak = focus.value - kGain;
  const double limit = best.peak;
  const bool sends = focus.resource >= m.gpus() + m.nics();
  const int64_t steps =
      at_least_resources(state, m.networked() ? kReplaceSteps * 4 : kReplaceSteps);
  for (const std::size_t a : focus.inside) {
    for (std::size_t p = m.start[a]; p < m.start[a + 1]; ++p) {
      const int x = state.expert_at(p);
      for (std::size_t q = 0; q < m.slots() && !sends; ++q) {
        if (state.gpu_of(q) != a && state.copies(state.expert_at(q)) > 1) {
          if (!effort.spend(steps)) {
            return false;
          }
          consider(state, q, x, best);
        }
      }
      for (int f = 0; f < static_cast<int>(m.experts()) && state.copies(x) > 1; ++f) {
        if (!effort.spend(steps)) {
          return false;
        }
        consider(state, p, f, best);
      }
    }
  }
  if (!(best.peak < limit)) {
    return false;
  }
  state.replace(best.slot, best.expert);
  state.rebuild();
  return true;
}

}  // namespace

int MoveCost::moved(const PlaceState& state) const {
  int count = 0;
  for (std::size_t g = 0; g < on.rows(); ++g) {
    for (std::size_t e = 0; e < on.cols(); ++e) {
      count += std::max(0, state.on(g, static_cast<int>(e)) - on(g, e));
    }
  }
  return count;
}

double MoveCost::cost(const PlaceState& state) const {
  return state.worst() + (each > 0 && !on.empty() ? each * moved(state) : 0.0);
}

PlaceSearch::PlaceSearch(MoveCost moves, uint64_t seed)
    : moves_(std::move(moves)), random_(seed, "place") {}

void PlaceSearch::descend(PlaceState& state, double target, Effort& effort) const {
  const bool counted = moves_.each > 0 && !moves_.on.empty();
  std::optional<PlaceState> best;
  double best_cost = 0;
  if (counted) {
    best = state;
    best_cost = moves_.cost(state);
  }
  while (effort.left > 0) {
    effort.spend(look_steps(state) + (counted ? copy_steps(state) : 0));
    const Focus focus = focus_on_worst(state);
    if (focus.value <= target) {
      break;
    }
    if (!improve_by_swap(state, focus, effort) && !improve_by_exchange(state, focus, effort) &&
        !improve_by_count(state, focus, effort)) {
      break;
    }
    if (counted && moves_.cost(state) < best_cost - kGain) {
      best = state;
      best_cost = moves_.cost(state);
    }
  }
  if (counted) {
    state = *std::move(best);
  }
}

bool PlaceSearch::perturb(PlaceState& state) {
  constexpr int kChanges = 3;
  constexpr int kTries = 60;
  const PlaceModel& m = state.model();
  int done = 0;
  for (int i = 0; i < kTries && done < kChanges; ++i) {
    const std::size_t p = random_.below(m.slots());
    if (random_.below(3) == 0) {
      const auto f = static_cast<int>(random_.below(m.experts()));
      if (state.can_replace(p, f)) {
        state.replace(p, f);
        ++done;
      }
      continue;
    }
    const std::size_t q = random_.below(m.slots());
    if (state.swap_peak(p, q) < kNever) {
      state.swap(p, q);
      ++done;
    }
  }
  state.rebuild();
  return done > 0;
}

void PlaceSearch::improve(PlaceState& state, double target, Effort& effort) {
  descend(state, target, effort);
  double best_cost = moves_.cost(state);
  const bool counted = moves_.each > 0 && !moves_.on.empty();
  while (effort.left > 0 && best_cost > target) {
    effort.spend(static_cast<int64_t>(state.model().slots()) * 8 + copy_steps(state));
    PlaceState trial = state;
    if (!perturb(trial)) {
      return;  // nothing can change
    }
    descend(trial, target, effort);
    const double cost = moves_.cost(trial);
    const bool better = counted ? cost < best_cost - kGain : cost <= best_cost;
    if (better) {
      state = std::move(trial);
      best_cost = cost;
    }
  }
}

namespace {

using GpusOfHost = std::vector<std::size_t>;

bool hosts_can_exchange(const PlaceState& state, const GpusOfHost& a, const GpusOfHost& b) {
  bool can = a.size() == b.size();
  for (std::size_t i = 0; i < a.size() && can; ++i) {
    can = state.can_exchange(a[i], b[i]);
  }
  return can;
}

void exchange_all(PlaceState& state, const GpusOfHost& a, const GpusOfHost& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    state.exchange(a[i], b[i]);
  }
}

// Whether the exchange of two hosts lowered the worst NIC, or left it and evened the NICs; if not,
// nothing has changed.
bool improve_by_hosts(PlaceState& state, const GpusOfHost& a, const GpusOfHost& b) {
  if (!hosts_can_exchange(state, a, b)) {
    return false;
  }
  const double worst = state.nic_worst();
  const double squares = sum_of_squares(state);
  exchange_all(state, a, b);
  const double now = state.nic_worst();
  if (now < worst - kGain || (now < worst + kGain && sum_of_squares(state) < squares - kGain)) {
    return true;
  }
  exchange_all(state, a, b);
  return false;
}

}  // namespace

void exchange_hosts(PlaceState& state, Effort& effort) {
  const PlaceModel& m = state.model();
  std::vector<GpusOfHost> gpus(m.hosts());
  for (std::size_t g = 0; g < m.gpus(); ++g) {
    gpus[m.host_of[g]].push_back(g);
  }
  const int64_t steps = at_least_resources(
      state, static_cast<int64_t>(m.slots() / m.hosts()) * kNetworkPairSteps * 8);
  bool again = true;
  while (again && effort.left > 0) {
    again = false;
    for (std::size_t a = 0; a < m.hosts(); ++a) {
      for (std::size_t b = a + 1; b < m.hosts() && effort.spend(steps); ++b) {
        again = improve_by_hosts(state, gpus[a], gpus[b]) || again;
      }
      if (effort.left <= 0) {
        break;
      }
    }
  }
  state.rebuild();
}

void spread_hot_gpus(PlaceState& state, Effort& effort) {
  const PlaceModel& m = state.model();
  if (m.nics() == m.gpus()) {
    return;
  }
  std::vector<double> hottest(m.gpus(), 0);
  std::vector<double> behind(m.nics(), 0);
  for (std::size_t p = 0; p < m.slots(); ++p) {
    const std::size_t g = state.gpu_of(p);
    hottest[g] = std::max(hottest[g], state.piece(state.expert_at(p)));
  }
  for (std::size_t g = 0; g < m.gpus(); ++g) {
    behind[m.nic_of[g]] += hottest[g];
  }
  const double limit = state.nic_worst() + kGain;
  // Inside a host only what its two NICs receive changes.
  const auto receives = [&](std::size_t nic) {
    return m.networked() ? state.value(m.gpus() + nic) : 0.0;
  };
  bool again = true;
  while (again && effort.left > 0) {
    again = false;
    for (std::size_t a = 0; a < m.gpus(); ++a) {
      for (std::size_t b = a + 1; b < m.gpus() && m.host_of[a] == m.host_of[b]; ++b) {
        if (!effort.spend(kPairSteps)) {
          break;
        }
        const std::size_t na = m.nic_of[a];
        const std::size_t nb = m.nic_of[b];
        const double shift = hottest[a] - hottest[b];
        // The sum of squares over the two NICs falls by 2 * shift * (a's rest - b's rest).
        if (na == nb || shift * (behind[na] - behind[nb] - shift) <= kGain ||
            !state.can_exchange(a, b)) {
          continue;
        }
        state.exchange(a, b);
        if (std::max(receives(na), receives(nb)) > limit) {
          state.exchange(a, b);
          continue;
        }
        behind[na] -= shift;
        behind[nb] += shift;
        std::swap(hottest[a], hottest[b]);
        again = true;
      }
    }
  }
  state.rebuild();
}

}  // namespace mixnet::plan
