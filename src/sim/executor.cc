#include "sim/executor.h"

#include <utility>

#include "core/check.h"
#include "core/workload.h"

namespace mixnet::sim {
namespace {

constexpr SimTime kNotYet = SimTime::from_ps(-1);
constexpr int64_t kProgressEvery = 4096;

}  // namespace

Executor::Executor(const Setting& setting, std::vector<RegionControl>& controls)
    : study_(setting.study),
      spec_(setting.spec),
      placement_(setting.placement),
      fabric_(setting.fabric),
      demand_(setting.demand),
      books_(setting.books),
      controls_(controls),
      times_(study_),
      network_(fabric_.links()),
      remote_tensor_(remote_tensor_regions(study_, placement_)),
      regions_(static_cast<std::size_t>(placement_.regions())),
      copies_left_(static_cast<std::size_t>(placement_.stages()), placement_.copies()),
      arrivals_(static_cast<std::size_t>(placement_.regions()) * 2 *
                    static_cast<std::size_t>(study_.parallelism.micro_batches),
                kNotYet) {
  const SwitchPlan switching{fabric_.has_circuits(), spec_.mixnet.cadence, spec_.mixnet.dispatch};
  for (int stage = 0; stage < placement_.stages(); ++stage) {
    out_.programs.push_back(build_program(study_.model, study_.parallelism, stage, switching));
  }
  out_.regions.resize(regions_.size());
  out_.stages.resize(static_cast<std::size_t>(placement_.stages()));
  CHECK(!fabric_.has_circuits() || controls_.size() == regions_.size(), "a control per region");
  for (int region = 0; region < placement_.regions(); ++region) {
    const std::size_t steps =
        out_.programs[static_cast<std::size_t>(placement_.stage_of(region))].size();
    out_.regions[static_cast<std::size_t>(region)].end.resize(steps);
    out_.regions[static_cast<std::size_t>(region)].arrival.resize(steps);
    if (fabric_.has_circuits()) {
      regions_[static_cast<std::size_t>(region)].wanted =
          books_.of(region).intern(control(region).circuits.wanted());
    }
  }
}

Execution Executor::run(const std::function<void(int64_t, int64_t)>& progress) {
  int64_t total = 0;
  for (int region = 0; region < placement_.regions(); ++region) {
    total += static_cast<int64_t>(out_.regions[static_cast<std::size_t>(region)].end.size());
    wake_at(SimTime(), region);
  }
  std::vector<TransferId> completed;
  int64_t reported = 0;
  while (true) {
    const std::optional<SimTime> next = network_.next_completion();
    if (wakes_.empty() && !next) {
      break;
    }
    if (next && (wakes_.empty() || *next <= wakes_.top().time)) {
      completed.clear();
      network_.advance(*next, completed);
      for (const TransferId id : completed) {
        // A copy: completing may start transfers, which grows owners_.
        const Owner owner = owners_[static_cast<std::size_t>(id)];
        complete(owner, *next + owner.latency);
      }
    } else {
      // Everything of one instant starts before the network is asked again: it solves once.
      const SimTime now = wakes_.top().time;
      while (!wakes_.empty() && wakes_.top().time == now) {
        const Wake wake = wakes_.top();
        wakes_.pop();
        if (wake.gradient) {
          start_gradient(wake.region);
        } else {
          resume(wake.region);
        }
      }
    }
    if (progress && done_ - reported >= kProgressEvery) {
      reported = done_;
      progress(done_, total);
    }
  }
  if (progress) {
    progress(total, total);
  }
  CHECK(done_ == total, "every region ran to its end");
  return std::move(out_);
}

void Executor::wake_at(SimTime time, int region, bool gradient) {
  wakes_.push(Wake{time, sequence_++, region, gradient});
}

// Runs a region up to its next event. Steps without contact to other regions are taken at once;
// before one with contact the region waits until simulated time has come.
void Executor::resume(int region) {
  const std::vector<Step>& program =
      out_.programs[static_cast<std::size_t>(placement_.stage_of(region))];
  Region& r = regions_[static_cast<std::size_t>(region)];
  const SimTime entered = r.now;
  while (r.next < program.size()) {
    const StepKind kind = program[r.next].kind;
    const bool contact =
        kind == StepKind::kAllToAll || kind == StepKind::kSend || kind == StepKind::kReceive;
    if (contact && r.now > entered) {
      wake_at(r.now, region);
      return;
    }
    if (!step(region)) {
      return;
    }
  }
  region_done(region);
}

void Executor::finish(int region, SimTime end) {
  Region& r = regions_[static_cast<std::size_t>(region)];
  out_.regions[static_cast<std::size_t>(region)].end[r.next] = end;
  r.now = end;
  ++r.next;
  ++done_;
}

bool Executor::step(int region) {
  Region& r = regions_[static_cast<std::size_t>(region)];
  const Step& s = out_.programs[static_cast<std::size_t>(placement_.stage_of(region))][r.next];
  switch (s.kind) {
    case StepKind::kCompute: {
      const bool needs_load = s.activity == Activity::kExpert || s.experts;
      const double slowest = needs_load ? demand_.at(demand_key(region, s)).slowest_rank : 0;
      finish(region,
             r.now + times_.compute(s, slowest, remote_tensor_[static_cast<std::size_t>(region)]));
      return true;
    }
    case StepKind::kBeginSwitch:
      begin_switch(region, s);
      finish(region, r.now);
      return true;
    case StepKind::kAwaitSwitch:
      await_switch(region, s);
      return true;
    case StepKind::kAllToAll:
      return start_all_to_all(region, s);
    case StepKind::kSend:
      start_send(region, s);
      finish(region, r.now);
      return true;
    case StepKind::kReceive:
      return receive(region, s);
  }
  CHECK(false, "unknown step");
}

std::optional<TargetId> Executor::target_of(int region, const Step& s) {
  const int stage = placement_.stage_of(region);
  const int copy = placement_.copy_of(region);
  switch (s.target) {
    case SwitchTarget::kStage:
      return books_.of(region).stage(stage, copy, CircuitBook::When::kNow);
    case SwitchTarget::kExact:
      return books_.of(region).layer(demand_key(region, s));
    case SwitchTarget::kPredicted:
      return books_.of(region).forecast(s.micro_batch, moe_index(study_.model, s.layer), copy);
    case SwitchTarget::kPass:
      return s.backward ? books_.of(region).pass(stage, copy, s.micro_batch)
                        : books_.of(region).pass_before(stage, copy, s.micro_batch);
  }
  CHECK(false, "unknown target");
}

void Executor::begin_switch(int region, const Step& s) {
  RegionControl& c = control(region);
  if (s.cadence != c.cadence) {
    return;
  }
  const std::optional<TargetId> target = target_of(region, s);
  if (!target) {
    return;
  }
  Region& r = regions_[static_cast<std::size_t>(region)];
  // A layer's demand travels as dispatch and combine; summed demand has both in it, twice if it
  // serves forward and backward passes.
  const double uses = s.target == SwitchTarget::kPass ? 1.0 : 2.0;
  const CircuitsId wanted = c.scope == ChangeScope::kPartial
                                ? books_.of(region).changed(*target, r.wanted, uses)
                                : books_.of(region).wired(*target);
  if (wanted != r.wanted) {
    r.wanted = wanted;
    c.circuits.request(books_.of(region).circuits(wanted), r.now, spec_.mixnet, c.random);
  }
}

// How long the planner expects an all-to-all to take over the given circuits.
SimTime Executor::planned_time(int region, const Step& s, CircuitsId circuits) {
  const double tokens =
      books_.of(region).shares(circuits, demand_key(region, s), s.transposed).completion;
  const auto copy = static_cast<double>(assignment_bytes(study_.model, study_.compute).count());
  return SimTime::from_seconds(tokens * copy / study_.cluster.nic_rate.bytes_per_second());
}

void Executor::await_switch(int region, const Step& s) {
  Region& r = regions_[static_cast<std::size_t>(region)];
  RegionCircuits& circuits = control(region).circuits;
  circuits.settle(r.now);
  r.route = r.wanted;
  const SimTime up = circuits.all_up();
  if (up <= r.now) {
    finish(region, r.now);
    return;
  }
  if (control(region).darkness == Darkness::kDetour) {
    const CircuitsId present = books_.of(region).intern(circuits.up(r.now));
    const SimTime waited = up - r.now + planned_time(region, s, r.wanted);
    if (planned_time(region, s, present) <= waited) {
      r.route = present;
      finish(region, r.now);
      return;
    }
  }
  out_.regions[static_cast<std::size_t>(region)].switching.push_back(
      {r.next, circuits.causes(r.now)});
  circuits.settle(up);
  finish(region, up);
}

bool Executor::start_all_to_all(int region, const Step& s) {
  Region& r = regions_[static_cast<std::size_t>(region)];
  const Prepared& p = all_to_all(region, s, r.route);
  ++out_.all_to_all_count;
  out_.expert_bytes += p.bytes;
  out_.expert_network_bytes += p.network_bytes;
  if (p.fixed) {
    end_all_to_all(region, r.now + *p.fixed + p.latency);
    return true;
  }
  network_.start(p.flows, r.now);
  owners_.push_back(Owner{OwnerKind::kAllToAll, region, false, 0, p.latency});
  r.waiting = Waiting::kTransfer;
  return false;
}

SimTime Executor::alone(const Prepared& transfer) {
  if (transfer.fixed) {
    return *transfer.fixed + transfer.latency;
  }
  const std::optional<SimTime> took = network_.alone(transfer.flows);
  CHECK(took.has_value(), "no link of an all-to-all is dark");
  return *took + transfer.latency;
}

void Executor::end_all_to_all(int region, SimTime end) {
  Region& r = regions_[static_cast<std::size_t>(region)];
  out_.all_to_all_seconds += (end - r.now).seconds();
  if (fabric_.has_circuits()) {
    control(region).circuits.hold_until(end);
  }
  if (r.route != r.wanted) {
    const Step& s = out_.programs[static_cast<std::size_t>(placement_.stage_of(region))][r.next];
    const SimTime taken = alone(all_to_all(region, s, r.route));
    const SimTime direct = alone(all_to_all(region, s, r.wanted));
    if (taken > direct) {
      RegionTrace::Switching detour{r.next, {}};
      detour.causes[static_cast<std::size_t>(SwitchCause::kDetour)] =
          earlier_of(taken - direct, end - r.now);
      out_.regions[static_cast<std::size_t>(region)].switching.push_back(detour);
    }
  }
  finish(region, end);
}

void Executor::start_send(int region, const Step& s) {
  const int stage = placement_.stage_of(region) + (s.backward ? -1 : 1);
  const int other = placement_.region(stage, placement_.copy_of(region));
  const Prepared& p = pipeline(region, other);
  const Owner owner{OwnerKind::kMessage, other, s.backward, s.micro_batch, p.latency};
  const SimTime now = regions_[static_cast<std::size_t>(region)].now;
  if (p.fixed) {
    deliver(owner, now + *p.fixed + p.latency);
  } else {
    network_.start(p.flows, now);
    owners_.push_back(owner);
  }
}

SimTime& Executor::arrival(int region, bool backward, int micro_batch) {
  const auto per_direction = static_cast<std::size_t>(study_.parallelism.micro_batches);
  return arrivals_[(static_cast<std::size_t>(region) * 2 + (backward ? 1 : 0)) * per_direction +
                   static_cast<std::size_t>(micro_batch)];
}

bool Executor::receive(int region, const Step& s) {
  Region& r = regions_[static_cast<std::size_t>(region)];
  const SimTime arrived = arrival(region, s.backward, s.micro_batch);
  if (arrived == kNotYet) {
    r.waiting = Waiting::kMessage;
    return false;
  }
  out_.regions[static_cast<std::size_t>(region)].arrival[r.next] = arrived;
  finish(region, later_of(r.now, arrived));
  return true;
}

void Executor::complete(const Owner& owner, SimTime at) {
  switch (owner.kind) {
    case OwnerKind::kAllToAll: {
      Region& r = regions_[static_cast<std::size_t>(owner.index)];
      r.waiting = Waiting::kNo;
      end_all_to_all(owner.index, at);
      wake_at(at, owner.index);
      return;
    }
    case OwnerKind::kMessage:
      deliver(owner, at);
      return;
    case OwnerKind::kGradient:
      out_.stages[static_cast<std::size_t>(owner.index)].end = at;
      return;
  }
}

void Executor::deliver(const Owner& owner, SimTime at) {
  arrival(owner.index, owner.backward, owner.micro_batch) = at;
  Region& r = regions_[static_cast<std::size_t>(owner.index)];
  if (r.waiting != Waiting::kMessage) {
    return;
  }
  const Step& awaited =
      out_.programs[static_cast<std::size_t>(placement_.stage_of(owner.index))][r.next];
  if (awaited.backward == owner.backward && awaited.micro_batch == owner.micro_batch) {
    r.waiting = Waiting::kNo;
    wake_at(later_of(at, r.now), owner.index);
  }
}

void Executor::region_done(int region) {
  const int stage = placement_.stage_of(region);
  const SimTime now = regions_[static_cast<std::size_t>(region)].now;
  StageTrace& trace = out_.stages[static_cast<std::size_t>(stage)];
  if (now >= trace.ready) {
    trace.ready = now;
    trace.last_region = region;
  }
  if (--copies_left_[static_cast<std::size_t>(stage)] == 0) {
    wake_at(trace.ready, stage, true);
  }
}

void Executor::start_gradient(int stage) {
  StageTrace& trace = out_.stages[static_cast<std::size_t>(stage)];
  const GradientSync sync = gradient_sync(study_, placement_, stage);
  const TransferPlan plan = fabric_.route(sync.messages);
  // The rings' pipeline fills hop by hop, and NVLink phases stand before and after them; both are
  // charged as latency since nothing else runs on the stage by then.
  const SimTime around =
      sync.nvlink_reduce + sync.nvlink_broadcast + plan.latency * sync.ring_steps;
  if (plan.fixed || plan.flows.empty()) {
    trace.end = trace.ready + plan.fixed.value_or(SimTime()) + around;
    return;
  }
  network_.start(plan.flows, trace.ready);
  owners_.push_back(Owner{OwnerKind::kGradient, stage, false, 0, around});
}

DemandKey Executor::demand_key(int region, const Step& s) const {
  return demand_.key(s.micro_batch, moe_index(study_.model, s.layer), placement_.copy_of(region));
}

Executor::Prepared Executor::prepare(const std::vector<Message>& messages,
                                     const TransferPlan& plan) {
  Prepared p;
  for (const Message& m : messages) {
    p.bytes += m.bytes;
    if (placement_.server_of(m.src_rank) != placement_.server_of(m.dst_rank)) {
      p.network_bytes += m.bytes;
    }
  }
  p.latency = plan.latency;
  if (plan.fixed || plan.flows.empty()) {
    p.fixed = plan.fixed.value_or(SimTime());
  } else {
    p.flows = network_.define(plan.flows);
  }
  return p;
}

const Executor::Prepared& Executor::all_to_all(int region, const Step& s, CircuitsId circuits) {
  const DemandKey key = demand_key(region, s);
  const auto [it, inserted] = all_to_alls_.try_emplace({region, key, s.transposed, circuits});
  if (inserted) {
    const std::vector<Message> messages =
        all_to_all_messages(study_, placement_, region, demand_.at(key), s.transposed);
    const auto copy = static_cast<double>(assignment_bytes(study_.model, study_.compute).count());
    it->second = prepare(
        messages,
        fabric_.has_circuits()
            ? fabric_.route_circuits(region, messages,
                                     books_.of(region).shares(circuits, key, s.transposed), copy)
            : fabric_.route(messages));
  }
  return it->second;
}

const Executor::Prepared& Executor::pipeline(int region, int other) {
  const auto [it, inserted] = pipelines_.try_emplace({region, other});
  if (inserted) {
    const std::vector<Message> messages = pipeline_messages(study_, placement_, region, other);
    it->second = prepare(messages, fabric_.route(messages));
  }
  return it->second;
}

}  // namespace mixnet::sim
