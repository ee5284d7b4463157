#include "plan/place_joint.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace mixnet::plan {
namespace {

// A completion has to fall by this share to count as shorter.
constexpr double kJointGain = 1e-9;
constexpr double kJointRounding = 1e-12;
// The swaps that promise most are judged by the allocator itself.
constexpr std::size_t kJudged = 24;
// Exponent of the penalty on what NICs carry: high enough to see the busiest first, low enough to
// still tell the others apart.
constexpr int kPower = 12;
constexpr uint64_t kJointSeed = 1;
constexpr int kAnneals = 3;
// Proposals of one annealing per slot, and most of them.
constexpr std::size_t kProposals = 400;
constexpr std::size_t kMostProposals = 100000;
// In shares of what the busiest NICs carry.
constexpr double kHot = 0.05;
constexpr double kCold = 0.0005;

std::vector<int> copies_of(const JointProblem& problem, const std::vector<int>& slot_expert) {
  std::vector<int> copies(problem.sent.cols(), 0);
  for (const int expert : slot_expert) {
    if (expert >= 0) {
      ++copies.at(static_cast<std::size_t>(expert));
    }
  }
  return copies;
}

// One copy of every expert: what each server has for it, and all together.
struct ExpertCopies {
  DemandMatrix sent;  // experts x servers
  std::vector<double> total;
};

ExpertCopies shares_of(const JointProblem& problem, const std::vector<int>& slot_expert) {
  const std::vector<int> copies = copies_of(problem, slot_expert);
  ExpertCopies shares{DemandMatrix(problem.sent.cols(), problem.servers()),
                      std::vector<double>(problem.sent.cols(), 0.0)};
  for (std::size_t expert = 0; expert < copies.size(); ++expert) {
    for (std::size_t server = 0; server < problem.servers(); ++server) {
      const double all = problem.sent(server, expert);
      CHECK(all == 0 || copies[expert] > 0, "an expert with tokens has a slot");
      const double share = copies[expert] > 0 ? all / copies[expert] : 0;
      shares.sent(expert, server) = share;
      shares.total[expert] += share;
    }
  }
  return shares;
}

std::vector<double> gpu_loads(const JointProblem& problem, const std::vector<int>& slot_expert,
                              const ExpertCopies& copies) {
  std::vector<double> loads(problem.gpus(), 0.0);
  for (std::size_t s = 0; s < slot_expert.size(); ++s) {
    if (slot_expert[s] >= 0) {
      loads[gpu_of(s, slot_expert.size(), loads.size())] +=
          copies.total[static_cast<std::size_t>(slot_expert[s])];
    }
  }
  return loads;
}

// What the servers send and receive under a placement, and what a swap would make of it.
class Swaps {
 public:
  struct Swap {
    double penalty = 0;
    std::size_t a = 0;  // slots
    std::size_t b = 0;
  };

  Swaps(const JointProblem& problem, std::vector<int> slot_expert)
      : problem_(problem),
        slots_(std::move(slot_expert)),
        copies_(shares_of(problem, slots_)),
        loads_(gpu_loads(problem, slots_, copies_)),
        most_(*std::max_element(loads_.begin(), loads_.end())),
        held_(problem.gpus(), problem.sent.cols(), 0),
        sends_(problem.servers(), 0.0),
        receives_(problem.servers(), 0.0) {
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      gpu_.push_back(gpu_of(s, slots_.size(), problem.gpus()));
    }
    recount();
  }

  const std::vector<int>& slots() const { return slots_; }

  // Simulated annealing on the penalty.
  void anneal(RandomStream& random) {
    const std::size_t proposals = std::min(kProposals * slots_.size(), kMostProposals);
    for (std::size_t n = 0; n < proposals && unit_ > 0; ++n) {
      const double cooled = static_cast<double>(n) / static_cast<double>(proposals);
      const double temperature = kHot * std::pow(kCold / kHot, cooled);
      const auto a = static_cast<std::size_t>(random.below(slots_.size()));
      const auto b = static_cast<std::size_t>(random.below(slots_.size()));
      if (slots_[a] == slots_[b] || gpu_[a] == gpu_[b] || doubles(a, b)) {
        continue;
      }
      const double now = penalty();
      const double then = server(a) == server(b) ? now : std::max(0.0, now + change(a, b));
      // The root is about what the busiest NICs carry, in units of the start's. On the way a GPU
      // may compute too much: small regions have placements that are reached in no other way.
      const double worse =
          std::pow(then, 1.0 / kPower) - std::pow(now, 1.0 / kPower) + more_excess(a, b);
      if (worse <= 0 || random.uniform() < std::exp(-worse / temperature)) {
        apply({0, a, b});
      }
    }
    recount();
  }

  // Swaps between the busiest server and any other that lower the penalty by more than `gain`
  // (negative: or raise it by less), the best first.
  std::vector<Swap> offers(double gain, std::size_t most) const {
    const std::size_t busiest = busiest_server();
    const double now = penalty();
    std::vector<Swap> best;
    const auto better = [](const Swap& x, const Swap& y) {
      return std::tie(x.penalty, x.a, x.b) < std::tie(y.penalty, y.a, y.b);
    };
    for (std::size_t a = 0; a < slots_.size(); ++a) {
      if (server(a) != busiest) {
        continue;
      }
      for (std::size_t b = 0; b < slots_.size(); ++b) {
        if (server(b) == busiest || slots_[a] == slots_[b] || !allowed(a, b)) {
          continue;
        }
        const Swap swap{now + change(a, b), a, b};
        if (swap.penalty >= now * (1 - gain)) {
          continue;
        }
        best.push_back(swap);
        std::push_heap(best.begin(), best.end(), better);
        if (best.size() > most) {
          std::pop_heap(best.begin(), best.end(), better);
          best.pop_back();
        }
      }
    }
    std::sort(best.begin(), best.end(), better);
    return best;
  }

  void apply(const Swap& swap) {
    for (const std::size_t slot : {swap.a, swap.b}) {
      take(slot, -1);
    }
    std::swap(slots_[swap.a], slots_[swap.b]);
    for (const std::size_t slot : {swap.a, swap.b}) {
      take(slot, 1);
    }
  }

 private:
  std::size_t expert(std::size_t slot) const { return static_cast<std::size_t>(slots_[slot]); }
  std::size_t server(std::size_t slot) const {
    return gpu_[slot] / static_cast<std::size_t>(problem_.gpus_per_server);
  }
  double sent(std::size_t slot, std::size_t from) const {
    return slots_[slot] < 0 ? 0 : copies_.sent(expert(slot), from);
  }
  double total(std::size_t slot) const {
    return slots_[slot] < 0 ? 0 : copies_.total[expert(slot)];
  }
  double nics(std::size_t s) const {
    return std::max(1e-6, static_cast<double>(problem_.alpha.of(s) + problem_.eps.of(s)));
  }

  // Adds (sign 1) or takes away (-1) what the expert in a slot makes its GPU and the NICs do.
  void take(std::size_t slot, int sign) {
    if (slots_[slot] < 0) {
      return;
    }
    held_(gpu_[slot], expert(slot)) += sign;
    loads_[gpu_[slot]] += sign * total(slot);
    for (std::size_t from = 0; from < sends_.size(); ++from) {
      if (from != server(slot)) {
        sends_[from] += sign * sent(slot, from);
        receives_[server(slot)] += sign * sent(slot, from);
      }
    }
  }

  // Without the rounding of many swaps.
  void recount() {
    for (std::vector<double>* sums : {&sends_, &receives_, &loads_}) {
      std::fill(sums->begin(), sums->end(), 0.0);
    }
    std::fill(held_.cells().begin(), held_.cells().end(), 0);
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      take(slot, 1);
    }
    unit_ = 0;
    for (std::size_t s = 0; s < sends_.size(); ++s) {
      unit_ = std::max({unit_, sends_[s] / nics(s), receives_[s] / nics(s)});
    }
  }

  std::size_t busiest_server() const {
    std::size_t busiest = 0;
    double most = -1;
    for (std::size_t s = 0; s < sends_.size(); ++s) {
      const double busy = std::max(sends_[s], receives_[s]) / nics(s);
      if (busy > most) {
        most = busy;
        busiest = s;
      }
    }
    return busiest;
  }

  double term(std::size_t s, double amount) const {
    const double x = std::max(0.0, amount) / (nics(s) * unit_);
    const double x4 = (x * x) * (x * x);
    static_assert(kPower == 12, "three times four");
    return x4 * x4 * x4;
  }
  double penalty() const {
    double sum = 0;
    for (std::size_t s = 0; s < sends_.size() && unit_ > 0; ++s) {
      sum += term(s, sends_[s]) + term(s, receives_[s]);
    }
    return sum;
  }

  // Of the penalty, if a and b changed places: only their servers see a difference.
  double change(std::size_t a, std::size_t b) const {
    double sum = 0;
    for (const auto& [out, in] : {std::pair(a, b), std::pair(b, a)}) {
      const std::size_t s = server(out);
      const double sends = sends_[s] + sent(out, s) - sent(in, s);
      const double receives =
          receives_[s] - (total(out) - sent(out, s)) + (total(in) - sent(in, s));
      sum += term(s, sends) - term(s, sends_[s]) + term(s, receives) - term(s, receives_[s]);
    }
    return sum;
  }

  // Would a GPU get a second copy of an expert?
  bool doubles(std::size_t a, std::size_t b) const {
    return (slots_[a] >= 0 && held_(gpu_[b], expert(a)) > 0) ||
           (slots_[b] >= 0 && held_(gpu_[a], expert(b)) > 0);
  }

  // What a GPU computes beyond the most that any did at the start, as a share of that.
  double excess(double load) const {
    return most_ > 0 ? std::max(0.0, load / most_ - (1 + kJointRounding)) : 0;
  }
  double more_excess(std::size_t a, std::size_t b) const {
    const double moved = total(b) - total(a);
    return excess(loads_[gpu_[a]] + moved) + excess(loads_[gpu_[b]] - moved) -
           excess(loads_[gpu_[a]]) - excess(loads_[gpu_[b]]);
  }
  bool allowed(std::size_t a, std::size_t b) const {
    return !doubles(a, b) && more_excess(a, b) <= 0;
  }

  const JointProblem& problem_;
  std::vector<int> slots_;
  ExpertCopies copies_;
  std::vector<std::size_t> gpu_;
  std::vector<double> loads_;
  double most_;
  Matrix<int> held_;  // GPUs x experts
  std::vector<double> sends_;
  std::vector<double> receives_;
  double unit_ = 0;
};

class JointSearch {
 public:
  JointSearch(const JointProblem& problem, int wirings) : problem_(problem), left_(wirings) {}

  // Fits what NICs send and receive, then judges single swaps with the allocator.
  JointPlan improve(const std::vector<int>& start) {
    JointPlan best = wire_under(problem_, start);
    most_gpu_load_ = best.max_gpu_load;
    fit(best);
    RandomStream random(kJointSeed, "joint placement");
    for (int n = 0; n < kAnneals && !is_met(best); ++n) {
      Swaps swaps(problem_, best.slot_expert);
      swaps.anneal(random);
      keep_if_shorter(swaps.slots(), best);
      fit(best);
    }
    while (left_ > 0 && judge(best)) {
      fit(best);
    }
    return best;
  }

 private:
  // No placement is better.
  bool is_met(const JointPlan& plan) const {
    return plan.wiring.completion <=
           any_placement_bound(problem_, plan.slot_expert) * (1 + kJointGain);
  }

  // Swaps as long as the penalty falls; kept if the circuits follow.
  void fit(JointPlan& best) {
    Swaps swaps(problem_, best.slot_expert);
    const std::size_t most = 4 * best.slot_expert.size();
    for (std::size_t n = 0; n < most; ++n) {
      const std::vector<Swaps::Swap> offers = swaps.offers(1e-6, 1);
      if (offers.empty()) {
        break;
      }
      swaps.apply(offers.front());
    }
    keep_if_shorter(swaps.slots(), best);
  }

  bool judge(JointPlan& best) {
    const Swaps swaps(problem_, best.slot_expert);
    const JointPlan before = best;
    for (const Swaps::Swap& offer : swaps.offers(-0.05, kJudged)) {
      if (left_ <= 0) {
        break;
      }
      std::vector<int> slots = before.slot_expert;
      std::swap(slots[offer.a], slots[offer.b]);
      keep_if_shorter(slots, best);
    }
    return best.slot_expert != before.slot_expert;
  }

  void keep_if_shorter(const std::vector<int>& slots, JointPlan& best) {
    if (slots == best.slot_expert || left_ <= 0) {
      return;
    }
    --left_;
    JointPlan plan = wire_under(problem_, slots);
    if (plan.wiring.completion < best.wiring.completion * (1 - kJointGain) &&
        plan.max_gpu_load <= most_gpu_load_ * (1 + kJointGain)) {
      best = std::move(plan);
    }
  }

  const JointProblem& problem_;
  int left_;
  double most_gpu_load_ = 0;
};

}  // namespace

std::size_t gpu_of(std::size_t slot, std::size_t slots, std::size_t gpus) {
  CHECK(gpus > 0 && slot < slots, "a slot on a GPU");
  const std::size_t each = slots / gpus;
  const std::size_t larger = slots % gpus;
  const std::size_t in_larger = larger * (each + 1);
  return slot < in_larger ? slot / (each + 1) : larger + (slot - in_larger) / each;
}

DemandMatrix demand_under(const JointProblem& problem, const std::vector<int>& slot_expert) {
  const ExpertCopies copies = shares_of(problem, slot_expert);
  DemandMatrix demand(problem.servers(), problem.servers());
  for (std::size_t slot = 0; slot < slot_expert.size(); ++slot) {
    if (slot_expert[slot] < 0) {
      continue;
    }
    const std::size_t to = gpu_of(slot, slot_expert.size(), problem.gpus()) /
                           static_cast<std::size_t>(problem.gpus_per_server);
    for (std::size_t from = 0; from < problem.servers(); ++from) {
      demand(from, to) += copies.sent(static_cast<std::size_t>(slot_expert[slot]), from);
    }
  }
  return demand;
}

JointPlan wire_under(const JointProblem& problem, const std::vector<int>& slot_expert) {
  JointPlan plan;
  plan.slot_expert = slot_expert;
  plan.demand = demand_under(problem, slot_expert);
  plan.wiring = wire(WireProblem{plan.demand, problem.alpha, problem.eps}, problem.allocator);
  const std::vector<double> loads =
      gpu_loads(problem, slot_expert, shares_of(problem, slot_expert));
  plan.max_gpu_load = *std::max_element(loads.begin(), loads.end());
  plan.mean_gpu_load =
      std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(loads.size());
  return plan;
}

JointPlan place_and_wire(const JointProblem& problem, const std::vector<std::vector<int>>& starts,
                         const JointBudget& budget) {
  CHECK(!starts.empty(), "a placement to start from");
  const int each = std::max(1, budget.wirings / static_cast<int>(starts.size()));
  JointPlan best;
  for (std::size_t k = 0; k < starts.size(); ++k) {
    CHECK(starts[k].size() == starts[0].size(), "starts of equal size");
    JointPlan plan = JointSearch(problem, each).improve(starts[k]);
    if (k == 0 || plan.wiring.completion < best.wiring.completion * (1 - kJointGain)) {
      best = std::move(plan);
    }
  }
  return best;
}

double any_placement_bound(const JointProblem& problem, const std::vector<int>& slot_expert) {
  const std::vector<int> copies = copies_of(problem, slot_expert);
  double remote = 0;
  double hottest = 0;  // what the copy that receives most takes from other servers
  double nics = 0;
  double most_nics = 0;  // of one server
  for (std::size_t s = 0; s < problem.servers(); ++s) {
    const double here = problem.alpha.of(s) + problem.eps.of(s);
    nics += here;
    most_nics = std::max(most_nics, here);
  }
  for (std::size_t expert = 0; expert < copies.size(); ++expert) {
    double total = 0;
    std::vector<double> local;
    for (std::size_t s = 0; s < problem.servers(); ++s) {
      total += problem.sent(s, expert);
      local.push_back(problem.sent(s, expert));
    }
    // Copies may share a server, so each stands where most is.
    const double most = *std::max_element(local.begin(), local.end());
    if (copies[expert] > 0) {
      remote += total - most;
      hottest = std::max(hottest, (total - most) / copies[expert]);
    }
  }
  return nics > 0 ? std::max(remote / nics, hottest / most_nics) : 0;
}

}  // namespace mixnet::plan
