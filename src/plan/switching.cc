#include "plan/switching.h"

#include "core/check.h"

namespace mixnet::plan {

SimTime exposed_time(SimTime switch_time, SimTime relink_time, SimTime window) {
  return later_of(SimTime(), switch_time + relink_time - window);
}

SwitchingCost switching_cost(const SwitchSchedule& schedule) {
  const int64_t times = int64_t{schedule.layers} * schedule.rounds;
  const SimTime one = schedule.switch_time + schedule.relink_time;
  SwitchingCost cost;
  for (const SimTime window : schedule.windows) {
    cost.switches += times;
    cost.exposed += exposed_time(schedule.switch_time, schedule.relink_time, window) * times;
    cost.total += one * times;
  }
  cost.hidden = cost.total - cost.exposed;
  return cost;
}

int64_t all_to_alls_per_iteration(int layers, int64_t micro_batches) {
  return int64_t{4} * layers * micro_batches;
}

double exposed_per_all_to_all(SimTime exposed, int64_t all_to_alls, SimTime mean_all_to_all) {
  CHECK(all_to_alls > 0 && mean_all_to_all > SimTime(), "no all-to-all to compare with");
  return exposed.seconds() / (mean_all_to_all.seconds() * static_cast<double>(all_to_alls));
}

}  // namespace mixnet::plan
