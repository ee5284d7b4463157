#pragma once

#include <string>
#include <vector>

#include "ocs/region.h"
#include "ocs/region_report.h"
#include "ocs/transaction.h"

namespace mixnet::ocs {

// The commands that would bring the switch from what was read last to `wanted`.
struct ChangePreview {
  std::vector<Circuit> remove;
  std::vector<Circuit> add;
  std::vector<CircuitReport> blocked;  // will not be switched, and why
  std::vector<std::string> commands;   // TL1; the session counts its own CTAGs
};

// Of the transaction `job` if the switch held `patches`. Sends nothing.
ChangePreview preview_of(const Region& region, const ControllerOptions& options,
                         const Transaction::Job& job, const std::vector<Patch>& patches);

}  // namespace mixnet::ocs
