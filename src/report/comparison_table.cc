#include "report/comparison_table.h"

#include <utility>
#include <vector>

#include "report/format.h"
#include "report/verdict.h"

namespace mixnet::report {
namespace {

constexpr std::size_t kTextWidth = 100;
constexpr const char* kNotApplicable = "-";

std::vector<std::string> headline_row(const FabricResult& fabric, SimTime bound) {
  return {fabric.name,
          seconds_text(fabric.iteration),
          significant(100 * share_of(fabric.all_to_all, fabric.iteration), 3),
          seconds_text(fabric.exposed_switching),
          bound.ps() > 0 ? ratio_text(share_of(fabric.iteration, bound)) : kNotApplicable,
          fabric.cost_usd > 0 ? usd_exact_text(fabric.cost_usd) : kNotApplicable,
          fabric.perf_per_dollar > 0 ? ratio_text(fabric.perf_per_dollar) : kNotApplicable};
}

bool appears(const Comparison& comparison, int activity) {
  if (comparison.critical_path_bound[activity].ps() != 0) {
    return true;
  }
  for (const FabricResult& fabric : comparison.fabrics) {
    if (fabric.critical_path[activity].ps() != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

Table headline_table(const Comparison& comparison) {
  Table table({{"fabric", Align::kLeft},
               {"iteration (s)"},
               {"all-to-all (%)"},
               {"exposed switching (s)"},
               {"÷ bound"},
               {"network cost"},
               {"perf/$"}});
  for (const FabricResult& fabric : comparison.fabrics) {
    table.add_row(headline_row(fabric, comparison.bound));
  }
  return table;
}

Table switching_table(const Comparison& comparison) {
  Table table({{"switching per iteration", Align::kLeft},
               {"iterations"},
               {"p50 (s)"},
               {"p99 (s)"},
               {"switches"},
               {"circuits"},
               {"ocs (s)"},
               {"nic (s)"},
               {"control (s)"},
               {"detour (s)"}});
  for (const FabricResult& fabric : comparison.fabrics) {
    int64_t circuits = 0;
    for (const IterationSample& s : fabric.iterations) {
      circuits += s.changed_circuits;
    }
    std::vector<std::string> row{fabric.name,
                                 std::to_string(fabric.iterations.size()),
                                 seconds_text(fabric.iteration_p50),
                                 seconds_text(fabric.iteration_p99),
                                 significant(per_iteration(fabric.switches, fabric), 3),
                                 significant(per_iteration(circuits, fabric), 3)};
    for (const SimTime cause : fabric.exposed_by_cause) {
      row.push_back(seconds_text(cause));
    }
    table.add_row(std::move(row));
  }
  return table;
}

Table placement_table(const Comparison& comparison) {
  Table table({{"experts", Align::kLeft},
               {"placement", Align::kLeft},
               {"imbalance"},
               {"mean all-to-all"},
               {"plans"},
               {"moved experts"},
               {"moved bytes"},
               {"time to move"}});
  for (const FabricResult& fabric : comparison.fabrics) {
    const PlacementResult& p = fabric.placement;
    table.add_row({fabric.name, p.policy, ratio_text(p.imbalance),
                   duration_text(fabric.mean_all_to_all), std::to_string(p.plans),
                   std::to_string(p.moved), bytes_text(p.moved_bytes),
                   p.moved > 0 ? duration_text(p.moving) : "-"});
  }
  return table;
}

bool has_placement(const Comparison& comparison) {
  for (const FabricResult& fabric : comparison.fabrics) {
    if (fabric.placement.plans > 0) {
      return true;
    }
  }
  return false;
}

bool has_switching(const Comparison& comparison) {
  for (const FabricResult& fabric : comparison.fabrics) {
    if (fabric.iterations.size() > 1) {
      return true;
    }
    for (const SimTime cause : fabric.exposed_by_cause) {
      if (cause > SimTime()) {
        return true;
      }
    }
  }
  return false;
}

Table breakdown_table(const Comparison& comparison) {
  std::vector<Column> columns{{"critical path (s)", Align::kLeft}};
  for (const FabricResult& fabric : comparison.fabrics) {
    columns.push_back({fabric.name, Align::kRight});
  }
  columns.push_back({"(bound)", Align::kRight});
  Table table(std::move(columns));
  for (int a = 0; a < kActivityCount; ++a) {
    if (!appears(comparison, a)) {
      continue;
    }
    std::vector<std::string> row{activity_name(static_cast<Activity>(a))};
    for (const FabricResult& fabric : comparison.fabrics) {
      row.push_back(seconds_text(fabric.critical_path[a]));
    }
    row.push_back(seconds_text(comparison.critical_path_bound[a]));
    table.add_row(std::move(row));
  }
  return table;
}

std::string bound_text(const Comparison& comparison) {
  return comparison.bound.ps() > 0 ? duration_text(comparison.bound) : "not computed";
}

std::string comparison_text(const Comparison& comparison, bool verbose) {
  std::string text = headline_table(comparison).text() + '\n';
  text +=
      wrapped("÷ bound: iteration over that of the ideal network (" + bound_text(comparison) +
                  "). perf/$: iterations per second and dollar of network, relative to fat-tree.",
              kTextWidth, 0);
  if (has_switching(comparison)) {
    text += '\n' + switching_table(comparison).text();
    text += wrapped(
        "Mean over iterations, of the region that switches most; ocs, nic, control and "
        "detour are the exposed switching by its cause.",
        kTextWidth, 0);
  }
  if (has_placement(comparison)) {
    text += '\n' + placement_table(comparison).text();
    text += wrapped(kPlacementCaption, kTextWidth, 0);
  }
  if (verbose) {
    text += '\n' + breakdown_table(comparison).text();
  }
  text += '\n';
  for (const std::string& sentence : verdict(comparison)) {
    text += wrapped(sentence, kTextWidth, 0);
  }
  if (!comparison.notes.empty()) {
    text += "\nWhat the figures leave out:\n";
    for (const std::string& note : comparison.notes) {
      text += wrapped("- " + note, kTextWidth, 2);
    }
  }
  return text;
}

}  // namespace mixnet::report
