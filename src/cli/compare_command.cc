#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/compare.h"
#include "cli/progress.h"
#include "report/comparison_json.h"
#include "report/comparison_table.h"
#include "report/html.h"
#include "report/timeline.h"

namespace mixnet::cli {
namespace {

struct CompareOptions {
  std::string scenario;
  std::string out;
  std::string network = "fluid";
  std::vector<std::string> overrides;
  bool json = false;
  bool verbose = false;
};

Status write_reports(const std::string& out, const Comparison& comparison,
                     const nlohmann::ordered_json& result, const std::string& title) {
  if (Status made = make_folder(out); !made) {
    return made;
  }
  // result.json last: whoever sees it sees its report and timeline too.
  return write_files({{out + "/report.html", report::report_html(comparison, result, title)},
                      {out + "/timeline.json", report::timeline_json(comparison)},
                      {out + "/result.json", report::json_text(result) + "\n"}});
}

// One bar per fabric, drawn as the simulation moves on.
CompareProgress progress_bars(const std::shared_ptr<std::optional<Progress>>& bar,
                              const std::shared_ptr<std::string>& current) {
  return [bar, current](const std::string& fabric, int64_t done, int64_t total) {
    if (!bar->has_value() || *current != fabric) {
      bar->emplace("simulating " + fabric);
      *current = fabric;
    }
    (*bar)->update(done, total);
  };
}

int run(const CompareOptions& options) {
  const Result<scenario::Scenario> scenario =
      scenario::read_scenario(options.scenario, options.overrides);
  if (!scenario) {
    return report_usage_error(scenario.error());
  }
  const Result<scenario::RoutingTrace> routing = scenario::load_routing(*scenario);
  if (!routing) {
    return report_usage_error(routing.error());
  }
  const auto bar = std::make_shared<std::optional<Progress>>();
  const Result<Comparison> comparison =
      compare(*scenario, routing->view(), progress_bars(bar, std::make_shared<std::string>()));
  bar->reset();
  if (!comparison) {
    return report_usage_error(comparison.error());
  }
  const nlohmann::ordered_json result =
      report::comparison_json(*comparison, scenario::effective_config(*scenario), MIXNET_VERSION);
  if (!options.out.empty()) {
    const std::string title = std::filesystem::path(options.scenario).stem().string();
    if (Status s = write_reports(options.out, *comparison, result, title); !s) {
      return report_failure(s.error());
    }
  }
  if (options.json) {
    print_json(result);
  } else {
    fmt::print("{}", report::comparison_text(*comparison, options.verbose));
    if (!options.out.empty()) {
      fmt::print(
          "\nWritten: {0}/report.html, {0}/timeline.json (open in ui.perfetto.dev), "
          "{0}/result.json\n",
          options.out);
    }
  }
  return kExitOk;
}

}  // namespace

void add_compare_command(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "Simulate one training iteration on every fabric of a scenario and price them");
  command->footer("Example:\n  mixnet compare examples/mixtral-8x7b-256gpu.toml --out out/mixtral");
  command->add_option("scenario", options->scenario, "Scenario file (docs/scenario.md)")
      ->required();
  command->add_option("--out", options->out,
                      "Folder for result.json, report.html and timeline.json");
  command->add_option("--network", options->network, "Network model; this version has fluid only")
      ->check(CLI::IsMember({"fluid"}));
  command->add_option("--set", options->overrides,
                      "Change a key of the scenario, e.g. cluster.nic_rate=100Gbps (repeatable)");
  command->add_flag("--json", options->json, "Print result.json on standard output");
  command->add_flag("-v,--verbose", options->verbose, "Also print the critical path by activity");
  command->callback([options, &outcome] { outcome.exit_code = run(*options); });
}

}  // namespace mixnet::cli
