#include "ocs/change_preview.h"

#include <algorithm>

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
    const auto begin = changes.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = std::min(limit, changes.size() - first);
    Command built =
        command(patches_of(region, {begin, begin + static_cast<std::ptrdiff_t>(count)}));
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
  std::vector<Circuit> wanted = job.wanted;
  for (const auto& [circuit, why] : unusable_circuits(job.wanted, job.unusable)) {
    std::erase(wanted, circuit);
    keep.push_back(circuit);
    preview.blocked.push_back(
        {circuit, true, false, PairOutcome::kRefused, CheckStep::kPatch, why});
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
