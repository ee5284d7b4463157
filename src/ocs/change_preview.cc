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

std::string text_of_change(const Region& region, const std::vector<Change>& changes,
                           Command (*command)(const PatchSet&), Ctag ctag) {
  std::vector<Patch> patches;
  for (const Change& change : changes) {
    patches.insert(patches.end(), change.patches.begin(), change.patches.end());
  }
  Command built = command(PatchSet::make(region.owned(), std::move(patches)).value());
  built.ctag = ctag;
  const Result<std::string> text = encode(built);
  return text.ok() ? *text : text.error().text();
}

}  // namespace

ChangePreview preview_of(const Region& region, const Transaction::Job& job,
                         const std::vector<Patch>& patches) {
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
  int32_t ctag = 0;
  if (!plan.remove.empty()) {
    preview.commands.push_back(
        text_of_change(region, plan.remove, disconnect_command, Ctag{++ctag}));
  }
  if (!plan.add.empty()) {
    preview.commands.push_back(text_of_change(region, plan.add, connect_command, Ctag{++ctag}));
  }
  for (const Change& change : plan.remove) {
    preview.remove.push_back(change.circuit);
  }
  for (const Change& change : plan.add) {
    preview.add.push_back(change.circuit);
  }
  return preview;
}

}  // namespace mixnet::ocs
