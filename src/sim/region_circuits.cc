#include "sim/region_circuits.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/index.h"

namespace mixnet::sim {
namespace {

SimTime since_start(SimTime time, SimTime start) { return time > start ? time - start : SimTime(); }

}  // namespace

RegionCircuits::RegionCircuits(const Matrix<int>& circuits) : installed_(circuits) {
  CHECK(circuits.rows() == circuits.cols(), "circuits between the servers of a region");
  const int n = static_cast<int>(circuits.rows());
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      CHECK(circuits(at(a), at(b)) == circuits(at(b), at(a)), "circuits are duplex");
      state_.circuits.insert(state_.circuits.end(), at(circuits(at(a), at(b))),
                             Circuit{a, b, SimTime(), SimTime(), SimTime()});
    }
  }
}

void RegionCircuits::request(const Matrix<int>& wanted, SimTime now, const MixnetSettings& settings,
                             RandomStream& random) {
  CHECK(wanted.rows() == installed_.rows() && wanted.cols() == installed_.cols(),
        "circuits between the servers of the region");
  if (wanted == this->wanted()) {
    return;
  }
  pending_.reset();
  if (wanted == installed_) {
    return;
  }
  Pending command{
      wanted, now + settings.control_delay, draw_delay(settings.switch_time, random), {}};
  const int n = static_cast<int>(wanted.rows());
  for (int a = 0; a < n; ++a) {
    for (int b = a + 1; b < n; ++b) {
      for (int k = installed_(at(a), at(b)); k < wanted(at(a), at(b)); ++k) {
        const SimTime one = draw_delay(settings.relink_time, random);
        command.added.push_back({a, b, later_of(one, draw_delay(settings.relink_time, random))});
      }
    }
  }
  pending_ = std::move(command);
  settle(now);
}

RegionCircuits::State RegionCircuits::after(const State& state, const Pending& pending) {
  State next;
  const SimTime out = later_of(pending.at, state.switch_free);
  next.switch_free = out + pending.switching;
  // Circuits of a pair stand together; the ones that are up first stay.
  auto first = state.circuits.begin();
  while (first != state.circuits.end()) {
    const auto last = std::find_if(first, state.circuits.end(), [first](const Circuit& c) {
      return c.a != first->a || c.b != first->b;
    });
    std::vector<Circuit> pair(first, last);
    std::stable_sort(pair.begin(), pair.end(),
                     [](const Circuit& x, const Circuit& y) { return x.up < y.up; });
    pair.resize(std::min(pair.size(), at(pending.wanted(at(first->a), at(first->b)))));
    next.circuits.insert(next.circuits.end(), pair.begin(), pair.end());
    first = last;
  }
  for (const Added& added : pending.added) {
    next.circuits.push_back(
        {added.a, added.b, pending.at, next.switch_free, next.switch_free + added.relink});
  }
  std::stable_sort(
      next.circuits.begin(), next.circuits.end(),
      [](const Circuit& x, const Circuit& y) { return std::pair(x.a, x.b) < std::pair(y.a, y.b); });
  return next;
}

void RegionCircuits::settle(SimTime now) {
  if (!pending_ || pending_->at > now) {
    return;
  }
  state_ = after(state_, *pending_);
  SimTime relink;
  for (const Added& added : pending_->added) {
    relink = later_of(relink, added.relink);
  }
  ++tally_.commands;
  tally_.circuits += static_cast<int64_t>(pending_->added.size());
  tally_.dark += pending_->switching + relink;
  installed_ = std::move(pending_->wanted);
  pending_.reset();
}

void RegionCircuits::hold_until(SimTime end) {
  if (pending_) {
    pending_->at = later_of(pending_->at, end);
  }
}

SimTime RegionCircuits::last_up(const State& state) {
  SimTime last;
  for (const Circuit& c : state.circuits) {
    last = later_of(last, c.up);
  }
  return last;
}

SimTime RegionCircuits::all_up() const {
  // A command that only removes circuits is over when it goes out.
  return pending_ ? later_of(pending_->at, last_up(after(state_, *pending_))) : last_up(state_);
}

Matrix<int> RegionCircuits::up(SimTime now) const {
  Matrix<int> circuits(installed_.rows(), installed_.cols());
  for (const Circuit& c : state_.circuits) {
    if (c.up <= now) {
      ++circuits(at(c.a), at(c.b));
      ++circuits(at(c.b), at(c.a));
    }
  }
  return circuits;
}

CauseTimes RegionCircuits::causes(SimTime from) const {
  const State state = pending_ ? after(state_, *pending_) : state_;
  const SimTime to = all_up();
  // What the region waits for in the end: the circuit that is up last.
  Circuit last{0, 0, to, to, to};
  for (const Circuit& c : state.circuits) {
    if (c.up == to) {
      last = c;
      break;
    }
  }
  CauseTimes spent{};
  const auto charge = [&](SwitchCause cause, SimTime begin, SimTime end) {
    begin = later_of(begin, from);
    if (end > begin) {
      spent[static_cast<std::size_t>(cause)] = end - begin;
    }
  };
  charge(SwitchCause::kControl, from, last.commanded);
  charge(SwitchCause::kOcs, last.commanded, last.switched);
  charge(SwitchCause::kNic, last.switched, last.up);
  return spent;
}

void RegionCircuits::next_iteration(SimTime length) {
  for (Circuit& c : state_.circuits) {
    c.commanded = since_start(c.commanded, length);
    c.switched = since_start(c.switched, length);
    c.up = since_start(c.up, length);
  }
  state_.switch_free = since_start(state_.switch_free, length);
  if (pending_) {
    pending_->at = since_start(pending_->at, length);
  }
  tally_ = SwitchTally();
}

}  // namespace mixnet::sim
