#include "ocs/circuit_assignment.h"

#include <algorithm>
#include <map>
#include <utility>

namespace mixnet::ocs {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;  // servers, first < second

std::size_t server_of(const Region& region, NicId nic) {
  return static_cast<std::size_t>(region.nic(nic).server);
}

// Usable NICs by server, ascending.
std::vector<std::vector<NicId>> usable_nics(const Region& region,
                                            const std::vector<NicId>& unusable) {
  std::vector<std::vector<NicId>> nics(region.servers().size());
  for (std::size_t i = 0; i < region.nics().size(); ++i) {
    const NicId nic(static_cast<int32_t>(i));
    if (std::find(unusable.begin(), unusable.end(), nic) == unusable.end()) {
      nics[server_of(region, nic)].push_back(nic);
    }
  }
  return nics;
}

// What each circuit of the pair would carry, both directions together.
double carried(const AssignmentProblem& problem, const Matrix<int>& granted, Pair pair) {
  const auto [a, b] = pair;
  return (problem.demand(a, b) + problem.demand(b, a)) / granted(a, b);
}

// The pair that gives a circuit up next; equal servers if no server has too few NICs.
Pair next_to_give_up(const AssignmentProblem& problem, const Matrix<int>& granted,
                     const std::vector<int>& excess) {
  Pair least{0, 0};
  for (std::size_t a = 0; a < granted.rows(); ++a) {
    for (std::size_t b = a + 1; b < granted.cols(); ++b) {
      if (granted(a, b) == 0 || (excess[a] <= 0 && excess[b] <= 0)) {
        continue;
      }
      if (least.first == least.second ||
          carried(problem, granted, {a, b}) < carried(problem, granted, least)) {
        least = {a, b};
      }
    }
  }
  return least;
}

// Lowers `granted` until every server has the NICs for it.
std::vector<GivenUp> give_up(const AssignmentProblem& problem,
                             const std::vector<std::vector<NicId>>& nics, Matrix<int>& granted) {
  std::vector<int> excess(granted.rows());
  for (std::size_t i = 0; i < granted.rows(); ++i) {
    excess[i] = -static_cast<int>(nics[i].size());
    for (const int circuits : granted.row(i)) {
      excess[i] += circuits;
    }
  }
  std::map<Pair, int> given_up;
  for (;;) {
    const Pair pair = next_to_give_up(problem, granted, excess);
    const auto [a, b] = pair;
    if (a == b) {
      break;
    }
    --granted(a, b);
    --granted(b, a);
    --excess[a];
    --excess[b];
    ++given_up[pair];
  }
  std::vector<GivenUp> list;
  list.reserve(given_up.size());
  for (const auto& [pair, circuits] : given_up) {
    list.push_back(GivenUp{static_cast<int>(pair.first), static_cast<int>(pair.second), circuits});
  }
  return list;
}

class Assigner {
 public:
  Assigner(const Region& region, Matrix<int> missing, std::vector<std::vector<NicId>> free)
      : region_(region), missing_(std::move(missing)), free_(std::move(free)) {}

  // Keeps the circuit if its pair is still to have one and both NICs are usable.
  void keep(Circuit circuit) {
    const std::size_t a = server_of(region_, circuit.a);
    const std::size_t b = server_of(region_, circuit.b);
    if (a != b && missing_(a, b) > 0 && is_free(a, circuit.a) && is_free(b, circuit.b)) {
      take(a, circuit.a);
      take(b, circuit.b);
      add(a, b, circuit);
    }
  }

  void fill(std::size_t a, std::size_t b) {
    while (missing_(a, b) > 0) {
      CHECK(!free_[a].empty() && !free_[b].empty(), "the grants fit the NICs");
      const Circuit circuit = circuit_between(free_[a].front(), free_[b].front());
      take(a, free_[a].front());
      take(b, free_[b].front());
      add(a, b, circuit);
    }
  }

  std::vector<Circuit> take_circuits() {
    std::sort(circuits_.begin(), circuits_.end());
    return std::move(circuits_);
  }

 private:
  bool is_free(std::size_t server, NicId nic) const {
    return std::binary_search(free_[server].begin(), free_[server].end(), nic);
  }
  void take(std::size_t server, NicId nic) {
    std::vector<NicId>& free = free_[server];
    free.erase(std::lower_bound(free.begin(), free.end(), nic));
  }
  void add(std::size_t a, std::size_t b, Circuit circuit) {
    --missing_(a, b);
    --missing_(b, a);
    circuits_.push_back(circuit);
  }

  const Region& region_;
  Matrix<int> missing_;                   // circuits per pair of servers that are still to be found
  std::vector<std::vector<NicId>> free_;  // by server, ascending
  std::vector<Circuit> circuits_;
};

}  // namespace

Assignment assign_circuits(const Region& region, const AssignmentProblem& problem,
                           const std::vector<Circuit>& current) {
  const std::size_t n = region.servers().size();
  CHECK(problem.wanted.rows() == n && problem.wanted.cols() == n, "circuits of another region");
  CHECK(problem.demand.rows() == n && problem.demand.cols() == n, "demand of another region");
  std::vector<std::vector<NicId>> nics = usable_nics(region, problem.unusable);
  Matrix<int> granted = problem.wanted;
  Assignment assignment;
  assignment.given_up = give_up(problem, nics, granted);

  Assigner assigner(region, std::move(granted), std::move(nics));
  std::vector<Circuit> there = current;
  std::sort(there.begin(), there.end());
  for (const Circuit circuit : there) {
    assigner.keep(circuit);
  }
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      assigner.fill(a, b);
    }
  }
  assignment.circuits = assigner.take_circuits();
  return assignment;
}

}  // namespace mixnet::ocs
