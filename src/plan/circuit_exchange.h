#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "core/matrix.h"
#include "plan/relay_flow.h"

namespace mixnet::plan {

// Local search on the circuits of a routing, led by its prices. A new circuit is worth what the
// traffic that could use it saves at present prices, as far as it fits; one that goes costs its
// own price, or what its traffic pays elsewhere. The exchanges that promise most are tried on the
// routing itself, with the routes around them settled, and kept if the soft maximum falls.
class CircuitExchange {
 public:
  // `alpha` free or used ports per server, at least as many as the flow's circuits use. The flow
  // outlives the search.
  CircuitExchange(RelayFlow& flow, std::vector<int> alpha);

  // Tries up to `most` exchanges, best first; returns how many were kept. 0 means that nothing is
  // left to try at this temperature.
  int round(int most);
  // Exchanges that failed may be tried again.
  void forget() { failed_.clear(); }

 private:
  // Circuits (i, j) and (k, l) become (i, k) and (j, l). j = i: i has two free ports, or j = none:
  // one, and l is left with one. l = none as well: both i and k have a free port.
  struct Exchange {
    double saving = 0;
    int i = 0;
    int j = 0;
    int k = 0;
    int l = 0;
  };
  static constexpr int kNone = -1;

  void value_circuits();
  void offer(const Exchange& exchange, std::size_t most);
  void collect(std::size_t most);
  void collect_free_ports(std::size_t most);
  bool attempt(const Exchange& exchange);
  void apply(const Exchange& exchange);

  RelayFlow& flow_;
  std::vector<int> free_;
  std::vector<std::array<int, 2>> circuits_;  // pairs i < j with circuits
  Matrix<double> cheapest_;
  Matrix<double> value_;  // of one more circuit
  Matrix<double> loss_;   // of one less
  std::vector<Exchange> best_;
  std::set<std::array<int, 4>> failed_;
};

}  // namespace mixnet::plan
