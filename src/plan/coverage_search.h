#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "core/random.h"
#include "plan/nic_counts.h"

namespace mixnet::plan {

// Circuits for routing with one relay hop, chosen without routing: what two circuits cannot reach
// must fit the electrical NICs, and what is direct saves a hop. With alpha circuits a server
// reaches at most alpha + alpha (alpha - 1) peers, fewer if its circuits lie on short cycles. The
// energy is
//   weight * T * sum over servers and directions of (unreached demand / (r * eps_i * T))^p
//     - direct demand within T,
// with p = 8 and r = 1 until sharpen() is called, and simulated annealing exchanges the ends of two
// circuits at a time. What an exchange changes is first estimated from tables of gains and losses,
// which a change brings up to date in O(n^2); of the exchanges that pass, the energy is computed.
class CoverageSearch {
 public:
  // `demand` has a zero diagonal. `circuits` are symmetric with row sums <= alpha_i.
  CoverageSearch(const DemandMatrix& demand, const NicCounts& alpha, const NicCounts& eps,
                 double time, const Matrix<int>& circuits);

  // Uses free ports, by splitting circuits if only one server has some left.
  void fill();
  // `proposals` exchanges, of which few are taken at low temperature. Deterministic.
  void anneal(int proposals, double temperature, RandomStream& random);

  // Largest unreached demand / (eps_i * T) over servers and directions.
  double worst() const;
  // p = 2^doublings, r = reference from here on.
  void sharpen(int doublings, double reference);

  // Work so far in nanoseconds of a common machine: a count, not a measurement.
  int64_t work() const { return work_; }
  const Matrix<int>& circuits() const { return circuits_; }

 private:
  static constexpr uint16_t kDirect = 1 << 12;

  struct Circuit {
    std::size_t i = 0;
    std::size_t j = 0;
  };

  bool reached(std::size_t i, std::size_t j) const { return ways_(i, j) > 0; }
  double direct(std::size_t i, std::size_t j, int count) const;
  double penalty(double unreached, std::size_t server) const;
  double slope(double unreached, std::size_t server) const;
  void touch(std::size_t server);
  void flip(std::size_t i, std::size_t j, bool now_reached);
  void count_path(std::size_t i, std::size_t j, int change);
  void add(std::size_t i, std::size_t j);
  void remove(std::size_t i, std::size_t j);
  void value_circuits();
  double loss(std::size_t i, std::size_t j) const;
  double touched_penalty();
  void reweigh(std::size_t server);
  void settle();
  bool exchange(const Circuit& first, const Circuit& second, double most);
  void list_candidates();
  void split_for(std::size_t server);
  void join_free_ports();

  std::size_t n_;
  const DemandMatrix& demand_;  // outlives the search
  double time_;
  Matrix<int> circuits_;
  Matrix<uint16_t> ways_;  // paths of two circuits between i and j, + kDirect with circuits
  std::vector<std::vector<std::size_t>> peers_;
  std::vector<int> free_;
  std::vector<double> scale_;  // 1 / (eps_i * T)
  std::vector<double> out_;    // unreached demand
  std::vector<double> in_;
  std::vector<double> slope_out_;
  std::vector<double> slope_in_;
  std::vector<double> penalty_;  // both directions
  // All symmetric.
  Matrix<float> worth_;        // of reaching a pair, to first order
  Matrix<float> unreached_;    // the same where it is not reached, else 0
  Matrix<float> beyond_;       // row j: unreached_ summed over the peers of j; not symmetric
  Matrix<float> direct_gain_;  // direct demand on one more circuit
  Matrix<float> gain_;         // of one more circuit
  Matrix<float> loss_;         // of one less, where there is one
  std::vector<std::size_t> candidates_;  // per server, as many each
  int doublings_ = 3;
  double reference_ = 1;
  double direct_ = 0;
  int64_t work_ = 0;
  std::vector<std::size_t> touched_;
  std::vector<char> is_touched_;
};

}  // namespace mixnet::plan
