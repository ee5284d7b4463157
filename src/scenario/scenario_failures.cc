// What is broken: [[failure]].
#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "scenario/scenario_keys.h"
#include "scenario/scenario_sections.h"

namespace mixnet::scenario {
namespace {

Failure read_failure(TableReader& reader, const Cluster& cluster) {
  Failure failure;
  reader.read_choice<FailureKind>("kind", failure.kind,
                                  {{"nic", FailureKind::kNic},
                                   {"link", FailureKind::kLink},
                                   {"ocs-port", FailureKind::kOcsPort},
                                   {"ocs", FailureKind::kOcs},
                                   {"eps-nics", FailureKind::kEpsNics},
                                   {"gpu", FailureKind::kGpu},
                                   {"server", FailureKind::kServer}});
  reader.read_int("server", failure.server, 0, cluster.servers - 1);
  reader.read_choice<FailureSide>(
      "side", failure.side,
      {{"electrical", FailureSide::kElectrical}, {"optical", FailureSide::kOptical}});
  const bool has_side = failure.kind == FailureKind::kNic || failure.kind == FailureKind::kLink ||
                        failure.kind == FailureKind::kGpu;
  if (reader.has("side") && !has_side) {
    reader.problem("side", fmt::format("`side` is for `nic`, `link` and `gpu`; a failed `{}` has "
                                       "only one",
                                       failure_kind_name(failure.kind)));
  }
  return failure;
}

// Every failure breaks another part: of what a server has, no more can fail than there is.
void check_number(TableReader& reader, const Study& study) {
  const Failure& last = study.failures.back();
  const auto failed =
      std::count_if(study.failures.begin(), study.failures.end(), [&](const Failure& failure) {
        return failure.kind == last.kind && failure.server == last.server;
      });
  const bool nic = last.kind == FailureKind::kNic || last.kind == FailureKind::kLink ||
                   last.kind == FailureKind::kOcsPort;
  const int there = last.kind == FailureKind::kGpu ? study.cluster.gpus_per_server
                    : nic                          ? study.cluster.nics_per_server
                                                   : INT_MAX;  // listed again, it changes nothing
  if (failed > there) {
    reader.problem("kind", fmt::format("this is failure {} of a `{}` of server {}, which has {}: "
                                       "remove it, or break the `server`",
                                       failed, failure_kind_name(last.kind), last.server, there));
  }
}

// Fabrics whose parts can break: those that pool the NICs of a server.
void check_fabrics(const toml::node& node, const Scenario& scenario, Problems& problems) {
  if (scenario.study.network.nics == NicUse::kPinned) {
    problems.add(node.source(),
                 "failures are simulated with pooled NICs only: remove `nics = \"pinned\"`");
  }
  for (const FabricSpec& fabric : scenario.study.fabrics) {
    if (fabric.kind == FabricKind::kTopoOpt) {
      problems.add(node.source(),
                   fmt::format("failures are not simulated on `topoopt`, whose topology is laid "
                               "once: take `{}` out of this scenario",
                               fabric.name));
    }
  }
}

}  // namespace

void read_failures(const ScenarioFile& file, Scenario& scenario) {
  const toml::node* node = file.root.get("failure");
  if (node == nullptr) {
    return;
  }
  const toml::array* list = node->as_array();
  if (list == nullptr) {
    file.problems.add(node->source(), "`failure` must be written [[failure]], once per failure");
    return;
  }
  if (!list->empty()) {
    check_fabrics(*node, scenario, file.problems);
  }
  for (const toml::node& entry : *list) {
    const toml::table* table = entry.as_table();
    if (table == nullptr) {
      file.problems.add(entry.source(), "`failure` must be written [[failure]], once per failure");
      return;
    }
    TableReader reader(*table, "[[failure]]", kFailureKeys, file.problems);
    scenario.study.failures.push_back(read_failure(reader, scenario.study.cluster));
    check_number(reader, scenario.study);
  }
}

}  // namespace mixnet::scenario
