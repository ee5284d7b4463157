#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "plan/recovery.h"
#include "report/format.h"
#include "report/table.h"
#include "scenario/recovery_file.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::duration_text;

// More rows are no help on a terminal; --json has them all.
constexpr std::size_t kMostRows = 20;

struct RecoverOptions {
  std::string file;
  std::vector<int> hosts;
  std::vector<int> ranks;
  bool json = false;
};

const char* source_name(plan::ReloadSource source) {
  switch (source) {
    case plan::ReloadSource::kOwnMemory:
      return "own memory";
    case plan::ReloadSource::kOtherMemory:
      return "other memory";
    case plan::ReloadSource::kDisk:
      return "disk";
  }
  return "";
}

// Marks the numbers of `typed`; an error names the one that is out of range or comes twice.
Status mark(const std::vector<int>& typed, const char* what, std::vector<uint8_t>& lost) {
  for (const int number : typed) {
    if (number < 0 || static_cast<std::size_t>(number) >= lost.size()) {
      return Error{fmt::format("there is no {} {}: the deployment has {} 0 to {}", what, number,
                               what, lost.size() - 1),
                   ""};
    }
    uint8_t& entry = lost[static_cast<std::size_t>(number)];
    if (entry != 0) {
      return Error{fmt::format("{} {} is lost twice: name it once", what, number), ""};
    }
    entry = 1;
  }
  return {};
}

plan::Losses none_lost(const RecoveryProblem& problem) {
  return {std::vector<uint8_t>(static_cast<std::size_t>(problem.map.hosts())),
          std::vector<uint8_t>(static_cast<std::size_t>(problem.map.gpus))};
}

Json plan_json(const RecoveryProblem& problem, const plan::RecoveryPlan& plan) {
  Json object;
  object["stall_s"] = plan.stall.seconds();
  object["stall_bound_s"] = plan.stall_bound.seconds();
  object["unpipelined_s"] = plan.unpipelined.seconds();
  object["bytes"] = {{"own_memory", plan.from_own_memory.count()},
                     {"other_memory", plan.from_other_memory.count()},
                     {"disk", plan.from_disk.count()}};
  object["layer_order"] = plan.layer_order;
  Json ready = Json::array();
  for (const SimTime time : plan.layer_ready) {
    ready.push_back(time.seconds());
  }
  object["layer_ready_s"] = ready;
  Json survivors = Json::array();
  for (const plan::SurvivingExpert& s : plan.survivors) {
    survivors.push_back({{"layer", s.layer}, {"expert", s.expert}, {"copies_left", s.copies_left}});
  }
  object["survivors"] = survivors;
  Json reloads = Json::array();
  for (const plan::Reload& r : plan.reloads) {
    Json row = {{"layer", r.layer},
                {"expert", r.expert},
                {"gpu", r.gpu},
                {"slot", r.slot},
                {"spare", r.slot >= problem.map.slots_per_gpu},
                {"source", source_name(r.source)},
                {"from_host", r.from_host}};
    row["evicted"] = r.evicted < 0 ? Json() : Json(r.evicted);
    reloads.push_back(row);
  }
  object["reloads"] = reloads;
  return object;
}

void print_plan(const RecoveryProblem& problem, const plan::RecoveryPlan& plan) {
  fmt::print("{} experts lost copies and survive; {} must be loaded\n", plan.survivors.size(),
             plan.reloads.size());
  fmt::print("  from the memory of the same host  {}\n", report::bytes_text(plan.from_own_memory));
  fmt::print("  from the memory of another host   {}\n",
             report::bytes_text(plan.from_other_memory));
  fmt::print("  from disk                         {}\n", report::bytes_text(plan.from_disk));
  fmt::print("exposed stall        {}  (no choice of GPUs and hosts gives less than {})\n",
             duration_text(plan.stall), duration_text(plan.stall_bound));
  fmt::print("without pipelining   {}\n\n", duration_text(plan.unpipelined));
  if (plan.reloads.empty()) {
    return;
  }
  report::Table table({{"layer"},
                       {"expert"},
                       {"GPU"},
                       {"slot"},
                       {"from", report::Align::kLeft},
                       {"host"},
                       {"takes the place of", report::Align::kLeft}});
  for (std::size_t k = 0; k < std::min(kMostRows, plan.reloads.size()); ++k) {
    const plan::Reload& r = plan.reloads[k];
    const std::string place = r.slot >= problem.map.slots_per_gpu ? "spare slot"
                              : r.evicted < 0                     ? "empty slot"
                                              : fmt::format("a copy of {}", r.evicted);
    table.add_row({std::to_string(r.layer), std::to_string(r.expert), std::to_string(r.gpu),
                   std::to_string(r.slot), source_name(r.source), std::to_string(r.from_host),
                   place});
  }
  fmt::print("{}", table.text());
  if (plan.reloads.size() > kMostRows) {
    fmt::print("... and {} more (--json lists all, in the order in which they start)\n",
               plan.reloads.size() - kMostRows);
  }
}

int run_one(const RecoverOptions& options, const RecoveryProblem& problem) {
  plan::Losses losses = none_lost(problem);
  for (const Status& marked :
       {mark(options.hosts, "host", losses.hosts), mark(options.ranks, "rank", losses.gpus)}) {
    if (!marked.ok()) {
      return report_usage_error(marked.error());
    }
  }
  const Result<plan::RecoveryPlan> plan = plan::plan_recovery(problem, losses);
  if (!plan.ok()) {
    return report_usage_error(error_at(options.file, plan.error().message));
  }
  if (options.json) {
    Json object = {{"lost_hosts", options.hosts}, {"lost_ranks", options.ranks}};
    object.update(plan_json(problem, *plan));
    print_json(object);
  } else {
    print_plan(problem, *plan);
  }
  return kExitOk;
}

// The last `lost` hosts are lost; sources as in the file, or from disk alone.
Result<plan::RecoveryPlan> plan_of_count(const RecoveryProblem& problem, int lost, bool disk) {
  RecoveryProblem asked = problem;
  asked.cache = disk ? ExpertCache::kNone : problem.cache;
  plan::Losses losses = none_lost(problem);
  std::fill(losses.hosts.end() - lost, losses.hosts.end(), uint8_t{1});
  return plan::plan_recovery(asked, losses);
}

// One row per number of lost hosts, so that a deployment can be judged before anything fails.
int run_forecast(const RecoverOptions& options, const RecoveryProblem& problem) {
  const int hosts = problem.map.hosts();
  if (hosts < 2) {
    return report_usage_error(
        error_at(options.file, "the deployment has one host: name lost ranks with --lost-ranks"));
  }
  report::Table table({{"hosts lost"},
                       {"experts to load"},
                       {"stall, memory first"},
                       {"bound"},
                       {"without pipelining"},
                       {"stall, disk alone"},
                       {"why not", report::Align::kLeft}});
  Json rows = Json::array();
  for (int lost = 1; lost < hosts; ++lost) {
    const Result<plan::RecoveryPlan> memory = plan_of_count(problem, lost, false);
    const std::optional<Result<plan::RecoveryPlan>> disk =
        problem.costs.on_disk ? std::optional(plan_of_count(problem, lost, true)) : std::nullopt;
    const bool has_disk = disk.has_value() && disk->ok();
    Json row = {{"lost", lost}, {"possible", memory.ok()}};
    row["reloads"] = memory.ok() ? Json(memory->reloads.size()) : Json();
    row["stall_s"] = memory.ok() ? Json(memory->stall.seconds()) : Json();
    row["stall_bound_s"] = memory.ok() ? Json(memory->stall_bound.seconds()) : Json();
    row["unpipelined_s"] = memory.ok() ? Json(memory->unpipelined.seconds()) : Json();
    row["disk_stall_s"] = has_disk ? Json((*disk)->stall.seconds()) : Json();
    row["problem"] = memory.ok() ? Json() : Json(memory.error().message);
    rows.push_back(row);
    const auto duration = [&memory](SimTime plan::RecoveryPlan::*field) {
      return memory.ok() ? duration_text((*memory).*field) : "-";
    };
    table.add_row({std::to_string(lost), memory.ok() ? std::to_string(memory->reloads.size()) : "-",
                   duration(&plan::RecoveryPlan::stall), duration(&plan::RecoveryPlan::stall_bound),
                   duration(&plan::RecoveryPlan::unpipelined),
                   has_disk ? duration_text((*disk)->stall) : "-",
                   memory.ok() ? "" : memory.error().message});
  }
  if (options.json) {
    print_json({{"forecast", rows}});
  } else {
    fmt::print("{}", table.text());
  }
  return kExitOk;
}

int run(const RecoverOptions& options) {
  const Result<RecoveryProblem> problem = scenario::read_recovery_file(options.file);
  if (!problem.ok()) {
    return report_usage_error(problem.error());
  }
  return options.hosts.empty() && options.ranks.empty() ? run_forecast(options, *problem)
                                                        : run_one(options, *problem);
}

// An empty variable of a script is no host 0.
CLI::Validator is_list_of_numbers() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
          return '0' <= c && c <= '9';
        });
        return digits ? std::string() : fmt::format("`{}` is no number from 0 on", text);
      },
      "");
}

}  // namespace

void add_recover_command(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<RecoverOptions>();
  CLI::App* command = app.add_subcommand(
      "recover", "Which experts come back from where when hosts or GPUs of a deployment are lost");
  command->add_option("DEPLOYMENT", options->file, "TOML file: docs/recovery.md has the keys")
      ->required();
  command
      ->add_option("--lost", options->hosts,
                   "Hosts that are lost, from 0: 3,5 (default: the last one, the last two, ..., "
                   "as a forecast)")
      ->delimiter(',')
      ->check(is_list_of_numbers());
  command->add_option("--lost-ranks", options->ranks, "GPUs that are lost alone, from 0: 12,13")
      ->delimiter(',')
      ->check(is_list_of_numbers());
  command->add_flag("--json", options->json, "Print one JSON object on standard output");
  command->footer("Example:\n  mixnet recover examples/recovery-64gpu.toml --lost 3,5");
  command->callback([options, &outcome] { outcome.exit_code = run(*options); });
}

}  // namespace mixnet::cli
