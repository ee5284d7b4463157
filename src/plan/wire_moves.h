#pragma once

#include <cstddef>
#include <vector>

#include "core/matrix.h"
#include "plan/wire.h"

namespace mixnet::plan {

// Circuits of a problem with the water-filling time of every server kept up to date, and a local
// search on them. The time of a server is the larger of its two directions; a circuit touches only
// the two servers that it joins.
class ServerTimes {
 public:
  ServerTimes(const WireProblem& problem, Matrix<int> circuits);

  const Matrix<int>& circuits() const { return circuits_; }
  double worst() const;

  // Best improvement: moves a circuit end of the slowest server as long as a move leaves all
  // servers that it touches faster than that server was, or until worst() <= good_enough. First
  // uses up ports that are free. Deterministic; every step lowers the sorted list of times.
  void improve(double good_enough);

 private:
  // Remove circuits (slow, x) and (y, z), add (slow, y) and (x, z). x = slow: `slow` had a free
  // port; z = y: `y` had one; nothing is removed then, and no (x, z) added. Nor is it if x = z.
  struct Move {
    std::size_t x = 0;
    std::size_t y = 0;
    std::size_t z = 0;
  };
  struct Judgement {
    double worst = 0;  // slowest of the touched servers after the move
    double sum = 0;    // of the touched servers, to break ties
  };

  void add(std::size_t i, std::size_t j, int count);
  double time_of(std::size_t server) const;
  void fill_free_ports();
  void apply(std::size_t slow, const Move& move, int sign);
  // Is `move` better than `best` (in/out)? Leaves the circuits as they were.
  bool judge(std::size_t slow, const Move& move, Judgement& best);
  bool step();

  std::size_t n_;
  NicCounts eps_;
  DemandMatrix sent_;
  DemandMatrix received_;  // transposed
  Matrix<int> circuits_;
  std::vector<int> free_;
  std::vector<double> time_;
};

}  // namespace mixnet::plan
