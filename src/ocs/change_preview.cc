#include "ocs/change_preview.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "ocs/change_plan.h"
#include "ocs/switch_operations.h"
#include "ocs/switch_view.h"
#include "ocs/tl1_encoder.h"

namespace mixnet::ocs {
namespace {

// Appends the commands, as many as there are batches.
void add_commands(const Region& region, const ControllerOptions& options,
                  const std::vector<Change>& changes, Command (*command)(const PatchSet&),
                  std::vector<std::string>& commands) {
  const std::size_t limit = batch_limit(options);
  for (std::size_t first = 0; first < changes.size(); first += limit) {
    std::vector<Patch> patches;
    for (std::size_t i = first; i < std::min(first + limit, changes.size()); ++i) {
      patches.insert(patches.end(), changes[i].patches.begin(), changes[i].patches.end());
    }
    Command built = command(PatchSet::make(region.owned(), std::move(patches)).value());
    built.tid = options.session.login.tid;
    built.ctag = Ctag{static_cast<int32_t>(commands.size()) + 1};
    const Result<std::string> text = encode(built);
    commands.push_back(text.ok() ? *text : text.error().text());
  }
}

}  // namespace

ChangePreview preview_of(const Region& region, const ControllerOptions& options,
                         const Transaction::Job& job, const std::vector<Patch>& patches) {
  ChangePreview preview;
  std::vector<Circuit> keep;
  std::vector<Circuit> wanted;
  for (const Circuit& circuit : job.wanted) {
    const auto a = job.unusable.find(circuit.a);
    const auto b = job.unusable.find(circuit.b);
    if (a == job.unusable.end() && b == job.unusable.end()) {
      wanted.push_back(circuit);
      continue;
    }
    keep.push_back(circuit);
    preview.blocked.push_back({circuit, true, false, PairOutcome::kRefused, CheckStep::kPatch,
                               (a == job.unusable.end() ? b : a)->second});
  }
  if (job.expected.has_value()) {
    const std::vector<Circuit> unexpected =
        unexpected_circuits(view_of(region, patches), *job.expected, job.wanted);
    keep.insert(keep.end(), unexpected.begin(), unexpected.end());
  }
  std::sort(keep.begin(), keep.end());
  const ChangePlan plan = plan_change(region, patches, wanted, keep);
  for (const BlockedCircuit& blocked : plan.blocked) {
    preview.blocked.push_back(
        {blocked.circuit, true, false, PairOutcome::kConflict, CheckStep::kPatch, blocked.why});
  }
  add_commands(region, options, plan.remove, disconnect_command, preview.commands);
  add_commands(region, options, plan.add, connect_command, preview.commands);
  for (const Change& change : plan.remove) {
    preview.remove.push_back(change.circuit);
  }
  for (const Change& change : plan.add) {
    preview.add.push_back(change.circuit);
  }
  return preview;
}

}  // namespace mixnet::ocs
