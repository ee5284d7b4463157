// Spilling tokens to replicas: the smallest largest load of a host, by binary search over the limit
// and a maximum flow from the GPUs above it to those below. The flow needs no graph of its own: the
// tokens in a slot are the capacity of the way to every other replica of its expert, and moving
// them changes capacities exactly as residual edges do.
#include <algorithm>

#include "core/check.h"
#include "core/index.h"
#include "plan/swap.h"

namespace mixnet::plan {
void StepBalancer::spill(const Host& host) {
  if (!link_replicas(host)) {
    return;
  }
  int64_t total = 0;
  int64_t working = 0;
  for (int g = host.first_gpu; g < host.end_gpu; ++g) {
    total += load_[at(g)];
    working += lost_[at(g)] == 0 ? 1 : 0;
  }
  // The limit is in [low, high], and high is known to fit.
  int64_t high = heaviest(host);
  int64_t low = working == 0 ? high : (total + working - 1) / working;
  int64_t probe = low;  // the mean first: with enough replicas it is the answer
  while (low < high) {
    if (fits(host, probe)) {
      high = probe;
      std::copy(trial_tokens_.begin() + first_slot(host.first_gpu),
                trial_tokens_.begin() + first_slot(host.end_gpu),
                tokens_.begin() + first_slot(host.first_gpu));
      std::copy(trial_load_.begin() + host.first_gpu, trial_load_.begin() + host.end_gpu,
                load_.begin() + host.first_gpu);
    } else {
      low = probe + 1;
    }
    probe = low + (high - low) / 2;
  }
}

// Makes a ring of the replicas of every expert inside the host; false if no expert has two.
bool StepBalancer::link_replicas(const Host& host) {
  std::fill(ring_first_.begin(), ring_first_.end(), -1);
  bool any = false;
  for (int g = host.first_gpu; g < host.end_gpu; ++g) {
    if (lost_[at(g)] != 0) {
      continue;
    }
    for (int s = first_slot(g); s < first_slot(g + 1); ++s) {
      if (expert_[at(s)] < 0) {
        continue;
      }
      int& first = ring_first_[at(expert_[at(s)])];
      int& last = ring_last_[at(expert_[at(s)])];
      if (first < 0) {
        first = s;
      } else {
        ring_[at(last)] = s;
        any = true;
      }
      ring_[at(s)] = first;
      last = s;
    }
  }
  return any;
}

// Can every load of the host be at most `limit`? The answer is left in the trial loads.
bool StepBalancer::fits(const Host& host, int64_t limit) {
  std::copy(tokens_.begin() + first_slot(host.first_gpu),
            tokens_.begin() + first_slot(host.end_gpu),
            trial_tokens_.begin() + first_slot(host.first_gpu));
  std::copy(load_.begin() + host.first_gpu, load_.begin() + host.end_gpu,
            trial_load_.begin() + host.first_gpu);
  for (int g = host.first_gpu; g < host.end_gpu; ++g) {
    while (trial_load_[at(g)] > limit) {
      const int end = find_room(g, limit);
      if (end < 0) {
        return false;
      }
      push(g, end, limit);
    }
  }
  return true;
}

// Breadth first over GPUs: the nearest one with a load below the limit, or -1. Shortest paths bound
// the number of pushes by (GPUs + experts) * replicas (Edmonds, Karp 1972).
int StepBalancer::find_room(int from_gpu, int64_t limit) {
  ++search_;
  reached_[at(from_gpu)] = search_;
  std::size_t tail = 0;
  queue_[tail++] = from_gpu;
  for (std::size_t head = 0; head < tail; ++head) {
    const int gpu = queue_[head];
    for (int s = first_slot(gpu); s < first_slot(gpu + 1); ++s) {
      if (trial_tokens_[at(s)] == 0) {
        continue;
      }
      for (int other = ring_[at(s)]; other != s; other = ring_[at(other)]) {
        const int next = gpu_of(other);
        if (reached_[at(next)] == search_) {
          continue;
        }
        reached_[at(next)] = search_;
        hop_[at(next)] = {s, other};
        if (trial_load_[at(next)] < limit) {
          return next;
        }
        queue_[tail++] = next;
      }
    }
  }
  return -1;
}

// Moves along the hops of the search as many tokens as it takes, there is room for, and each hop
// has.
void StepBalancer::push(int from_gpu, int to_gpu, int64_t limit) {
  int64_t amount = std::min(trial_load_[at(from_gpu)] - limit, limit - trial_load_[at(to_gpu)]);
  for (int gpu = to_gpu; gpu != from_gpu; gpu = gpu_of(hop_[at(gpu)].from_slot)) {
    amount = std::min(amount, trial_tokens_[at(hop_[at(gpu)].from_slot)]);
  }
  CHECK(amount > 0, "a way without capacity");
  for (int gpu = to_gpu; gpu != from_gpu; gpu = gpu_of(hop_[at(gpu)].from_slot)) {
    trial_tokens_[at(hop_[at(gpu)].from_slot)] -= amount;
    trial_tokens_[at(hop_[at(gpu)].to_slot)] += amount;
  }
  trial_load_[at(from_gpu)] -= amount;
  trial_load_[at(to_gpu)] += amount;
}

}  // namespace mixnet::plan
