#include "plan/fine_times.h"

#include <algorithm>

namespace mixnet::plan {
namespace {

void add_switch(FineTimes& times, double exposed_s, double stays_s, double new_s) {
  times.all_to_all_s += new_s;
  times.block_s += exposed_s;
  const double whole = std::max(0.0, stays_s - new_s);
  times.detour_s += std::min({exposed_s, detour_loss_s(exposed_s, 0, stays_s, new_s), whole});
}

}  // namespace

FineTimes layer_times(const Region& region, const IterationLoad& load, const DemandMatrix& demand,
                      const LayerCircuits& circuits, DarkTimes& dark) {
  FineTimes times;
  const Matrix<int>* laid = &circuits.before;
  for (const LayerSwitch& one : load.layer_switches) {
    laid = one.first ? &circuits.before : laid;
    const double unit = region.seconds_per_unit * one.serves;
    if (one.foresight == Foresight::kNone) {
      times.all_to_all_s += completion_over(region, demand, *laid) * unit;
      continue;
    }
    const Matrix<int>* next = one.foresight == Foresight::kLast ? &circuits.guess : &circuits.own;
    const CircuitChange change = change_between(*laid, *next);
    add_switch(times, dark.exposed_s(change.changed(), one.window),
               completion_over(region, demand, change.stays) * unit,
               completion_over(region, demand, *next) * unit);
    laid = next;
  }
  return times;
}

FineTimes pass_times(const Region& region, const IterationLoad& load, std::size_t row,
                     const PassCircuits& circuits, DarkTimes& dark) {
  const CircuitChange change = change_between(circuits.before, circuits.now);
  const auto layers = static_cast<std::size_t>(load.layers);
  double now = 0;
  double stays = 0;
  for (std::size_t k = row * layers; k < (row + 1) * layers; ++k) {
    now += completion_over(region, load.demand[k], circuits.now);
    stays += completion_over(region, load.demand[k], change.stays);
  }
  const double unit = region.seconds_per_unit * load.all_to_alls / 2;
  FineTimes times;
  add_switch(times, dark.exposed_s(change.changed(), load.pass_window), stays * unit, now * unit);
  return times;
}

}  // namespace mixnet::plan
