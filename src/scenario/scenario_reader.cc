#include <utility>

#include "scenario/catalog.h"
#include "scenario/overrides.h"
#include "scenario/scenario.h"
#include "scenario/scenario_keys.h"
#include "scenario/scenario_sections.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {

const toml::table& ScenarioFile::section(std::string_view name) const {
  static const toml::table kEmpty;
  const toml::table* table = root.get_as<toml::table>(name);
  return table == nullptr ? kEmpty : *table;
}

toml::source_region ScenarioFile::where(std::string_view section_name, std::string_view key) const {
  const toml::table& table = section(section_name);
  const toml::node* node = table.get(key);
  return node == nullptr ? table.source() : node->source();
}

std::string ScenarioFile::resolved(const std::string& written) const {
  return (folder / written).lexically_normal().string();
}

namespace {

// Every table but the arrays must be one, so that section() may take an absent one as empty.
void read_top(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.root, "", kTopKeys, file.problems);
  int64_t seed = 1;
  reader.read_int64("seed", seed, 0, INT64_MAX);
  scenario.seed = static_cast<uint64_t>(seed);
  for (const char* name : {"model", "parallelism", "cluster", "network", "compute", "routing", "run",
                           "mixnet", "control", "prices"}) {
    reader.read_table(name);
  }
}

}  // namespace

Result<Scenario> read_scenario(const std::string& path, const std::vector<std::string>& overrides) {
  std::vector<Override> placed;
  for (const std::string& entry : overrides) {
    placed.push_back({entry});
  }
  return read_overridden_scenario(path, placed);
}

Result<Scenario> read_overridden_scenario(const std::string& path,
                                          const std::vector<Override>& overrides) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) {
    return error_at(path, "the file is empty: a scenario starts with [model]; examples/ has some");
  }
  Result<toml::table> root = parse_toml(*text, path);
  if (!root.ok()) {
    return root.error();
  }
  for (const Override& change : overrides) {
    if (Status applied = apply_override(*root, change); !applied.ok()) {
      return applied.error();
    }
  }
  Problems problems(path);
  const ScenarioFile file{*root, std::filesystem::path(path).parent_path(), problems};
  Scenario scenario;
  void (*const steps[])(const ScenarioFile&, Scenario&) = {&read_top,
                                                           &read_model_section,
                                                           &read_parallelism_section,
                                                           &read_cluster_section,
                                                           &read_network_section,
                                                           &read_compute_section,
                                                           &read_run_section,
                                                           &read_routing_section,
                                                           &read_prices_section,
                                                           &read_fabrics,
                                                           &read_failures};
  for (const auto step : steps) {
    step(file, scenario);
    if (!problems.none()) {
      return problems.first();
    }
  }
  return scenario;
}

}  // namespace mixnet::scenario
