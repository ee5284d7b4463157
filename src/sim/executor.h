#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "sim/circuit_books.h"
#include "sim/demand.h"
#include "sim/fabric.h"
#include "sim/fluid_network.h"
#include "sim/messages.h"
#include "sim/program.h"
#include "sim/region_circuits.h"
#include "sim/step_times.h"

namespace mixnet::sim {

// What happened, for the critical path and the timeline.
struct RegionTrace {
  std::vector<SimTime> end;      // of every step; a step starts when the one before it ends
  std::vector<SimTime> arrival;  // of the awaited message, kReceive steps only (else 0)
  // Time that switching took from a step (kAwaitSwitch: all of it), ascending by step.
  struct Switching {
    std::size_t step = 0;
    CauseTimes causes{};
  };
  std::vector<Switching> switching;
};

struct StageTrace {
  SimTime ready;  // the last copy has finished its steps
  int last_region = 0;
  SimTime end;  // of the gradient all-reduce
};

struct Execution {
  std::vector<std::vector<Step>> programs;  // per stage
  std::vector<RegionTrace> regions;
  std::vector<StageTrace> stages;
  double all_to_all_seconds = 0;  // summed over all regions: beyond the range of SimTime
  int64_t all_to_all_count = 0;
  Bytes expert_bytes;
  Bytes expert_network_bytes;
};

// The circuits of a region, which outlast an iteration, and what happens to them in this one.
struct RegionControl {
  RegionCircuits circuits;
  RandomStream random;  // of delays
  // kLayer, kStage and kIteration ask for circuits as the iteration goes; anything else leaves
  // them.
  Cadence cadence = Cadence::kNever;
  ChangeScope scope = ChangeScope::kWhole;
  Darkness darkness = Darkness::kBlock;
};

// What an iteration runs on; all of it outlives the executor.
struct Setting {
  const Study& study;
  const FabricSpec& spec;
  const Placement& placement;
  const Fabric& fabric;
  DemandTable& demand;
  CircuitBooks& books;
};

// Runs the programs of all regions against the fabric. One object per iteration.
class Executor {
 public:
  // `controls` has one entry per region if the fabric has circuits.
  Executor(const Setting& setting, std::vector<RegionControl>& controls);

  Execution run(const std::function<void(int64_t, int64_t)>& progress);

 private:
  // A transfer as the network knows it.
  struct Prepared {
    TemplateId flows = -1;
    std::optional<SimTime> fixed;
    SimTime latency;
    Bytes bytes;
    Bytes network_bytes;
  };
  enum class Waiting : uint8_t { kNo, kTransfer, kMessage };
  struct Region {
    std::size_t next = 0;  // step
    SimTime now;
    CircuitsId wanted = -1;
    CircuitsId route = -1;  // what the next all-to-all takes: `wanted` or what is up of it
    Waiting waiting = Waiting::kNo;
  };
  // Who is told when a transfer completes.
  enum class OwnerKind : uint8_t { kAllToAll, kMessage, kGradient };
  struct Owner {
    OwnerKind kind = OwnerKind::kAllToAll;
    int index = 0;  // region, receiving region, or stage
    bool backward = false;
    int micro_batch = 0;
    SimTime latency;
  };
  struct Wake {
    SimTime time;
    uint64_t sequence = 0;
    int region = -1;  // or stage when gradient
    bool gradient = false;
    bool operator>(const Wake& o) const {
      return std::tie(time, sequence) > std::tie(o.time, o.sequence);
    }
  };

  void wake_at(SimTime time, int region, bool gradient = false);
  void resume(int region);
  bool step(int region);  // false: the region now waits for an event
  void finish(int region, SimTime end);
  void begin_switch(int region, const Step& step);
  void await_switch(int region, const Step& step);
  bool start_all_to_all(int region, const Step& step);
  void start_send(int region, const Step& step);
  bool receive(int region, const Step& step);
  void region_done(int region);
  void start_gradient(int stage);
  void complete(const Owner& owner, SimTime at);
  void deliver(const Owner& owner, SimTime at);

  Prepared prepare(const std::vector<Message>& messages, const TransferPlan& plan);
  const Prepared& all_to_all(int region, const Step& step, CircuitsId circuits);
  SimTime alone(const Prepared& transfer);
  void end_all_to_all(int region, SimTime end);
  SimTime planned_time(int region, const Step& step, CircuitsId circuits);
  std::optional<TargetId> target_of(int region, const Step& step);
  RegionControl& control(int region) { return controls_[static_cast<std::size_t>(region)]; }
  const Prepared& pipeline(int region, int other);
  DemandKey demand_key(int region, const Step& step) const;
  SimTime& arrival(int region, bool backward, int micro_batch);

  const Study& study_;
  const FabricSpec& spec_;
  const Placement& placement_;
  const Fabric& fabric_;
  DemandTable& demand_;
  CircuitBooks& books_;
  std::vector<RegionControl>& controls_;
  StepTimes times_;
  FluidNetwork network_;
  std::vector<bool> remote_tensor_;  // per region
  std::vector<Region> regions_;
  std::vector<int> copies_left_;   // per stage
  std::vector<SimTime> arrivals_;  // region x direction x micro-batch; negative = not yet
  std::vector<Owner> owners_;      // by TransferId
  std::map<std::tuple<int, DemandKey, bool, CircuitsId>, Prepared> all_to_alls_;
  std::map<std::pair<int, int>, Prepared> pipelines_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
  uint64_t sequence_ = 0;
  int64_t done_ = 0;
  Execution out_;
};

}  // namespace mixnet::sim
