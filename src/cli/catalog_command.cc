#include <fmt/format.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "scenario/catalog.h"

namespace mixnet::cli {
namespace {

using scenario::builtin_catalog;
using scenario::EntryInfo;
using Json = nlohmann::ordered_json;

// MixNet's servers bring two to six optical NICs.
constexpr int kFewestOcsNics = 2;
constexpr int kMostOcsNics = 6;

struct CatalogOptions {
  std::string kind;
  bool json = false;
};

Json info_json(const EntryInfo& info) {
  Json json;
  json["name"] = info.name;
  json["aliases"] = info.aliases;
  return json;
}

void add_source(Json& json, const EntryInfo& info) {
  json["source"] = info.source;
  json["note"] = info.note;
}

Json seconds_or_null(const std::optional<SimTime>& time) {
  return time.has_value() ? Json(time->seconds()) : Json();
}

Json models_json() {
  Json list = Json::array();
  for (const scenario::ModelEntry& entry : builtin_catalog().models) {
    const MoeModel& m = entry.model;
    Json json = info_json(entry.info);
    json["hidden"] = m.hidden;
    json["layers"] = m.layers;
    json["moe_layers"] = m.moe_layers();
    json["experts"] = m.experts;
    json["top_k"] = m.top_k;
    json["expert_ffn"] = m.expert_ffn;
    json["shared_experts"] = m.shared_experts;
    json["shared_ffn"] = m.shared_ffn;
    json["query_heads"] = m.query_heads;
    json["kv_heads"] = m.kv_heads;
    json["head_dim"] = m.head_dim;
    json["vocab"] = m.vocab;
    add_source(json, entry.info);
    list.push_back(json);
  }
  return list;
}

Json gpus_json() {
  Json list = Json::array();
  for (const scenario::GpuEntry& entry : builtin_catalog().gpus) {
    Json json = info_json(entry.info);
    json["bf16_tflops"] = entry.gpu.bf16_tflops;
    json["fp8_tflops"] = entry.gpu.fp8_tflops;
    json["hbm_gbytes_per_s"] = entry.gpu.hbm_gbytes_per_s;
    json["nvlink_gbytes_per_s"] = entry.gpu.nvlink_gbytes_per_s;
    add_source(json, entry.info);
    list.push_back(json);
  }
  return list;
}

Json nics_json() {
  Json list = Json::array();
  for (const scenario::NicEntry& entry : builtin_catalog().nics) {
    Json json = info_json(entry.info);
    json["max_rate_bps"] = entry.max_rate.bps() > 0 ? Json(entry.max_rate.bps()) : Json();
    json["relink_mean_s"] = seconds_or_null(entry.relink_mean);
    json["relink_p99_s"] = seconds_or_null(entry.relink_p99);
    add_source(json, entry.info);
    list.push_back(json);
  }
  return list;
}

Json switches_json() {
  Json list = Json::array();
  for (const scenario::OcsEntry& entry : builtin_catalog().switches) {
    Json json = info_json(entry.info);
    json["ports"] = entry.ports;
    json["switch_min_s"] = seconds_or_null(entry.switch_min);
    json["switch_max_s"] = seconds_or_null(entry.switch_max);
    Json served = Json::object();
    for (int nics = kFewestOcsNics; nics <= kMostOcsNics; ++nics) {
      served[std::to_string(nics)] = servers_served(entry, nics);
    }
    json["servers_by_ocs_nics"] = served;
    add_source(json, entry.info);
    list.push_back(json);
  }
  return list;
}

Json prices_json() {
  Json list = Json::array();
  for (const scenario::PriceRow& row : builtin_catalog().prices.rows) {
    Json json;
    json["gbps"] = row.gbps;
    json["transceiver_usd"] = row.transceiver;
    json["nic_usd"] = row.nic;
    json["eps_port_usd"] = row.eps_port;
    json["ocs_port_usd"] = row.ocs_port;
    json["patch_panel_port_usd"] = row.patch_panel_port;
    json["fiber_usd"] = row.fiber;
    json["source"] = builtin_catalog().prices.source;
    list.push_back(json);
  }
  return list;
}

void print_models() {
  fmt::print("{:<20}{:>8}{:>8}{:>9}{:>7}{:>12}{:>12}\n", "model", "hidden", "blocks", "experts",
             "top-k", "expert FFN", "shared FFN");
  for (const scenario::ModelEntry& entry : builtin_catalog().models) {
    const MoeModel& m = entry.model;
    fmt::print("{:<20}{:>8}{:>8}{:>9}{:>7}{:>12}{:>12}\n", m.name, m.hidden, m.layers, m.experts,
               m.top_k, m.expert_ffn, m.shared_ffn);
    if (!entry.info.note.empty()) {
      fmt::print("    {}\n", entry.info.note);
    }
  }
}

void print_gpus() {
  fmt::print("{:<10}{:>14}{:>13}{:>12}{:>14}\n", "GPU", "BF16 TFLOPS", "FP8 TFLOPS", "HBM GB/s",
             "NVLink GB/s");
  for (const scenario::GpuEntry& entry : builtin_catalog().gpus) {
    const GpuSpec& g = entry.gpu;
    const std::string fp8 = g.fp8_tflops > 0 ? fmt::format("{}", g.fp8_tflops) : "-";
    fmt::print("{:<10}{:>14}{:>13}{:>12}{:>14}  {}\n", g.name, g.bf16_tflops, fp8,
               g.hbm_gbytes_per_s, g.nvlink_gbytes_per_s, entry.info.note);
  }
}

std::string time_text(const std::optional<SimTime>& time) {
  if (!time.has_value()) {
    return "?";
  }
  const double s = time->seconds();
  if (s >= 1) {
    return fmt::format("{:g} s", s);
  }
  return s >= 1e-3   ? fmt::format("{:g} ms", s * 1e3)
         : s >= 1e-6 ? fmt::format("{:g} us", s * 1e6)
                     : fmt::format("{:g} ns", s * 1e9);
}

void print_nics() {
  fmt::print("{:<22}{:>10}{:>14}{:>13}\n", "NIC", "max Gbps", "re-link mean", "re-link p99");
  for (const scenario::NicEntry& entry : builtin_catalog().nics) {
    const std::string rate =
        entry.max_rate.bps() > 0 ? fmt::format("{}", entry.max_rate.gbps()) : "?";
    fmt::print("{:<22}{:>10}{:>14}{:>13}  {}\n", entry.info.name, rate,
               time_text(entry.relink_mean), time_text(entry.relink_p99), entry.info.source);
  }
}

void print_switches() {
  fmt::print("{:<16}{:>6}{:>18}   servers on one switch with 2 / 3 / 4 / 5 / 6 optical NICs each\n",
             "optical switch", "ports", "switching time");
  for (const scenario::OcsEntry& entry : builtin_catalog().switches) {
    std::string served;
    for (int nics = kFewestOcsNics; nics <= kMostOcsNics; ++nics) {
      served += fmt::format("{:>6}", servers_served(entry, nics));
    }
    const std::string least = time_text(entry.switch_min);
    const std::string most = time_text(entry.switch_max);
    fmt::print("{:<16}{:>6}{:>18}{}   {}\n", entry.info.name, entry.ports,
               least == most ? least : fmt::format("{} - {}", least, most), served,
               entry.info.note);
  }
}

void print_prices() {
  fmt::print("USD per item; {}\n", builtin_catalog().prices.source);
  fmt::print("{:>6}{:>13}{:>8}{:>13}{:>14}{:>18}{:>8}\n", "Gbps", "transceiver", "NIC",
             "switch port", "optical port", "patch-panel port", "fibre");
  for (const scenario::PriceRow& row : builtin_catalog().prices.rows) {
    fmt::print("{:>6}{:>13}{:>8}{:>13}{:>14}{:>18}{:>8}\n", row.gbps, row.transceiver, row.nic,
               row.eps_port, row.ocs_port, row.patch_panel_port, row.fiber);
  }
}

struct Part {
  const char* name;
  Json (*json)();
  void (*print)();
};

constexpr Part kParts[] = {{"models", &models_json, &print_models},
                           {"gpus", &gpus_json, &print_gpus},
                           {"nics", &nics_json, &print_nics},
                           {"switches", &switches_json, &print_switches},
                           {"prices", &prices_json, &print_prices}};

void run_catalog(const CatalogOptions& options) {
  Json json;
  bool first = true;
  for (const Part& part : kParts) {
    if (!options.kind.empty() && options.kind != part.name) {
      continue;
    }
    if (options.json) {
      json[part.name] = part.json();
      continue;
    }
    fmt::print("{}", first ? "" : "\n");
    part.print();
    first = false;
  }
  if (options.json) {
    print_json(json);
  }
}

}  // namespace

void add_catalog_command(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<CatalogOptions>();
  CLI::App* command = app.add_subcommand(
      "catalog", "List the models, GPUs, NICs, optical switches and prices that ship with mixnet");
  command->footer("example: mixnet catalog switches");
  std::vector<std::string> kinds;
  for (const Part& part : kParts) {
    kinds.push_back(part.name);
  }
  command->add_option("kind", options->kind, "only this part: models, gpus, nics, switches, prices")
      ->check(CLI::IsMember(kinds))
      ->type_name("KIND");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &outcome] {
    run_catalog(*options);
    outcome.exit_code = kExitOk;
  });
}

}  // namespace mixnet::cli
