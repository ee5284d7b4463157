#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.h"
#include "core/compute.h"
#include "core/moe_model.h"
#include "core/result.h"
#include "core/units.h"
#include "scenario/prices.h"

// What ships with the program: models, GPUs, NICs, optical switches, prices and measured layer
// times, each with the source of its numbers. The files are catalog/*.toml, embedded at build time.
namespace mixnet::scenario {

// What every entry has.
struct EntryInfo {
  std::string name;
  std::vector<std::string> aliases;  // other names that find it
  std::string source;                // where the numbers come from
  std::string note;                  // what they leave out; may be empty
};

struct ModelEntry {
  EntryInfo info;
  MoeModel model;
};

struct GpuEntry {
  EntryInfo info;
  GpuSpec gpu;
};

struct NicEntry {
  EntryInfo info;
  BitRate max_rate;                    // 0 = not known
  std::optional<SimTime> relink_mean;  // from re-wiring to link up
  std::optional<SimTime> relink_p99;
};

// An optical circuit switch. A switching time is a range because vendors state one.
struct OcsEntry {
  EntryInfo info;
  int ports = 0;
  std::optional<SimTime> switch_min;
  std::optional<SimTime> switch_max;
};

struct CalibrationEntry {
  EntryInfo info;
  std::string model;  // catalogue name of the measured model
  int tp = 0;
  int sequence_length = 0;
  LayerTimes times;
};

// The text of the catalogue files.
struct CatalogText {
  std::string models;
  std::string gpus;
  std::string nics;
  std::string switches;
  std::string prices;
  std::string calibrations;
};

struct Catalog {
  std::vector<ModelEntry> models;
  std::vector<GpuEntry> gpus;
  std::vector<NicEntry> nics;
  std::vector<OcsEntry> switches;
  std::vector<CalibrationEntry> calibrations;
  PriceList prices;

  // By name or alias, without regard to case. Errors name the nearest entries.
  Result<ModelEntry> find_model(std::string_view name) const;
  Result<GpuEntry> find_gpu(std::string_view name) const;
  Result<NicEntry> find_nic(std::string_view name) const;
  Result<OcsEntry> find_ocs(std::string_view name) const;
  Result<CalibrationEntry> find_calibration(std::string_view name) const;
};

// The embedded text, and the same parsed once.
CatalogText builtin_catalog_text();
const Catalog& builtin_catalog();

// Strict; errors name the file and line.
Result<Catalog> parse_catalog(const CatalogText& text);

// Servers that one switch connects if each brings `ocs_nics` optical NICs, one port per NIC.
int servers_served(const OcsEntry& ocs, int ocs_nics);

}  // namespace mixnet::scenario
