#include "plan/wire_relay.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "plan/circuit_exchange.h"
#include "plan/coverage_search.h"
#include "plan/relay_flow.h"
#include "plan/wire_greedy.h"

namespace mixnet::plan {
namespace {

constexpr uint64_t kRelaySeed = 1;
// Nanoseconds of one pair in a sweep of the routing, and of one pair of servers in the valuation
// of all circuits, as measured.
constexpr int64_t kVisitWork = 40;
constexpr int64_t kValueWork = 300;
// A routing this close to the best for its circuits is not worth further sweeps.
constexpr double kExact = 1.0005;
// Within this of the bound the search is over.
constexpr double kMet = 1.0005;
// Shares of the budget after which annealing ends, and the search for better covers.
constexpr int kAnnealShare = 6;
constexpr int kCoverShare = 3;
// Annealing aims a little above the bound, where the penalty is still flat.
constexpr double kAim = 1.1;
constexpr double kCoverTemperature = 0.0005;
// What must be sent electrically should fit into this much of the bound.
constexpr double kCovered = 1.05;
constexpr double kPoorlyCovered = 1.15;
constexpr double kSearchTau = 0.05;

// The demand with the bound as the unit, so that tolerances mean the same everywhere.
DemandMatrix scaled(const DemandMatrix& demand, double unit) {
  DemandMatrix result = demand;
  for (std::size_t i = 0; i < result.rows(); ++i) {
    for (double& d : result.row(i)) {
      d /= unit;
    }
    result(i, i) = 0;
  }
  return result;
}

int most_peers(const WireProblem& problem) {
  int most = 0;
  for (std::size_t i = 0; i < problem.demand.rows(); ++i) {
    most = std::max(most, problem.alpha.of(i));
  }
  return std::min(most, static_cast<int>(problem.demand.rows()) - 1);
}

// Lowers tau until sweeps stop helping.
void route(RelayFlow& flow, int sweeps) {
  for (const double tau : {0.02, 0.006, 0.002, 0.0006, 0.0002}) {
    double last = flow.completion();
    for (int round = 0; round < sweeps; ++round) {
      flow.descend(tau, 5);
      const double now = flow.completion();
      if (now > last * (1 - 1e-4)) {
        break;
      }
      last = now;
    }
    if (flow.completion() < std::max(kMet, flow.dual_bound() * kExact)) {
      return;
    }
  }
}

// The largest share of each pair takes up the rounding, so that bytes are conserved.
Wiring in_demand_units(const WireProblem& problem, const RelayFlow& flow, double unit) {
  Wiring wiring = flow.wiring();
  const std::size_t n = problem.demand.rows();
  Matrix<double> missing = problem.demand;
  Matrix<double*> largest(n, n, nullptr);
  const auto place = [&](std::size_t i, std::size_t j, double& amount) {
    amount *= unit;
    missing(i, j) -= amount;
    if (largest(i, j) == nullptr || amount > *largest(i, j)) {
      largest(i, j) = &amount;
    }
  };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j) {
        place(i, j, wiring.circuit(i, j));
        place(i, j, wiring.eps(i, j));
      }
    }
  }
  for (RelayShare& share : wiring.relay) {
    place(static_cast<std::size_t>(share.src), static_cast<std::size_t>(share.dst), share.amount);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j) {
        *largest(i, j) = std::max(0.0, *largest(i, j) + missing(i, j));
      }
    }
  }
  return wiring;
}

// Servers in an order that does not depend on their labels.
std::vector<std::size_t> canonical_order(const WireProblem& problem) {
  const std::size_t n = problem.demand.rows();
  // Sorted before they are summed, since rounding depends on the order.
  const auto sum = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  std::vector<std::tuple<double, double, int, int, std::size_t>> keys;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> sent;
    std::vector<double> received;
    for (std::size_t j = 0; j < n; ++j) {
      if (j != i) {
        sent.push_back(problem.demand(i, j));
        received.push_back(problem.demand(j, i));
      }
    }
    keys.emplace_back(-sum(std::move(sent)), -sum(std::move(received)), problem.alpha.of(i),
                      problem.eps.of(i), i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::size_t> order;
  for (const auto& key : keys) {
    order.push_back(std::get<4>(key));
  }
  return order;
}

WireProblem in_order(const WireProblem& problem, const std::vector<std::size_t>& order) {
  const std::size_t n = order.size();
  DemandMatrix demand(n, n, 0.0);
  std::vector<int> alpha;
  std::vector<int> eps;
  for (std::size_t i = 0; i < n; ++i) {
    alpha.push_back(problem.alpha.of(order[i]));
    eps.push_back(problem.eps.of(order[i]));
    for (std::size_t j = 0; j < n; ++j) {
      demand(i, j) = i == j ? 0 : problem.demand(order[i], order[j]);
    }
  }
  return {std::move(demand), std::move(alpha), std::move(eps)};
}

Wiring back_in_order(const Wiring& wiring, const std::vector<std::size_t>& order) {
  const std::size_t n = order.size();
  Wiring result = wiring;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      result.circuits(order[i], order[j]) = wiring.circuits(i, j);
      result.circuit(order[i], order[j]) = wiring.circuit(i, j);
      result.eps(order[i], order[j]) = wiring.eps(i, j);
    }
  }
  for (RelayShare& share : result.relay) {
    for (int* const server : {&share.src, &share.via, &share.dst}) {
      *server = static_cast<int>(order[static_cast<std::size_t>(*server)]);
    }
  }
  std::sort(result.relay.begin(), result.relay.end(), [](const RelayShare& a, const RelayShare& b) {
    return std::tie(a.src, a.dst, a.via) < std::tie(b.src, b.dst, b.via);
  });
  return result;
}

class RelaySearch {
 public:
  RelaySearch(const WireProblem& problem, double unit, int64_t budget)
      : problem_(problem), demand_(scaled(problem.demand, unit)), budget_(budget) {}

  Matrix<int> cover() {
    const std::size_t n = demand_.rows();
    CoverageSearch search(demand_, problem_.alpha, problem_.eps, kAim,
                          algorithm1_circuits(demand_, problem_.alpha, WhenBlocked::kSkip));
    search.fill();
    RandomStream random(kRelaySeed, "relay circuits");
    const auto proposals = static_cast<int>(std::min<std::size_t>(1000 * n, 60000));
    anneal(search, proposals, kCoverTemperature, budget_ / kAnnealShare, random);
    for (int round = 0; round < 8; ++round) {
      const double worst = search.worst() * kAim;
      // Where reach is what limits, exchanges have little to do.
      const int64_t most = worst > kPoorlyCovered ? budget_ * 3 / 5 : budget_ / kCoverShare;
      if (worst <= kCovered || search.work() > most) {
        break;
      }
      search.sharpen(6, std::max(worst * 0.95, kCovered) / kAim);
      anneal(search, proposals / 3, 0, most, random);
    }
    work_ += search.work();
    return search.circuits();
  }

  void exchange(RelayFlow& flow) {
    std::vector<int> alpha;
    for (std::size_t i = 0; i < demand_.rows(); ++i) {
      alpha.push_back(problem_.alpha.of(i));
    }
    CircuitExchange search(flow, std::move(alpha));
    // Valuing all circuits costs as much as trying a few exchanges.
    const auto tries = static_cast<int>(std::clamp<std::size_t>(demand_.rows() * 3 / 2, 12, 96));
    const auto value_work = static_cast<int64_t>(demand_.rows() * demand_.rows()) * kValueWork;
    double tau = kSearchTau;
    flow.descend(0.1, 3);
    flow.descend(tau, 6);
    int fruitless = 0;
    while (work_ + flow.work() * kVisitWork < budget_ && flow.completion() > kMet) {
      work_ += value_work;
      if (search.round(tries) > 0) {
        fruitless = 0;
        flow.descend(tau, 1);
      } else if (++fruitless >= 3) {
        if (tau < 0.006) {
          return;
        }
        tau *= 0.6;
        fruitless = 0;
        search.forget();
        flow.descend(tau, 4);
      }
    }
  }

  const DemandMatrix& demand() const { return demand_; }

 private:
  // In portions, so that costly exchanges cannot overrun the budget by much.
  static void anneal(CoverageSearch& search, int proposals, double temperature, int64_t most,
                     RandomStream& random) {
    constexpr int kPortions = 8;
    for (int portion = 0; portion < kPortions && search.work() < most; ++portion) {
      search.anneal(proposals / kPortions, temperature * (kPortions - portion) / kPortions, random);
    }
  }

  const WireProblem& problem_;
  DemandMatrix demand_;
  int64_t budget_;
  int64_t work_ = 0;
};

}  // namespace

RelayBudget relay_budget(std::size_t servers) {
  return {static_cast<int64_t>(0.33e6 * std::pow(static_cast<double>(servers) / 8, 1.85))};
}

Wiring relay_wiring(const WireProblem& problem, const RelayBudget& budget) {
  const std::vector<std::size_t> order = canonical_order(problem);
  const WireProblem canonical = in_order(problem, order);
  const double unit = any_wiring_bound(canonical);
  RelaySearch search(canonical, unit, budget.work);
  RelayFlow flow(search.demand(), canonical.eps, search.cover(), most_peers(canonical));
  search.exchange(flow);
  route(flow, 6);
  Wiring wiring = back_in_order(in_demand_units(canonical, flow, unit), order);
  wiring.bound = unit;
  return wiring;
}

Wiring relay_over(const WireProblem& problem, const Matrix<int>& circuits) {
  const double unit = port_bound(problem);
  RelayFlow flow(scaled(problem.demand, unit), problem.eps, circuits, most_peers(problem));
  flow.descend(0.1, 5);
  route(flow, 12);
  return in_demand_units(problem, flow, unit);
}

}  // namespace mixnet::plan
