#pragma once

#include <string>
#include <vector>

#include "sim/executor.h"
#include "sim/policies.h"
#include "sim/step_times.h"

namespace mixnet::sim {

// Decides before every iteration what each region does with its circuits in it, and carries the
// circuits from one iteration to the next. A region's decisions use its own past only.
class RegionControllers {
 public:
  RegionControllers(const Study& study, const FabricSpec& spec, const Placement& placement,
                    const CadencePolicy& policy);

  // Before the iteration `iteration` of the run, whose demand is in the table and the book.
  void begin(int64_t iteration, DemandTable& demand, CircuitBooks& books);
  // After it; `length` is what it took.
  void end(SimTime length);

  std::vector<RegionControl>& controls() { return controls_; }
  const std::string& explanation() const { return explanation_; }

 private:
  Matrix<int> first_circuits(int region, CircuitBooks& books) const;
  void decide(int region, int64_t iteration, DemandTable& demand, CircuitBooks& books);
  void ask(int region, int64_t iteration, DemandTable& demand);
  void install(int region, const Matrix<int>& circuits);
  CadenceQuestion question(int region, int64_t iteration, DemandTable& demand) const;

  const Study& study_;
  const FabricSpec& spec_;
  const Placement& placement_;
  const CadencePolicy& policy_;
  StepTimes times_;
  std::vector<RegionControl> controls_;
  SimTime last_iteration_;
  std::string explanation_;
};

}  // namespace mixnet::sim
