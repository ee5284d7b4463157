#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/sweep_results.h"

namespace mixnet::cli {
namespace {

struct MergeOptions {
  std::string sweep;
  std::string out;
  std::vector<std::string> parts;
  bool json = false;
};

struct Gathered {
  scenario::Sweep sweep;
  std::vector<SweepPoint> points;
  SweepResults results;
};

Result<Gathered> gather(const MergeOptions& options) {
  const Result<scenario::Sweep> sweep = scenario::read_sweep(options.sweep);
  if (!sweep.ok()) {
    return sweep.error();
  }
  Result<std::vector<SweepPoint>> points = sweep_points(*sweep);
  if (!points.ok()) {
    return points.error();
  }
  SweepCollector collector(*points);
  for (const std::string& part : options.parts) {
    const Result<std::vector<SweepLine>> lines = read_sweep_lines(part);
    if (!lines.ok()) {
      return lines.error();
    }
    if (Status s = collector.add(*lines, part); !s.ok()) {
      return s.error();
    }
  }
  SweepResults results = collector.results();
  return Gathered{*sweep, *std::move(points), std::move(results)};
}

nlohmann::ordered_json summary_json(const Gathered& gathered) {
  const auto list = [&](const std::vector<std::size_t>& which) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const std::size_t i : which) {
      json.push_back(gathered.points[i].point);
    }
    return json;
  };
  const SweepResults& results = gathered.results;
  return {{"points", gathered.points.size()},
          {"missing", list(results.missing)},
          {"failed", list(results.failed)},
          {"repeated", results.repeated},
          {"foreign", results.foreign}};
}

void print_summary(const MergeOptions& options, const Gathered& gathered) {
  const SweepResults& results = gathered.results;
  print_text(fmt::format("{}: {} of {} points\n", options.out,
                         gathered.points.size() - results.missing.size(), gathered.points.size()));
  if (results.repeated > 0) {
    print_text(fmt::format("{} lines repeat another and were left out\n", results.repeated));
  }
  if (results.foreign > 0) {
    print_text(fmt::format("{} lines are of another sweep or version and were left out\n",
                           results.foreign));
  }
}

// Missing and failed points are named on standard error; the exit code tells of them.
int verdict(const MergeOptions& options, const Gathered& gathered) {
  const SweepResults& results = gathered.results;
  if (!results.missing.empty()) {
    report_failure(error_at(options.out,
                            fmt::format("{} points are missing: run the sweep with --out {} to add "
                                        "them{}",
                                        results.missing.size(), options.out,
                                        sweep_point_list(gathered.points, results.missing))));
  }
  if (!results.failed.empty()) {
    report_failure(error_at(
        options.out, fmt::format("{} points failed, their lines say why{}", results.failed.size(),
                                 sweep_point_list(gathered.points, results.failed))));
  }
  return results.missing.empty() && results.failed.empty() ? kExitOk : kExitFailure;
}

int merge(const MergeOptions& options) {
  if (Status s = check_outputs({options.out}, {options.sweep}); !s.ok()) {
    return report_usage_error(s.error());
  }
  const Result<Gathered> gathered = gather(options);
  if (!gathered.ok()) {
    return report_usage_error(gathered.error());
  }
  std::string text;
  for (const std::string& line : gathered->results.lines) {
    text += line.empty() ? "" : line + "\n";
  }
  if (Status s = write_files({{options.out, text}}); !s.ok()) {
    return report_failure(s.error());
  }
  if (options.json) {
    print_json(summary_json(*gathered));
  } else {
    print_summary(options, *gathered);
  }
  return verdict(options, *gathered);
}

int report_page(const MergeOptions& options) {
  std::vector<std::string> inputs = options.parts;
  inputs.push_back(options.sweep);
  if (Status s = check_outputs({options.out}, inputs); !s.ok()) {
    return report_usage_error(s.error());
  }
  const Result<Gathered> gathered = gather(options);
  if (!gathered.ok()) {
    return report_usage_error(gathered.error());
  }
  const std::string page = sweep_report(gathered->sweep, gathered->results);
  if (Status s = write_files({{options.out, page}}); !s.ok()) {
    return report_failure(s.error());
  }
  if (options.json) {
    print_json(summary_json(*gathered));
  } else {
    print_summary(options, *gathered);
  }
  return kExitOk;
}

void add_inputs(CLI::App& command, MergeOptions& options) {
  command.add_option("parts", options.parts, "Results of `mixnet sweep --out`")->required();
  command.add_option("--sweep", options.sweep, "The sweep file that they are results of")
      ->required();
  command.add_flag("--json", options.json,
                   "Print {points, missing, failed, repeated, foreign} on standard output");
}

}  // namespace

void add_sweep_merge_command(CLI::App& sweep, Outcome& outcome) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = sweep.add_subcommand(
      "merge", "Put results of one sweep into one file, in the order of its points");
  command->footer(
      "Exit code 1 if points are missing or failed; what is there is written all the same.\n"
      "Example:\n  mixnet sweep merge scale.jsonl part-*.jsonl --sweep examples/sweeps/scale.toml");
  command->add_option("out", options->out, "File to write; may be one of the parts")->required();
  add_inputs(*command, *options);
  command->callback([options, &outcome] { outcome.exit_code = merge(*options); });
}

void add_sweep_report_command(CLI::App& sweep, Outcome& outcome) {
  auto options = std::make_shared<MergeOptions>();
  CLI::App* command = sweep.add_subcommand("report", "Draw the curves of results, one page");
  command->footer(
      "Example:\n  mixnet sweep report alpha.jsonl --sweep examples/sweeps/alpha.toml --out "
      "alpha.html");
  add_inputs(*command, *options);
  command->add_option("--out", options->out, "Page to write")->required();
  command->callback([options, &outcome] { outcome.exit_code = report_page(*options); });
}

}  // namespace mixnet::cli
