#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cli/bench.h"
#include "cli/commands.h"

namespace mixnet::cli {
namespace {

struct BenchArguments {
  std::string name;
  bool json = false;
};

std::string names() {
  std::string list;
  for (const BenchCase& bench : all_benches()) {
    list += fmt::format("  {:<24} {}\n", bench.name, bench.what);
  }
  return list;
}

std::optional<double> ratio_of(const BenchFigure& figure) {
  const auto own = figure.wall_s.value_or(figure.cpu_s);
  const auto reference = figure.wall_s ? figure.reference_wall_s : figure.reference_cpu_s;
  return reference && own > 0 ? std::optional<double>(*reference / own) : std::nullopt;
}

void print_json_row(const BenchCase& bench, const BenchFigure& figure) {
  const std::optional<double> ratio = ratio_of(figure);
  nlohmann::ordered_json row = {{"name", bench.name}, {"cpu_s", figure.cpu_s}};
  row["ratio"] = ratio ? nlohmann::ordered_json(*ratio) : nlohmann::ordered_json();
  row["against"] = figure.against;
  if (figure.reference_wall_s) {
    row["against_wall_s"] = *figure.reference_wall_s;
  }
  if (ratio && figure.reference_cpu_s) {
    row["against_cpu_s"] = *figure.reference_cpu_s;
    row["ratio_is_lower_bound"] = figure.reference_unfinished;
  }
  row.update(figure.details);
  print_json(row);
}

// "12.3 us", "4.50 ms", "1.02 s"
std::string time_text(double seconds) {
  if (seconds < 1e-3) {
    return fmt::format("{:.3g} us", 1e6 * seconds);
  }
  return seconds < 1 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

// "> 12 x", "0.85 x"
std::string ratio_text(const BenchFigure& figure) {
  const std::optional<double> ratio = ratio_of(figure);
  if (!ratio) {
    return "-";
  }
  return fmt::format("{}{:.{}f} x", figure.reference_unfinished ? "> " : "", *ratio,
                     *ratio < 10 ? 2 : 0);
}

void print_row(const BenchCase& bench, const BenchFigure& figure) {
  const std::string time =
      figure.wall_s ? time_text(*figure.wall_s) + " wall" : time_text(figure.cpu_s) + " CPU ";
  fmt::print("{:<24} {:>14}   {:>10}   {}\n", bench.name, time, ratio_text(figure), figure.against);
}

// The benchmark itself, or a group: "predict" means "predict-8", "predict-16", ...
bool is_meant(const BenchCase& bench, const std::string& name) {
  return bench.name == name || bench.name.rfind(name + "-", 0) == 0;
}

int run_bench(const BenchArguments& typed) {
  const std::vector<BenchCase> benches = all_benches();
  const bool known = std::any_of(benches.begin(), benches.end(),
                                 [&typed](const BenchCase& b) { return is_meant(b, typed.name); });
  if (!typed.name.empty() && !known) {
    return report_usage_error(
        Error{fmt::format("no benchmark is called '{}'; there are:\n{}", typed.name, names()), ""});
  }
  if (!typed.json) {
    fmt::print("{:<24} {:>14}   {:>10}   against\n", "benchmark", "time", "faster by");
  }
  for (const BenchCase& bench : benches) {
    if (!typed.name.empty() && !is_meant(bench, typed.name)) {
      continue;
    }
    const Result<BenchFigure> figure = bench.run();
    if (!figure) {
      return report_failure(figure.error());
    }
    if (typed.json) {
      print_json_row(bench, *figure);
    } else {
      print_row(bench, *figure);
    }
    std::fflush(stdout);
  }
  return kExitOk;
}

}  // namespace

std::vector<BenchCase> all_benches() {
  std::vector<BenchCase> benches;
  for (const auto& group :
       {ep_benches, fluid_benches, wire_benches, compare_benches, cadence_benches, decoder_benches,
        ocs_benches, overlap_benches, place_benches, predict_benches, swap_benches}) {
    const std::vector<BenchCase> more = group();
    benches.insert(benches.end(), more.begin(), more.end());
  }
  return benches;
}

void add_bench_command(CLI::App& app, Outcome& outcome) {
  CLI::App* bench = app.add_subcommand("bench", "Measure this build against published times");
  bench->footer("Example:\n  mixnet bench --json\n\nBenchmarks:\n" + names());
  const auto typed = std::make_shared<BenchArguments>();
  bench->add_option("name", typed->name, "Run this one only, or the group that starts with it")
      ->type_name("NAME");
  bench->add_flag("--json", typed->json, "Print one JSON object per line");
  bench->callback([typed, &outcome] { outcome.exit_code = run_bench(*typed); });
}

}  // namespace mixnet::cli
