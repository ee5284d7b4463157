#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "scenario/scenario.h"
#include "scenario/table_reader.h"

// The parts of read_scenario(): one function per table of the file. Each reports into `problems`
// and may be called only while there are none, because later tables are checked against earlier
// ones.
namespace mixnet::scenario {

struct ScenarioFile {
  const toml::table& root;
  std::filesystem::path folder;  // relative paths in the file start here
  Problems& problems;

  // The section's table; a shared empty one if it is absent.
  const toml::table& section(std::string_view name) const;
  // Where `key` of `section` is written; the section if it is not; the file if that is not.
  toml::source_region where(std::string_view section, std::string_view key) const;
  std::string resolved(const std::string& written) const;
};

void read_model_section(const ScenarioFile& file, Scenario& scenario);
void read_parallelism_section(const ScenarioFile& file, Scenario& scenario);
void read_cluster_section(const ScenarioFile& file, Scenario& scenario);
void read_network_section(const ScenarioFile& file, Scenario& scenario);
void read_compute_section(const ScenarioFile& file, Scenario& scenario);
void read_run_section(const ScenarioFile& file, Scenario& scenario);
void read_routing_section(const ScenarioFile& file, Scenario& scenario);
void read_prices_section(const ScenarioFile& file, Scenario& scenario);
void read_fabrics(const ScenarioFile& file, Scenario& scenario);
void read_failures(const ScenarioFile& file, Scenario& scenario);

}  // namespace mixnet::scenario
