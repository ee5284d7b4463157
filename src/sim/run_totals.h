#pragma once

#include "core/comparison.h"
#include "sim/critical_path.h"

namespace mixnet::sim {

// Sums what iterations report and turns it into means.
class RunTotals {
 public:
  // One iteration. `dark` as FabricResult::switching_total, of this iteration.
  void add(const IterationSample& sample, const CriticalPath& path, SimTime dark);
  void add_traffic(const TrafficBytes& traffic);
  void add_all_to_alls(double seconds, int64_t count);

  // Fills times, traffic, switches and the series; at least one iteration was added.
  void fill(FabricResult& result) const;

 private:
  // A sum beyond the range of SimTime.
  struct Sum {
    int64_t seconds = 0;
    int64_t ps = 0;  // of a second
    void add(SimTime time);
    SimTime mean(int64_t count) const;  // rounded down
  };

  std::vector<IterationSample> samples_;
  Sum iteration_;
  Sum dark_;
  std::array<Sum, kActivityCount> activities_;
  std::array<Sum, kSwitchCauseCount> causes_;
  TrafficBytes traffic_;
  double all_to_all_seconds_ = 0;
  int64_t all_to_alls_ = 0;
};

}  // namespace mixnet::sim
