#include "sim/executor.h"

#include <utility>

#include "core/check.h"
#include "core/workload.h"

namespace mixnet::sim {
namespace {

constexpr SimTime kNotYet = SimTime::from_ps(-1);
constexpr int64_t kProgressEvery = 4096;

}  // namespace

Executor::Executor(const Study& study, const FabricSpec& spec, const Placement& placement,
                   const Fabric& fabric, DemandTable& demand, CircuitBook& book)
    : study_(study),
      spec_(spec),
      placement_(placement),
      fabric_(fabric),
      demand_(demand),
      book_(book),
      times_(study),
      network_(fabric.links()),
      regions_(static_cast<std::size_t>(placement.regions())),
      copies_left_(static_cast<std::size_t>(placement.stages()), placement.copies()),
      arrivals_(static_cast<std::size_t>(placement.regions()) * 2 *
                    static_cast<std::size_t>(study.parallelism.micro_batches),
                kNotYet) {
  const SwitchPlan switching{fabric.has_circuits(), spec.mixnet.cadence, spec.mixnet.dispatch};
  for (int stage = 0; stage < placement.stages(); ++stage) {
    out_.programs.push_back(build_program(study.model, study.parallelism, stage, switching));
  }
  out_.regions.resize(regions_.size());
  out_.stages.resize(static_cast<std::size_t>(placement.stages()));
  for (int region = 0; region < placement.regions(); ++region) {
    const std::size_t steps =
        out_.programs[static_cast<std::size_t>(placement.stage_of(region))].size();
    out_.regions[static_cast<std::size_t>(region)].end.resize(steps);
    out_.regions[static_cast<std::size_t>(region)].arrival.resize(steps);
    if (fabric.has_circuits()) {
      // The region starts on circuits for what its stage was last seen to send.
      regions_[static_cast<std::size_t>(region)].circuits = book.for_stage(
          placement.stage_of(region), placement.copy_of(region), CircuitBook::When::kBefore);
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
      finish(region, r.now + times_.compute(s, slowest));
      return true;
    }
    case StepKind::kBeginSwitch:
      begin_switch(region, s);
      finish(region, r.now);
      return true;
    case StepKind::kAwaitSwitch:
      finish(region, later_of(r.now, r.circuits_ready));
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

void Executor::begin_switch(int region, const Step& s) {
  const int stage = placement_.stage_of(region);
  const int copy = placement_.copy_of(region);
  Region& r = regions_[static_cast<std::size_t>(region)];
  CircuitsId wanted = r.circuits;
  switch (s.target) {
    case SwitchTarget::kStage:
      wanted = book_.for_stage(stage, copy, CircuitBook::When::kNow);
      break;
    case SwitchTarget::kExact:
      wanted = book_.for_layer(demand_key(region, s));
      break;
    case SwitchTarget::kPredicted:
      if (demand_.has_previous(s.micro_batch)) {
        wanted = book_.for_layer(
            demand_.previous_key(s.micro_batch, moe_index(study_.model, s.layer), copy));
      }
      break;
  }
  if (wanted == r.circuits) {
    return;
  }
  r.circuits = wanted;
  const SimTime dark = spec_.mixnet.switch_time + spec_.mixnet.relink_time;
  // A switch that is still under way ends first: the switch takes one command after the other.
  r.circuits_ready = later_of(r.circuits_ready, r.now) + dark;
  RegionTrace& trace = out_.regions[static_cast<std::size_t>(region)];
  ++trace.switches;
  trace.switching += dark;
}

bool Executor::start_all_to_all(int region, const Step& s) {
  Region& r = regions_[static_cast<std::size_t>(region)];
  const Prepared& p = all_to_all(region, s);
  ++out_.all_to_all_count;
  out_.expert_bytes += p.bytes;
  out_.expert_network_bytes += p.network_bytes;
  if (p.fixed) {
    const SimTime took = *p.fixed + p.latency;
    out_.all_to_all_seconds += took.seconds();
    finish(region, r.now + took);
    return true;
  }
  network_.start(p.flows, r.now);
  owners_.push_back(Owner{OwnerKind::kAllToAll, region, false, 0, p.latency});
  r.waiting = Waiting::kTransfer;
  return false;
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
      out_.all_to_all_seconds += (at - r.now).seconds();
      finish(owner.index, at);
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

const Executor::Prepared& Executor::all_to_all(int region, const Step& s) {
  const DemandKey key = demand_key(region, s);
  const CircuitsId circuits = regions_[static_cast<std::size_t>(region)].circuits;
  const auto [it, inserted] = all_to_alls_.try_emplace({region, key, s.transposed, circuits});
  if (inserted) {
    const std::vector<Message> messages =
        all_to_all_messages(study_, placement_, region, demand_.at(key), s.transposed);
    const auto copy = static_cast<double>(assignment_bytes(study_.model, study_.compute).count());
    it->second = prepare(
        messages, fabric_.has_circuits()
                      ? fabric_.route_circuits(region, messages,
                                               book_.shares(circuits, key, s.transposed), copy)
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
