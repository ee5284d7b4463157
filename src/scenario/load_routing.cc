#include <fmt/format.h>

#include <numeric>

#include "scenario/scenario.h"
#include "scenario/trace_import.h"

namespace mixnet::scenario {
namespace {

// Steps on the trace's first axis that the simulated iterations take.
int64_t steps_used(const Study& study) {
  const int64_t each = study.routing.per_micro_batch ? study.parallelism.micro_batches : 1;
  return study.run.iterations * each;
}

Status check_shape(const RoutingView& view, const Study& study) {
  const Parallelism& p = study.parallelism;
  const int64_t ranks = int64_t{p.dp} * p.ep;
  if (view.experts != study.model.experts) {
    return Error{fmt::format("the routing has {} experts, `{}` has {}: nothing is wrapped or "
                             "tiled, so give a routing of this model",
                             view.experts, study.model.name, study.model.experts),
                 ""};
  }
  if (view.sources != p.ep && view.sources != ranks) {
    return Error{fmt::format("the routing has {} sources, the job needs ep = {} (the same for "
                             "every copy of the experts) or dp * ep = {}",
                             view.sources, p.ep, ranks),
                 ""};
  }
  const int64_t layers = study.model.moe_layers();
  if (view.layers < layers && !study.routing.repeat_layers) {
    return Error{fmt::format("the routing has {} layers, `{}` has {} MoE blocks: write "
                             "`repeat_layers = true` in [routing] to use layer l mod {} for "
                             "block l",
                             view.layers, study.model.name, layers, view.layers),
                 ""};
  }
  const int64_t steps = steps_used(study);
  if (study.routing.first_iteration > view.iterations - steps) {
    std::string why;
    if (study.run.iterations > 1) {
      why += fmt::format(" and `iterations = {}` of [run]", study.run.iterations);
    }
    if (study.routing.per_micro_batch) {
      why += fmt::format(" and one per micro-batch ({})", p.micro_batches);
    }
    return Error{fmt::format("the routing has {} iterations, but `first_iteration = {}`{} needs "
                             "{}",
                             view.iterations, study.routing.first_iteration, why,
                             study.routing.first_iteration + steps),
                 ""};
  }
  return Status();
}

// Every row that the job uses must send tokens * top_k assignments, or at least something if the
// counts are weights.
Status check_rows(const RoutingView& view, const Study& study) {
  const int64_t tokens = study.parallelism.tokens_per_micro_batch();
  const int64_t wanted = tokens * study.model.top_k;
  const RoutingUse& use = study.routing;
  const int64_t steps = steps_used(study);
  const int64_t layers = std::min<int64_t>(view.layers, study.model.moe_layers());
  for (int64_t t = use.first_iteration; t < use.first_iteration + steps; ++t) {
    for (int64_t layer = 0; layer < layers; ++layer) {
      for (int64_t source = 0; source < view.sources; ++source) {
        const std::span<const uint32_t> row = view.row(t, layer, source);
        const int64_t sum = std::accumulate(row.begin(), row.end(), int64_t{0});
        const bool fits = use.counts_are_weights ? sum > 0 : sum == wanted;
        if (fits) {
          continue;
        }
        const std::string at = fmt::format("iteration {}, layer {}, source {}", t, layer, source);
        if (use.counts_are_weights) {
          return Error{at + " sends nothing: weights must not all be zero", ""};
        }
        return Error{fmt::format("{} sends {} assignments, the job has micro_batch_size * "
                                 "sequence_length * top_k = {}: write `counts = \"weights\"` in "
                                 "[routing] to scale the rows",
                                 at, sum, wanted),
                     ""};
      }
    }
  }
  return Status();
}

Result<RoutingTrace> read_counts(const RoutingInput& input) {
  if (!input.trace.empty()) {
    return RoutingTrace::map(input.trace);
  }
  if (!input.matrix.empty()) {
    return import_trace(input.matrix, ImportOptions{});
  }
  return generate_trace(input.generator);
}

}  // namespace

Result<RoutingTrace> load_routing(const Scenario& scenario) {
  Result<RoutingTrace> trace = read_counts(scenario.routing);
  if (!trace.ok()) {
    return trace;
  }
  const std::string& file =
      scenario.routing.trace.empty() ? scenario.routing.matrix : scenario.routing.trace;
  const int declared = trace->info().top_k;
  if (declared != 0 && declared != scenario.study.model.top_k) {
    return error_at(file,
                    fmt::format("the trace's side file says top_k = {}, `{}` has {}: give a "
                                "trace of this model",
                                declared, scenario.study.model.name, scenario.study.model.top_k));
  }
  for (const auto check : {&check_shape, &check_rows}) {
    const Status status = check(trace->view(), scenario.study);
    if (!status.ok()) {
      return error_at(file, status.error().message);
    }
  }
  return trace;
}

}  // namespace mixnet::scenario
