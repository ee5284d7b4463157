#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "scenario/prices.h"
#include "scenario/scenario.h"

namespace mixnet::cli {
namespace {

using scenario::CostReading;
using scenario::FabricCost;

struct CostOptions {
  std::vector<std::string> overrides;
  std::string scenario;
  std::string variant = "five-ports";
  bool json = false;
};

struct PricedFabric {
  std::string name;
  FabricCost cost;
};

Result<std::vector<PricedFabric>> price_fabrics(const scenario::Scenario& s, CostReading reading) {
  std::vector<PricedFabric> priced;
  for (const FabricSpec& fabric : s.study.fabrics) {
    Result<FabricCost> cost = scenario::fabric_cost(fabric, s.study.cluster, s.prices, reading);
    if (!cost.ok()) {
      return cost.error();
    }
    priced.push_back({fabric.name, *std::move(cost)});
  }
  return priced;
}

nlohmann::ordered_json cost_json(const std::vector<PricedFabric>& priced, CostReading reading,
                                 const std::string& source) {
  nlohmann::ordered_json json;
  json["fabrics"] = nlohmann::ordered_json::array();
  for (const PricedFabric& fabric : priced) {
    nlohmann::ordered_json entry;
    entry["name"] = fabric.name;
    entry["total_usd"] = fabric.cost.total_usd();
    entry["items"] = nlohmann::ordered_json::array();
    for (const scenario::CostItem& item : fabric.cost.items) {
      nlohmann::ordered_json line;
      line["item"] = item.item;
      line["count"] = item.count;
      line["unit_usd"] = item.unit_usd;
      entry["items"].push_back(line);
    }
    entry["formula"] = fabric.cost.formula;
    json["fabrics"].push_back(entry);
  }
  json["variant"] = cost_reading_name(reading);
  json["prices"] = source;
  return json;
}

void print_table(const std::vector<PricedFabric>& priced, const scenario::Scenario& s,
                 CostReading reading) {
  const Cluster& cluster = s.study.cluster;
  fmt::print("{} servers x {} NICs of {} Gbps; reading of the paper's count: {}\n", cluster.servers,
             cluster.nics_per_server, cluster.nic_rate.gbps(), cost_reading_name(reading));
  fmt::print("prices: {}\n", s.prices.source);
  for (const PricedFabric& fabric : priced) {
    fmt::print("\n{:<56}{:>16.0f} USD\n", fabric.name, fabric.cost.total_usd());
    for (const scenario::CostItem& item : fabric.cost.items) {
      fmt::print("  {:<20}{:>12} x {:>9.2f} USD ={:>16.0f} USD\n", item.item, item.count,
                 item.unit_usd, static_cast<double>(item.count) * item.unit_usd);
    }
    fmt::print("  {}\n", fabric.cost.formula);
  }
}

int run_cost(const CostOptions& options) {
  const Result<scenario::Scenario> s = scenario::read_scenario(options.scenario, options.overrides);
  if (!s.ok()) {
    return report_usage_error(s.error());
  }
  const CostReading reading = options.variant == cost_reading_name(CostReading::kSixPorts)
                                  ? CostReading::kSixPorts
                                  : CostReading::kFivePorts;
  const Result<std::vector<PricedFabric>> priced = price_fabrics(*s, reading);
  if (!priced.ok()) {
    return report_usage_error(error_at(options.scenario, priced.error().message));
  }
  if (options.json) {
    print_json(cost_json(*priced, reading, s->prices.source));
  } else {
    print_table(*priced, *s, reading);
  }
  return kExitOk;
}

}  // namespace

void add_cost_command(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<CostOptions>();
  CLI::App* command = app.add_subcommand(
      "cost", "Price the network of every fabric of a scenario: items, unit prices, formula");
  command->footer("example: mixnet cost examples/mixtral-8x22b-1024gpu.toml");
  command->add_option("scenario", options->scenario, "scenario file")
      ->required()
      ->type_name("SCENARIO");
  command
      ->add_option(
          "--variant", options->variant,
          "how the paper's item count is read: five-ports gives its cost ratios, six-ports "
          "its performance per dollar")
      ->check(CLI::IsMember({"five-ports", "six-ports"}))
      ->capture_default_str();
  command->add_option("--set", options->overrides,
                      "change a key of the scenario, e.g. cluster.nic_rate=100Gbps (repeatable)");
  command->add_flag("--json", options->json, "print one JSON object");
  command->callback([options, &outcome] { outcome.exit_code = run_cost(*options); });
}

}  // namespace mixnet::cli
