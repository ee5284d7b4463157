#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "plan/overlap_policy.h"
#include "plan/transport_copies.h"
#include "report/format.h"
#include "report/table.h"
#include "scenario/deployment.h"
#include "scenario/token_file.h"

namespace mixnet::cli {
namespace {

using Json = nlohmann::ordered_json;
using plan::LayerPrediction;
using plan::PolicyEntry;
using plan::PolicyRow;

struct PolicyArguments {
  std::string deployment;
  std::string tokens;  // file; empty: none
  bool all = false;
  bool json = false;
};

Json choice_json(const PolicyEntry& entry, Phase phase) {
  const LayerPrediction& time = entry.time;
  Json json = {{"mode", transport_mode(entry.choice.transport)},
               {"deduplicated", entry.choice.transport == Transport::kRelay},
               {"overlap", plan::overlap_name(entry.choice.overlap)},
               {"groups", entry.choice.groups},
               {"predicted_us", time.layer.us()},
               {phase == Phase::kDecode ? "tpot_us" : "forward_us", time.step.us()},
               {"compute_us", time.compute.us()},
               {"kernels_us", time.kernels.us()},
               {"network_us", time.network.us()},
               {"exposed_us", time.exposed().us()},
               {"bound_us", time.bound().us()}};
  return json;
}

Json row_json(const PolicyRow& row, Phase phase) {
  Json json = {{"batch", row.batch}};
  json.update(choice_json(row.best(), phase));
  json["runner_up"] = choice_json(row.runner_up(), phase);
  json["why"] = row.why;
  json["choices"] = Json::array();
  for (const PolicyEntry& entry : row.entries) {
    json["choices"].push_back(choice_json(entry, phase));
  }
  return json;
}

// What every transport sends for one token.
Json copies_json(const Deployment& d) {
  const plan::ExpertSpread spread = plan::expert_spread(d);
  Json list = Json::array();
  for (const Transport transport : kTransports) {
    const plan::CopiesPerToken copies = plan::copies_per_token(spread, transport);
    list.push_back({{"mode", transport_mode(transport)},
                    {"transport", transport_name(transport)},
                    {"network", copies.network},
                    {"cross_rail_share", copies.cross_rail_share()},
                    {"nvlink", copies.nvlink},
                    {"dispatch_bytes_per_nic_and_token",
                     plan::bytes_per_nic(spread, copies, 1, plan::dispatch_copy_bytes(d))}});
  }
  return list;
}

// What the routed tokens of a file send, with the deployment's experts in order on its ranks.
struct CountedTokens {
  std::size_t tokens = 0;
  std::vector<plan::CopyCount> copies;  // in the order of kTransports
  LoadSkew skew;
};

CountedTokens count_tokens(const Deployment& d, const RoutedTokens& tokens) {
  const plan::ExpertSpread spread = plan::expert_spread(d);
  const std::vector<int> ranks = plan::contiguous_ranks(spread);
  CountedTokens counted;
  counted.tokens = tokens.tokens();
  for (const Transport transport : kTransports) {
    counted.copies.push_back(plan::count_copies(spread, ranks, tokens, transport));
  }
  counted.skew = plan::counted_skew(spread, ranks, tokens);
  return counted;
}

Json skew_json(const LoadSkew& skew) {
  return {
      {"gpu", skew.gpu}, {"nic", skew.nic}, {"host", skew.host}, {"host_copies", skew.host_copies}};
}

double per_token(int64_t copies, const CountedTokens& counted) {
  return static_cast<double>(copies) / static_cast<double>(counted.tokens);
}

Json counted_json(const CountedTokens& counted) {
  Json list = Json::array();
  for (std::size_t i = 0; i < counted.copies.size(); ++i) {
    const plan::CopyCount& copies = counted.copies[i];
    const double share = copies.network == 0 ? 0
                                             : static_cast<double>(copies.cross_rail) /
                                                   static_cast<double>(copies.network);
    list.push_back({{"mode", transport_mode(kTransports[i])},
                    {"transport", transport_name(kTransports[i])},
                    {"network", per_token(copies.network, counted)},
                    {"cross_rail_share", share},
                    {"nvlink", per_token(copies.nvlink, counted)}});
  }
  return {{"tokens", counted.tokens}, {"copies", list}, {"skew", skew_json(counted.skew)}};
}

// Counted copies beside those of uniform picks.
std::string counted_text(const Deployment& d, const CountedTokens& counted) {
  report::Table table(
      {{"transport", report::Align::kLeft}, {"copies per token"}, {"if picks were uniform"}});
  for (std::size_t i = 0; i < counted.copies.size(); ++i) {
    const double uniform = plan::copies_per_token(plan::expert_spread(d), kTransports[i]).network;
    table.add_row({transport_name(kTransports[i]),
                   fmt::format("{:.3f}", per_token(counted.copies[i].network, counted)),
                   fmt::format("{:.3f}", uniform)});
  }
  return fmt::format(
      "\nNetwork copies of {} routed tokens:\n{}Skew: gpu = {:.3f}, nic = {:.3f}, host = {:.3f}, "
      "host_copies = {:.3f}\n",
      counted.tokens, table.text(), counted.skew.gpu, counted.skew.nic, counted.skew.host,
      counted.skew.host_copies);
}

Json measured_json(const Deployment& d) {
  Json list = Json::array();
  for (const MeasuredLayer& row : d.measured) {
    Json json = {{"batch", row.batch}, {"transport", transport_name(row.transport)}};
    const auto add = [&json](const char* key, const std::optional<SimTime>& time) {
      json[key] = time.has_value() ? Json(time->us()) : Json(nullptr);
    };
    add("attention_us", row.attention);
    add("dispatch_us", row.dispatch);
    add("gemm_us", row.gemm);
    add("combine_us", row.combine);
    list.push_back(std::move(json));
  }
  return list;
}

// Everything that the rows depend on.
Json config_json(const Deployment& d) {
  Json transports;
  for (const Transport t : {Transport::kDirect, Transport::kNvlink, Transport::kRelay}) {
    const TransportOverhead& overhead = d.overheads.of(t);
    transports[transport_name(t)] = {{"latency_us", overhead.latency.us()},
                                     {"kernel_us", overhead.kernel.us()}};
  }
  return {{"model", d.model.name},
          {"gpu", d.gpu.name},
          {"phase", d.phase == Phase::kDecode ? "decode" : "forward"},
          {"ep", d.ep},
          {"gpus_per_server", d.gpus_per_host},
          {"nics_per_server", d.nics_per_host},
          {"nic_rate_gbps", d.nic_rate.gbps()},
          {"cross_rail_slowdown", d.cross_rail_slowdown},
          {"context", d.context},
          {"weight_bytes", d.weight_bytes},
          {"dispatch_bytes", d.dispatch_bytes},
          {"combine_bytes", d.combine_bytes},
          {"cache_bytes", d.cache_bytes},
          {"efficiency", d.compute_efficiency},
          {"memory_efficiency", d.memory_efficiency},
          {"nvlink_efficiency", d.nvlink_efficiency},
          {"sm_share", d.sm_share},
          {"launch_us", d.launch.us()},
          {"other_us", d.other.us()},
          {"transport", std::move(transports)},
          {"skew", skew_json(d.skew)},
          {"measured", measured_json(d)}};
}

std::vector<std::string> cells(int batch, const PolicyEntry& entry) {
  const bool groups = entry.choice.overlap == plan::Overlap::kPerExpert;
  const bool copies = entry.choice.transport == Transport::kRelayCopies;
  return {
      std::to_string(batch),
      fmt::format("{}{}", transport_mode(entry.choice.transport), copies ? " (all copies)" : ""),
      plan::overlap_name(entry.choice.overlap),
      groups ? std::to_string(entry.choice.groups) : "-",
      fmt::format("{:.1f}", entry.time.layer.us()),
      fmt::format("{:.1f}", entry.time.exposed().us()),
      report::significant(entry.time.step.ms())};
}

std::string table_text(const Deployment& d, const std::vector<PolicyRow>& rows, bool all) {
  report::Table table({{"batch"},
                       {"mode"},
                       {"overlap", report::Align::kLeft},
                       {"groups"},
                       {"layer (us)"},
                       {"exposed (us)"},
                       {d.phase == Phase::kDecode ? "TPOT (ms)" : "forward (ms)"}});
  for (const PolicyRow& row : rows) {
    for (const PolicyEntry& entry : row.entries) {
      table.add_row(cells(row.batch, entry));
      if (!all) {
        break;
      }
    }
  }
  std::string text = table.text();
  text += "\nRunner-up of each batch size:\n";
  for (const PolicyRow& row : rows) {
    text += report::wrapped(fmt::format("{}: {}.", row.batch, row.why), 100, 4);
  }
  return text;
}

int run_policy(const PolicyArguments& typed) {
  const Result<Deployment> read = scenario::read_deployment(typed.deployment);
  if (!read) {
    return report_usage_error(read.error());
  }
  const Deployment deployment = plan::with_resolved_skew(*read);
  std::optional<CountedTokens> counted;
  if (!typed.tokens.empty()) {
    const Result<RoutedTokens> tokens = scenario::read_token_file(
        typed.tokens, {deployment.ep, deployment.model.experts, deployment.model.top_k});
    if (!tokens) {
      return report_usage_error(tokens.error());
    }
    counted = count_tokens(deployment, *tokens);
  }
  const std::vector<PolicyRow> rows = plan::overlap_policy(deployment);
  if (!typed.json) {
    print_text(table_text(deployment, rows, typed.all));
    if (counted.has_value()) {
      print_text(counted_text(deployment, *counted));
    }
    return kExitOk;
  }
  Json object;
  object["rows"] = Json::array();
  for (const PolicyRow& row : rows) {
    object["rows"].push_back(row_json(row, deployment.phase));
  }
  object["copies"] = copies_json(deployment);
  if (counted.has_value()) {
    object["counted"] = counted_json(*counted);
  }
  object["config"] = config_json(deployment);
  object["version"] = MIXNET_VERSION;
  print_json(object);
  return kExitOk;
}

}  // namespace

void add_policy_command(CLI::App& app, Outcome& outcome) {
  auto typed = std::make_shared<PolicyArguments>();
  CLI::App* command = app.add_subcommand(
      "policy", "choose transport mode and overlap of expert parallelism for each batch size");
  command->add_option("DEPLOYMENT", typed->deployment, "deployment file, .toml (docs/overlap.md)")
      ->required();
  command->add_option("--tokens", typed->tokens,
                      "routed tokens, a line each: rank, expert, expert, ...; count their copies");
  command->add_flag("--all", typed->all, "list every choice of each batch size, best first");
  command->add_flag("--json", typed->json, "print one JSON object instead of a table");
  command->footer("Example: mixnet policy examples/deployment-deepseek-h20.toml");
  command->callback([typed, &outcome] { outcome.exit_code = run_policy(*typed); });
}

}  // namespace mixnet::cli
