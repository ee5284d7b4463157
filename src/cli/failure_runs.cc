#include "cli/failure_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/policies.h"
#include "core/random.h"
#include "sim/iteration.h"

namespace mixnet::cli {
namespace {

double iteration_with(const scenario::Scenario& scenario, const FabricSpec& spec,
                      const RoutingView& routing, const std::vector<Failure>& failures) {
  Study study = scenario.study;
  study.failures = failures;
  sim::IterationOptions options = iteration_policies(spec, study);
  options.timeline = false;
  return sim::simulate_iterations(study, spec, routing, options).iteration.seconds();
}

// NIC failures of one job: the draws for a server and NIC do not depend on the fabric.
std::vector<Failure> draw_job(const scenario::Scenario& scenario, const FabricSpec& spec, int job,
                              double probability) {
  RandomStream random(scenario.seed, fmt::format("nic failures {}", job));
  const int nics = scenario.study.cluster.nics_per_server;
  const int optical = spec.kind == FabricKind::kMixnet ? spec.mixnet.alpha : 0;
  std::vector<Failure> failures;
  for (int server = 0; server < scenario.study.cluster.servers; ++server) {
    for (int nic = 0; nic < nics; ++nic) {
      if (random.uniform() < probability) {
        failures.push_back({FailureKind::kNic, server,
                            nic < optical ? FailureSide::kOptical : FailureSide::kElectrical});
      }
    }
  }
  return failures;
}

bool can_fail(const Study& study, const FabricSpec& spec) {
  return spec.kind != FabricKind::kTopoOpt && spec.kind != FabricKind::kIdeal &&
         study.network.nics == NicUse::kPooled;
}

}  // namespace

std::string describe(const Failure& failure) {
  const bool sided = failure.kind == FailureKind::kNic || failure.kind == FailureKind::kLink ||
                     failure.kind == FailureKind::kGpu;
  return fmt::format("{}{} of server {}", failure_kind_name(failure.kind),
                     sided ? fmt::format(" ({})", failure_side_name(failure.side)) : "",
                     failure.server);
}

std::vector<FabricFailures> run_failures(const scenario::Scenario& scenario,
                                         const RoutingView& routing,
                                         const FailureOptions& options) {
  std::vector<FabricFailures> results;
  const std::vector<Failure>& listed = scenario.study.failures;
  for (const FabricSpec& spec : scenario.study.fabrics) {
    if (!can_fail(scenario.study, spec)) {
      continue;
    }
    const auto run = [&](const std::string& what, const std::vector<Failure>& failures) {
      if (options.progress) {
        options.progress(spec.name + ": " + what);
      }
      return iteration_with(scenario, spec, routing, failures);
    };
    FabricFailures result;
    result.fabric = spec.name;
    result.iteration_s = run("nothing broken", {});
    const auto add = [&](const std::string& what, const std::vector<Failure>& failures) {
      const double seconds = run(what, failures);
      result.runs.push_back({what, seconds, seconds / result.iteration_s - 1});
    };
    for (const Failure& failure : listed) {
      add(describe(failure), {failure});
    }
    if (listed.size() > 1) {
      add("all of them", listed);
    }
    result.drawn.draws = options.draws;
    result.drawn.probability = options.probability;
    for (int job = 0; job < options.draws; ++job) {
      const std::vector<Failure> failures = draw_job(scenario, spec, job, options.probability);
      if (failures.empty()) {
        continue;
      }
      const double seconds = run(fmt::format("draw {} of {}", job + 1, options.draws), failures);
      const double overhead = seconds / result.iteration_s - 1;
      ++result.drawn.with_failures;
      result.drawn.mean_overhead += overhead / options.draws;
      result.drawn.worst_overhead = std::max(result.drawn.worst_overhead, overhead);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace mixnet::cli
