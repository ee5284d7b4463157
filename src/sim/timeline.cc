#include "sim/timeline.h"

#include <algorithm>
#include <string>

#include "sim/step_times.h"

namespace mixnet::sim {
namespace {

std::string step_label(const Step& step) {
  std::string label;
  if (step.kind == StepKind::kAllToAll) {
    // In backward the first all-to-all carries gradients of the combine.
    label = step.transposed != step.backward ? "combine" : "dispatch";
  } else if (step.kind == StepKind::kAwaitSwitch) {
    label = "await circuits";
  } else if (step.kind == StepKind::kReceive) {
    label = "receive";
  } else {
    label = activity_name(step.activity);
  }
  label += step.backward ? " backward" : "";
  if (step.layer >= 0) {
    label += " L" + std::to_string(step.layer);
  }
  return label + " mb" + std::to_string(step.micro_batch);
}

Activity span_activity(const Step& step) {
  switch (step.kind) {
    case StepKind::kAllToAll:
      return Activity::kAllToAll;
    case StepKind::kAwaitSwitch:
      return Activity::kSwitching;
    case StepKind::kReceive:
    case StepKind::kSend:
      return Activity::kPipeline;
    default:
      return step.activity;
  }
}

class Recorder {
 public:
  Recorder(const Study& study, const FabricSpec& spec, const Placement& placement,
           DemandTable& demand, FabricResult& result)
      : study_(study),
        spec_(spec),
        placement_(placement),
        demand_(demand),
        times_(study),
        result_(result) {
    result_.lanes.push_back({"region 0", "all ranks"});
    gpus_ = static_cast<int>(result_.lanes.size());
    const int servers = placement.region_servers();
    for (int server = 0; server < servers; ++server) {
      add_server_lanes(server);
    }
  }

  void record(const Step& step, SimTime start, SimTime end) {
    if (step.kind == StepKind::kSend || step.kind == StepKind::kBeginSwitch || end <= start) {
      return;
    }
    const std::string label = step_label(step);
    add(0, step, label, start, end);
    if (step.micro_batch != 0) {
      return;
    }
    for (int e = 0; e < placement_.expert_ranks(); ++e) {
      const SimTime stop = rank_end(step, e, start, end);
      for (int g = 0; g < placement_.gpus_per_rank(); ++g) {
        add(gpus_ + e * placement_.gpus_per_rank() + g, step, label, start, stop);
      }
    }
    if (step.kind == StepKind::kAllToAll || step.kind == StepKind::kAwaitSwitch) {
      for (std::size_t nic = 0; nic < nics_.size(); ++nic) {
        // Circuits are dark while the region waits for them; electrical NICs are not.
        if (step.kind == StepKind::kAllToAll || optical_[nic]) {
          add(nics_[nic], step, label, start, end);
        }
      }
    }
  }

 private:
  void add_server_lanes(int server) {
    const std::string group = "server " + std::to_string(server);
    const int ranks = std::min(placement_.expert_ranks(), placement_.ranks_per_server());
    for (int gpu = 0; gpu < ranks * placement_.gpus_per_rank(); ++gpu) {
      gpu_lanes_.push_back({group, "gpu " + std::to_string(gpu)});
    }
    const int optical = spec_.kind == FabricKind::kMixnet ? spec_.mixnet.alpha : 0;
    for (int nic = 0; nic < study_.cluster.nics_per_server; ++nic) {
      const bool is_optical = nic < optical;
      nic_lanes_.push_back({group, (is_optical ? "ocs nic " : "nic ") + std::to_string(nic)});
      optical_.push_back(is_optical);
    }
    if (server + 1 == placement_.region_servers()) {
      result_.lanes.insert(result_.lanes.end(), gpu_lanes_.begin(), gpu_lanes_.end());
      for (const TimelineLane& lane : nic_lanes_) {
        nics_.push_back(static_cast<int>(result_.lanes.size()));
        result_.lanes.push_back(lane);
      }
    }
  }

  // A rank with fewer tokens is done with its experts earlier.
  SimTime rank_end(const Step& step, int expert_rank, SimTime start, SimTime end) {
    if (step.kind != StepKind::kCompute || step.activity != Activity::kExpert) {
      return end;
    }
    const DemandMatrix& d =
        demand_.at(demand_.key(step.micro_batch, moe_index(study_.model, step.layer), 0)).ranks;
    double assignments = 0;
    for (std::size_t i = 0; i < d.rows(); ++i) {
      assignments += d(i, static_cast<std::size_t>(expert_rank));
    }
    return earlier_of(end, start + times_.expert(assignments, step.backward));
  }

  void add(int lane, const Step& step, const std::string& label, SimTime start, SimTime end) {
    if (end > start) {
      result_.spans.push_back({lane, span_activity(step), label, start, end - start});
    }
  }

  const Study& study_;
  const FabricSpec& spec_;
  const Placement& placement_;
  DemandTable& demand_;
  StepTimes times_;
  FabricResult& result_;
  int gpus_ = 0;
  std::vector<TimelineLane> gpu_lanes_;
  std::vector<TimelineLane> nic_lanes_;
  std::vector<int> nics_;
  std::vector<bool> optical_;
};

}  // namespace

void record_timeline(const Study& study, const FabricSpec& spec, const Placement& placement,
                     DemandTable& demand, const Execution& execution, FabricResult& result) {
  Recorder recorder(study, spec, placement, demand, result);
  const RegionTrace& trace = execution.regions.front();
  const std::vector<Step>& program = execution.programs.front();
  for (std::size_t i = 0; i < program.size(); ++i) {
    recorder.record(program[i], i > 0 ? trace.end[i - 1] : SimTime(), trace.end[i]);
  }
}

}  // namespace mixnet::sim
