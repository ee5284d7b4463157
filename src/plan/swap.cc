#include "plan/swap.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"
#include "core/index.h"

namespace mixnet::plan {
namespace {

constexpr int kSlotBits = 16;
constexpr uint64_t kSlotMask = (uint64_t{1} << kSlotBits) - 1;
// Up to this many slots per GPU, comparing all pairs of slots beats sorting.
constexpr int kMostCompared = 256;
// Loads below this can be doubled and subtracted in 32 bits.
constexpr int64_t kMostNarrow = int64_t{1} << 28;
// Stands for what the light GPU may not give: misses every wish by more than any gap.
constexpr int32_t kBarred = int32_t{1} << 30;

int64_t tokens_of(uint64_t key) { return static_cast<int64_t>(key >> kSlotBits); }

// Index of the first key with at least `tokens`, or the number of keys.
std::size_t first_with(std::span<const uint64_t> keys, int64_t tokens) {
  const auto less = [](uint64_t key, int64_t wanted) { return tokens_of(key) < wanted; };
  return static_cast<std::size_t>(std::lower_bound(keys.begin(), keys.end(), tokens, less) -
                                  keys.begin());
}

}  // namespace

StepBalancer::StepBalancer(const StepShape& shape, const SwapRule& rule)
    : shape_(shape), rule_(rule) {
  CHECK(shape.gpus >= 1 && shape.slots_per_gpu >= 1 && shape.gpus_per_host >= 1, "empty shape");
  CHECK(shape.slots_per_gpu <= 1 << kSlotBits, "more slots than a key has room for");
  CHECK(shape.experts >= 1, "a layer without experts");
  CHECK(rule.threshold >= 1 && rule.swaps_per_pair >= 1 && rule.rounds >= 0, "impossible rule");
  const std::size_t gpus = at(shape.gpus);
  const std::size_t slots = gpus * at(shape.slots_per_gpu);
  const std::size_t experts = at(shape.experts);
  expert_.resize(slots);
  tokens_.resize(slots);
  load_.resize(gpus);
  lost_.resize(gpus);
  order_.resize(at(std::min(shape.gpus_per_host, shape.gpus)));
  swaps_.reserve(gpus / 2 * at(rule.swaps_per_pair) * at(rule.rounds));
  on_heavy_.resize(experts);
  on_light_.resize(experts);
  keys_.resize(at(shape.slots_per_gpu));
  doubled_.resize(at(shape.slots_per_gpu));
  ring_first_.resize(experts);
  if (rule.spill) {
    ring_.resize(slots);
    ring_last_.resize(experts);
    trial_tokens_.resize(slots);
    trial_load_.resize(gpus);
    hop_.resize(gpus);
    reached_.resize(gpus);
    queue_.resize(gpus);
  }
}

BalancedStep StepBalancer::balance(std::span<const int> slot_expert,
                                   std::span<const int64_t> slot_tokens,
                                   std::span<const uint8_t> gpu_lost) {
  take_in(slot_expert, slot_tokens, gpu_lost);
  BalancedStep step;
  step.heaviest_before = heaviest({0, shape_.gpus});
  for (int first = 0; first < shape_.gpus; first += shape_.gpus_per_host) {
    balance_host({first, std::min(first + shape_.gpus_per_host, shape_.gpus)});
  }
  step.heaviest_after = heaviest({0, shape_.gpus});
  step.swaps = swaps_;
  step.slot_expert = expert_;
  step.slot_tokens = tokens_;
  return step;
}

int64_t StepBalancer::split(std::span<const int> slot_expert,
                            std::span<const int64_t> expert_tokens, std::span<int64_t> slot_tokens,
                            std::span<const uint8_t> gpu_lost) {
  CHECK(slot_expert.size() == expert_.size() && slot_tokens.size() == expert_.size(),
        "one entry per slot");
  CHECK(expert_tokens.size() == ring_first_.size(), "one count per expert");
  CHECK(gpu_lost.empty() || gpu_lost.size() == lost_.size(), "one entry per GPU");
  const auto is_lost = [&](std::size_t slot) {
    return !gpu_lost.empty() && gpu_lost[slot / at(shape_.slots_per_gpu)] != 0;
  };
  std::vector<int>& replicas = ring_first_;
  std::fill(replicas.begin(), replicas.end(), 0);
  for (std::size_t s = 0; s < slot_expert.size(); ++s) {
    CHECK(slot_expert[s] < shape_.experts, "an expert of the layer, or none");
    if (slot_expert[s] >= 0 && !is_lost(s)) {
      ++replicas[at(slot_expert[s])];
    }
  }
  int64_t homeless = 0;
  for (std::size_t e = 0; e < replicas.size(); ++e) {
    homeless += replicas[e] == 0 ? expert_tokens[e] : 0;
    on_heavy_[e] = 0;  // replicas served so far; stamps start above 0 and never come back to it
  }
  for (std::size_t s = 0; s < slot_expert.size(); ++s) {
    slot_tokens[s] = 0;
    if (slot_expert[s] < 0 || is_lost(s)) {
      continue;
    }
    const std::size_t e = at(slot_expert[s]);
    const int64_t rest = expert_tokens[e] % replicas[e];
    slot_tokens[s] =
        expert_tokens[e] / replicas[e] + (static_cast<int64_t>(on_heavy_[e]++) < rest ? 1 : 0);
  }
  // Counts may look like stamps of pairs to come.
  std::fill(on_heavy_.begin(), on_heavy_.end(), 0);
  return homeless;
}

void StepBalancer::take_in(std::span<const int> slot_expert, std::span<const int64_t> slot_tokens,
                           std::span<const uint8_t> gpu_lost) {
  CHECK(slot_expert.size() == expert_.size() && slot_tokens.size() == expert_.size(),
        "one entry per slot");
  CHECK(gpu_lost.empty() || gpu_lost.size() == lost_.size(), "one entry per GPU");
  swaps_.clear();
  std::copy(slot_expert.begin(), slot_expert.end(), expert_.begin());
  std::copy(slot_tokens.begin(), slot_tokens.end(), tokens_.begin());
  if (gpu_lost.empty()) {
    std::fill(lost_.begin(), lost_.end(), uint8_t{0});
  } else {
    std::copy(gpu_lost.begin(), gpu_lost.end(), lost_.begin());
  }
  const std::size_t slots = at(shape_.slots_per_gpu);
  const int64_t share = kMostTokens / shape_.gpus_per_host;
  for (std::size_t g = 0; g < load_.size(); ++g) {
    int64_t load = 0;
    uint64_t bits = 0;  // the highest is set by a count below 0 or above the share
    bool sound = true;
    for (std::size_t s = g * slots; s < (g + 1) * slots; ++s) {
      const int64_t t = tokens_[s];
      bits |= static_cast<uint64_t>(t) | (static_cast<uint64_t>(share) - static_cast<uint64_t>(t));
      load += t & (2 * kMostTokens - 1);  // no sum of masked counts overflows
      sound &= expert_[s] < shape_.experts && (expert_[s] >= 0 || t == 0);
    }
    CHECK(bits >> 63 == 0 && load <= share, "negative or too many tokens");
    CHECK(sound, "an expert out of range, or tokens for an empty slot");
    CHECK(lost_[g] == 0 || load == 0, "tokens for a lost GPU");
    load_[g] = load;
  }
}

int64_t StepBalancer::heaviest(const Host& host) const {
  return *std::max_element(load_.begin() + host.first_gpu, load_.begin() + host.end_gpu);
}

void StepBalancer::balance_host(const Host& host) {
  if (rule_.spill) {
    spill(host);
  }
  const std::size_t before = swaps_.size();
  for (int round = 0; round < rule_.rounds && swap_round(host, round > 0); ++round) {
  }
  if (rule_.spill && swaps_.size() > before) {
    spill(host);
  }
}

// One exchange (or several) per pair. False if it changed nothing, or was taken back because it
// must pay and does not.
bool StepBalancer::swap_round(const Host& host, bool must_pay) {
  const int64_t before = must_pay ? heaviest(host) : 0;
  const std::size_t kept = swaps_.size();
  const int gpus = order_by_load(host);
  int most = 0;
  for (int k = 0; k < gpus / 2; ++k) {
    most = std::max(most, swap_pair(order_[at(k)], order_[at(gpus - 1 - k)]));
  }
  if (most == 0) {
    return false;
  }
  if (must_pay && (before - heaviest(host)) / most < rule_.threshold) {
    while (swaps_.size() > kept) {
      apply(swaps_.back().heavy, swaps_.back().light);
      swaps_.pop_back();
    }
    return false;
  }
  return true;
}

int StepBalancer::order_by_load(const Host& host) {
  int count = 0;
  for (int g = host.first_gpu; g < host.end_gpu; ++g) {
    if (lost_[at(g)] != 0) {
      continue;
    }
    int place = count++;
    for (; place > 0 && load_[at(order_[at(place - 1)])] < load_[at(g)]; --place) {
      order_[at(place)] = order_[at(place - 1)];
    }
    order_[at(place)] = g;
  }
  return count;
}

// Returns the number of exchanges taken.
int StepBalancer::swap_pair(int heavy, int light) {
  int taken = 0;
  while (taken < rule_.swaps_per_pair) {
    if (load_[at(heavy)] < load_[at(light)]) {
      std::swap(heavy, light);
    }
    const int64_t gap = load_[at(heavy)] - load_[at(light)];
    // Nothing lowers the larger load by more than half of the gap.
    if (gap / 2 < rule_.threshold) {
      break;
    }
    const Exchange best = best_exchange(heavy, light, gap);
    if (best.fall < rule_.threshold) {
      break;
    }
    apply(best.heavy, best.light);
    swaps_.push_back({best.heavy, best.light, best.fall});
    ++taken;
  }
  return taken;
}

// An expert may leave for a GPU that does not hold it: stamps what each of the two holds.
void StepBalancer::stamp_experts(int heavy, int light) {
  ++stamp_;
  for (int s = 0; s < shape_.slots_per_gpu; ++s) {
    const int on_heavy = expert_[at(first_slot(heavy) + s)];
    if (on_heavy >= 0) {
      on_heavy_[at(on_heavy)] = stamp_;
    }
    const int on_light = expert_[at(first_slot(light) + s)];
    if (on_light >= 0) {
      on_light_[at(on_light)] = stamp_;
    }
  }
}

// The counts that the light GPU may give, ascending; of equal ones only the lowest slot.
std::span<const uint64_t> StepBalancer::sorted_keys(int light) {
  std::size_t count = 0;
  for (int s = 0; s < shape_.slots_per_gpu; ++s) {
    const std::size_t slot = at(first_slot(light) + s);
    const int e = expert_[slot];
    if (e < 0 || on_heavy_[at(e)] != stamp_) {
      keys_[count++] = static_cast<uint64_t>(tokens_[slot]) << kSlotBits | at(s);
    }
  }
  const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(keys_.begin(), end);
  const auto same = [](uint64_t a, uint64_t b) { return a >> kSlotBits == b >> kSlotBits; };
  return {keys_.begin(), std::unique(keys_.begin(), end, same)};
}

// Exchanging x tokens for y leaves max(heavy - (x - y), light + (x - y)), which is
// (heavy + light + |2(x - y) - gap|) / 2: the least |2x - gap - 2y| is wanted.
StepBalancer::Exchange StepBalancer::best_exchange(int heavy, int light, int64_t gap) {
  stamp_experts(heavy, light);
  const bool narrow = load_[at(heavy)] < kMostNarrow && shape_.slots_per_gpu <= kMostCompared;
  return narrow ? best_compared(heavy, light, static_cast<int32_t>(gap))
                : best_searched(heavy, light, gap);
}

// Compares all slots of both GPUs, in 32 bits and without branches inside: compilers make vector
// code of it, which is several times faster than sorting a few dozen counts.
StepBalancer::Exchange StepBalancer::best_compared(int heavy, int light, int32_t gap) {
  const std::size_t count = at(shape_.slots_per_gpu);
  const std::size_t light_first = at(first_slot(light));
  int32_t* const doubled = doubled_.data();
  for (std::size_t s = 0; s < count; ++s) {
    const int e = expert_[light_first + s];
    const bool barred = e >= 0 && on_heavy_[at(e)] == stamp_;
    doubled[s] = barred ? kBarred : static_cast<int32_t>(2 * tokens_[light_first + s]);
  }
  int32_t least_miss = gap;  // exchanging nothing
  int32_t best_wanted = 0;
  Exchange best;
  for (int s = first_slot(heavy); s < first_slot(heavy + 1); ++s) {
    const int e = expert_[at(s)];
    if (e < 0 || on_light_[at(e)] == stamp_) {
      continue;
    }
    const int32_t wanted = static_cast<int32_t>(2 * tokens_[at(s)]) - gap;
    int32_t miss = least_miss;
    for (std::size_t y = 0; y < count; ++y) {
      const int32_t difference = doubled[y] - wanted;
      const int32_t size = difference < 0 ? -difference : difference;
      miss = size < miss ? size : miss;
    }
    if (miss < least_miss) {
      least_miss = miss;
      best_wanted = wanted;
      best.heavy = s;
    }
  }
  if (best.heavy < 0) {
    return best;
  }
  std::size_t y = 0;
  while (doubled[y] != best_wanted + least_miss && doubled[y] != best_wanted - least_miss) {
    ++y;
  }
  best.light = static_cast<int>(light_first + y);
  best.fall = (gap - least_miss) / 2;
  return best;
}

// Sorts what the light GPU may give: for every x, the best y are the two around x - gap / 2.
StepBalancer::Exchange StepBalancer::best_searched(int heavy, int light, int64_t gap) {
  const std::span<const uint64_t> keys = sorted_keys(light);
  int64_t least_miss = gap;  // exchanging nothing
  Exchange best;
  for (int s = first_slot(heavy); s < first_slot(heavy + 1); ++s) {
    const int e = expert_[at(s)];
    if (e < 0 || on_light_[at(e)] == stamp_) {
      continue;
    }
    const int64_t wanted = 2 * tokens_[at(s)] - gap;  // twice the best y
    const std::size_t above = first_with(keys, (wanted + 1) >> 1);
    const int64_t over = above < keys.size() ? 2 * tokens_of(keys[above]) - wanted : INT64_MAX;
    const int64_t under = above > 0 ? wanted - 2 * tokens_of(keys[above - 1]) : INT64_MAX;
    const int64_t miss = std::min(over, under);
    if (miss >= least_miss) {
      continue;
    }
    uint64_t other = kSlotMask;
    if (over == miss) {
      other = keys[above] & kSlotMask;
    }
    if (under == miss) {
      other = std::min(other, keys[above - 1] & kSlotMask);
    }
    least_miss = miss;
    best = {s, first_slot(light) + static_cast<int>(other), (gap - miss) / 2};
  }
  return best;
}

void StepBalancer::apply(int heavy_slot, int light_slot) {
  const std::size_t heavy = at(heavy_slot);
  const std::size_t light = at(light_slot);
  const int64_t moved = tokens_[heavy] - tokens_[light];
  load_[at(gpu_of(heavy_slot))] -= moved;
  load_[at(gpu_of(light_slot))] += moved;
  std::swap(tokens_[heavy], tokens_[light]);
  std::swap(expert_[heavy], expert_[light]);
}

}  // namespace mixnet::plan
