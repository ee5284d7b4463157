#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/json_values.h"
#include "cli/trace_demand.h"
#include "plan/cadence_run.h"
#include "report/table.h"
#include "scenario/trace.h"
#include "scenario/units_text.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CadenceArguments {
  std::string trace;
  int servers = 8;
  int alpha = 6;
  int eps = 2;
  int micro_batches = 1;
  double confidence = plan::CadenceOptions().confidence;
  std::string token = "8192B";
  std::string rate = "100Gbps";
  std::string other = "1s";
  std::string window = "0";
  std::string switching;  // empty: the prototype's
  std::string relink;
  bool json = false;
};

struct Reading {
  Error error{"", ""};
  bool failed = false;
};

// The value, or the first failure of all in `reading`.
template <typename T>
T read(Reading& reading, const char* option, Result<T> value) {
  if (value) {
    return *value;
  }
  if (!reading.failed) {
    reading.failed = true;
    reading.error = Error{fmt::format("{}: {}", option, value.error().message), ""};
  }
  return T();
}

// "25ms", or with its 99th percentile "5.67s,6.33s".
Result<Delay> delay_of(const std::string& text) {
  const std::size_t comma = text.find(',');
  const Result<SimTime> mean = scenario::parse_time(text.substr(0, comma));
  if (!mean) {
    return mean.error();
  }
  Delay delay{*mean, *mean};
  if (comma != std::string::npos) {
    const Result<SimTime> p99 = scenario::parse_time(text.substr(comma + 1));
    if (!p99) {
      return p99.error();
    }
    if (*p99 < *mean) {
      return Error{"the 99th percentile comes second and is at least the mean", ""};
    }
    delay.p99 = *p99;
  }
  return delay;
}

plan::SwitchDevice device_of(const CadenceArguments& typed, Reading& reading) {
  plan::SwitchDevice device = plan::prototype_device();
  if (!typed.switching.empty()) {
    device.switching = read(reading, "--switch", delay_of(typed.switching));
    device.per_circuit = SimTime();
  }
  if (!typed.relink.empty()) {
    device.relink = read(reading, "--relink", delay_of(typed.relink));
  }
  return device;
}

Result<plan::CadenceTrial> trial_of(const CadenceArguments& typed) {
  Reading reading;
  const Bytes token = read(reading, "--token", scenario::parse_bytes(typed.token));
  const BitRate rate = read(reading, "--rate", scenario::parse_rate(typed.rate));
  plan::CadenceTrial trial;
  trial.device = device_of(typed, reading);
  if (reading.failed) {
    return reading.error;
  }
  if (token.count() < 1) {
    return Error{"--token: a token has at least 1B", ""};
  }
  if (typed.alpha + typed.eps == 0) {
    return Error{"a server needs at least one NIC: give --alpha or --eps above 0", ""};
  }
  trial.region = {typed.alpha, typed.eps, Allocator::kSplit,
                  static_cast<double>(token.count()) / rate.bytes_per_second()};
  trial.options.confidence = typed.confidence;
  const auto n = static_cast<std::size_t>(typed.servers);
  trial.laid = plan::circuits_for(trial.region, DemandMatrix(n, n, 1.0));
  return trial;
}

Result<std::vector<plan::IterationLoad>> loads_of(const CadenceArguments& typed,
                                                  const RoutingView& trace) {
  Reading reading;
  const SimTime other = read(reading, "--other", scenario::parse_time(typed.other));
  const SimTime window = read(reading, "--window", scenario::parse_time(typed.window));
  if (reading.failed) {
    return reading.error;
  }
  if (typed.servers > trace.experts || typed.servers > trace.sources) {
    return Error{fmt::format("--servers {}: the trace has {} sources and {} experts; give at most "
                             "the smaller",
                             typed.servers, trace.sources, trace.experts),
                 ""};
  }
  std::vector<plan::IterationLoad> loads;
  for (int64_t t = 0; t < trace.iterations; ++t) {
    plan::IterationLoad load;
    load.layers = static_cast<int>(trace.layers);
    load.micro_batches = typed.micro_batches;
    load.other = other;
    load.iteration_window = window;
    for (int64_t l = 0; l < trace.layers; ++l) {
      load.demand.push_back(between_servers(step_demand(trace, t, l), typed.servers));
    }
    loads.push_back(std::move(load));
  }
  return loads;
}

Json to_json(const plan::CadenceRun& run, const plan::CadenceHindsight& hindsight) {
  Json object = {{"iterations", run.decisions.size()},
                 {"total_s", finite_or_null(run.total_s)},
                 {"all_to_all_s", finite_or_null(run.all_to_all_s)},
                 {"dark_s", run.dark_s},
                 {"changes", run.changes},
                 {"fine_iterations", run.fine},
                 {"regret_s", finite_or_null(plan::regret_s(run, hindsight))},
                 {"hindsight",
                  {{"held_s", finite_or_null(hindsight.held_s)},
                   {"static_s", finite_or_null(hindsight.static_s)},
                   {"static_bound_s", finite_or_null(hindsight.static_bound_s)},
                   {"every_iteration_s", finite_or_null(hindsight.every_iteration_s)},
                   {"sequence_s", finite_or_null(hindsight.sequence_s)}}},
                 {"decisions", Json::array()}};
  for (const plan::CadenceDecision& d : run.decisions) {
    object["decisions"].push_back({{"mode", plan::cadence_mode_name(d.mode)},
                                   {"changed", d.changed},
                                   {"hold_for", d.hold_for},
                                   {"cost_s", d.cost_s},
                                   {"saved_s", d.saved_s},
                                   {"explanation", d.explanation}});
  }
  return object;
}

std::string table_text(const plan::CadenceRun& run, const plan::CadenceHindsight& hindsight) {
  report::Table table({{"decisions", report::Align::kLeft}, {"total (s)"}, {"against static"}});
  const auto add = [&](const char* name, double total_s) {
    const bool measured = hindsight.static_s > 0;
    table.add_row(
        {name, fmt::format("{:.4g}", total_s),
         measured ? fmt::format("{:+.2f} %", 100 * (total_s / hindsight.static_s - 1)) : "-"});
  };
  add("decided from the past", run.total_s);
  add("first circuits for ever", hindsight.held_s);
  add("best static found in hindsight", hindsight.static_s);
  add("bound of static circuits", hindsight.static_bound_s);
  add("exact circuits every iteration", hindsight.every_iteration_s);
  add("best sequence found in hindsight", hindsight.sequence_s);
  return table.text();
}

int run_cadence(const CadenceArguments& typed) {
  const Result<scenario::RoutingTrace> trace = scenario::RoutingTrace::map(typed.trace);
  if (!trace) {
    return report_usage_error(trace.error());
  }
  const Result<plan::CadenceTrial> trial = trial_of(typed);
  if (!trial) {
    return report_usage_error(trial.error());
  }
  const Result<std::vector<plan::IterationLoad>> loads = loads_of(typed, trace->view());
  if (!loads) {
    return report_usage_error(loads.error());
  }
  const plan::CadenceRun run = plan::evaluate_cadence(*loads, *trial);
  const plan::CadenceHindsight hindsight = plan::hindsight(*loads, *trial);
  if (!std::isfinite(run.total_s) || !std::isfinite(hindsight.static_s)) {
    return report_usage_error(error_at(
        typed.trace, "some demand has neither circuits nor electrical NICs: give --eps 1"));
  }
  if (typed.json) {
    print_json(to_json(run, hindsight));
    return kExitOk;
  }
  fmt::print(
      "{}\nRegret: {}\n\n{} changes between iterations; {} iterations re-wired within; {:.4g} s "
      "dark. Last decision:\n{}\n",
      table_text(run, hindsight), plan::regret_text(run, hindsight), run.changes, run.fine,
      run.dark_s, run.decisions.back().explanation);
  return kExitOk;
}

void add_device_options(CLI::App& command, CadenceArguments& typed) {
  command.add_option("--switch", typed.switching,
                     "T_OCS, with its 99th percentile if it varies: 25ms or 41ms,60ms; default: "
                     "the MixNet prototype's switch");
  command.add_option("--relink", typed.relink,
                     "T_NIC, written alike; default: the prototype's 5.67s,6.33s");
  command.add_option("--rate", typed.rate, "of one NIC")->capture_default_str();
  command.add_option("--alpha", typed.alpha, "optical NICs per server")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
  command.add_option("--eps", typed.eps, "electrical NICs per server")
      ->capture_default_str()
      ->check(CLI::Range(0, 1024));
}

}  // namespace

void add_cadence_command(CLI::App& app, Outcome& outcome) {
  auto typed = std::make_shared<CadenceArguments>();
  CLI::App* command = app.add_subcommand(
      "cadence", "decide over a trace when re-wiring pays, and compare with hindsight");
  command->add_option("TRACE", typed->trace, "routing trace (.npy)")->required();
  command->add_option("--servers", typed->servers, "of the region")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  add_device_options(*command, *typed);
  command->add_option("--token", typed->token, "bytes of one routed token")->capture_default_str();
  command
      ->add_option("--micro-batches", typed->micro_batches,
                   "times that an iteration sends what the trace says")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--other", typed->other,
                   "time of an iteration that is neither all-to-all nor waiting for a switch")
      ->capture_default_str();
  command
      ->add_option("--window", typed->window,
                   "time between two iterations in which nobody needs the circuits")
      ->capture_default_str();
  command
      ->add_option("--confidence", typed->confidence, "standard errors by which a change must pay")
      ->capture_default_str()
      ->check(finite_range(0.0, 100.0));
  command->add_flag("--json", typed->json, "print one JSON object instead of a table");
  command->footer(
      "Example: mixnet cadence trace.npy --servers 8 --alpha 6 --eps 2 --switch 25ms --relink 0");
  command->callback([typed, &outcome] { outcome.exit_code = run_cadence(*typed); });
}

}  // namespace mixnet::cli
