#include "plan/place_bound.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mixnet::plan {
namespace {

// Guards ceilings and comparisons against rounding: a bound may be too low by this, never too high.
constexpr double kSlack = 1e-11;
constexpr int kHalvings = 44;

double copies_for(double load, double piece) {
  return std::max(1.0, std::ceil(load / piece * (1 - kSlack)));
}

class Reach {
 public:
  explicit Reach(const BoundInput& in) : in_(in) {
    const auto experts = static_cast<double>(in.loads.size());
    most_ = std::min(static_cast<double>(in.gpus), static_cast<double>(in.slots) - experts + 1);
    // GPUs of more slots than experts repeat them: then company is not counted.
    if (!in.duplicates && in.least_slots <= in.loads.size()) {
      company_ = in.least_slots;
    }
  }

  bool excluded(double t) const { return too_few_slots(t) || too_many_halves(t); }

 private:
  // The lightest load of `slots` slots of different experts, without expert `except`.
  double lightest(std::size_t slots, std::size_t except) const {
    double sum = 0;
    std::size_t taken = 0;
    for (std::size_t i = in_.loads.size(); i-- > 0 && taken < slots;) {
      if (i != except) {
        sum += in_.loads[i] / most_;
        ++taken;
      }
    }
    return sum;
  }

  bool too_few_slots(double t) const {
    const std::size_t n = in_.loads.size();
    const std::size_t others = company_ > 0 ? company_ - 1 : 0;
    // The company is the same for all experts but the lightest few, which need no second slot.
    const double room = t - lightest(others, n);
    const double plain = static_cast<double>(in_.gpus);
    double needed = 0;
    for (std::size_t e = 0; e < n; ++e) {
      const bool in_company = e + others >= n;
      const double copies = copies_for(in_.loads[e], in_company ? t : room);
      if (!(copies <= plain)) {
        return true;
      }
      needed += copies;
    }
    return needed > static_cast<double>(in_.slots);
  }

  bool too_many_halves(double t) const {
    if (company_ < 2) {
      return false;
    }
    const std::size_t others = company_ - 2;
    const double half = (t - lightest(others, in_.loads.size())) / 2 * (1 + kSlack);
    struct Choice {
      double big = 0;   // slots over half of t if the expert is not divided further
      double cost = 0;  // slots that dividing it takes
    };
    std::vector<Choice> choices;
    double big = 0;
    double spare = static_cast<double>(in_.slots) - static_cast<double>(in_.loads.size());
    for (std::size_t e = 0; e + others < in_.loads.size() && in_.loads[e] > half; ++e) {
      const double now = copies_for(in_.loads[e], t);
      const double small = copies_for(in_.loads[e], half);
      big += now;
      spare -= now - 1;
      if (small <= most_) {
        choices.push_back({now, std::max(small - now, kSlack)});
      }
    }
    std::sort(choices.begin(), choices.end(),
              [](const Choice& a, const Choice& b) { return a.big * b.cost > b.big * a.cost; });
    for (const Choice& c : choices) {
      const double part = std::clamp(spare / c.cost, 0.0, 1.0);
      big -= c.big * part;
      spare -= c.cost * part;
    }
    return big > static_cast<double>(in_.gpus) + 1e-6;
  }

  const BoundInput& in_;
  double most_ = 1;
  std::size_t company_ = 0;  // slots of a GPU that all hold different experts, 0 if not known
};

}  // namespace

double gpu_load_bound(const BoundInput& input) {
  const double total = std::accumulate(input.loads.begin(), input.loads.end(), 0.0);
  double low = total / static_cast<double>(input.gpus);
  if (total <= 0) {
    return 0;
  }
  const Reach reach(input);
  if (!reach.excluded(low)) {
    return low;
  }
  double high = total;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = low + (high - low) / 2;
    (reach.excluded(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace mixnet::plan
