#include "scenario/catalog.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include "scenario/names.h"
#include "scenario/table_reader.h"

namespace mixnet::scenario {
namespace {

constexpr int kMostCatalogCount = 1 << 24;

std::vector<KeySpec> with_info(std::vector<KeySpec> keys) {
  keys.push_back({"name", "\"mixtral-8x7b\"", true});
  keys.push_back({"aliases", "[\"mixtral\"]"});
  keys.push_back({"source", "\"where the numbers come from\"", true});
  keys.push_back({"note", "\"what they leave out\""});
  return keys;
}

EntryInfo read_info(TableReader& reader) {
  EntryInfo info;
  reader.read_text("name", info.name);
  reader.read_texts("aliases", info.aliases);
  reader.read_text("source", info.source);
  reader.read_text("note", info.note);
  return info;
}

ModelEntry read_model(TableReader& reader) {
  ModelEntry entry{read_info(reader), {}};
  MoeModel& m = entry.model;
  m.name = entry.info.name;
  reader.read_int("hidden", m.hidden, 1, kMostCatalogCount);
  reader.read_int("layers", m.layers, 1, kMostCatalogCount);
  reader.read_int("first_dense", m.first_dense, 0, m.layers);
  reader.read_int("moe_every", m.moe_every, 1, kMostCatalogCount);
  reader.read_int("dense_ffn", m.dense_ffn, 0, kMostCatalogCount);
  reader.read_int("experts", m.experts, 1, kMostCatalogCount);
  reader.read_int("top_k", m.top_k, 1, m.experts);
  reader.read_int("expert_ffn", m.expert_ffn, 1, kMostCatalogCount);
  reader.read_int("shared_experts", m.shared_experts, 0, kMostCatalogCount);
  reader.read_int("shared_ffn", m.shared_ffn, 0, kMostCatalogCount);
  m.dispatch_width = m.hidden;
  reader.read_int("query_heads", m.query_heads, 1, kMostCatalogCount);
  reader.read_int("kv_heads", m.kv_heads, 1, kMostCatalogCount);
  reader.read_int("head_dim", m.head_dim, 1, kMostCatalogCount);
  reader.read_int("q_lora_rank", m.q_lora_rank, 0, kMostCatalogCount);
  reader.read_int("kv_lora_rank", m.kv_lora_rank, 0, kMostCatalogCount);
  reader.read_int("vocab", m.vocab, 1, kMostCatalogCount);
  return entry;
}

GpuEntry read_gpu(TableReader& reader) {
  GpuEntry entry{read_info(reader), {}};
  entry.gpu.name = entry.info.name;
  reader.read_number("bf16_tflops", entry.gpu.bf16_tflops, 1, 1e6);
  reader.read_number("fp8_tflops", entry.gpu.fp8_tflops, 0, 1e6);
  reader.read_number("hbm_gbytes_per_s", entry.gpu.hbm_gbytes_per_s, 1, 1e6);
  reader.read_number("nvlink_gbytes_per_s", entry.gpu.nvlink_gbytes_per_s, 1, 1e6);
  return entry;
}

NicEntry read_nic(TableReader& reader) {
  NicEntry entry;
  entry.info = read_info(reader);
  reader.read_rate("max_rate", entry.max_rate);
  reader.read_time("relink_mean", entry.relink_mean);
  reader.read_time("relink_p99", entry.relink_p99);
  return entry;
}

OcsEntry read_ocs(TableReader& reader) {
  OcsEntry entry;
  entry.info = read_info(reader);
  reader.read_int("ports", entry.ports, 1, kMostCatalogCount);
  reader.read_time("switch_min", entry.switch_min);
  reader.read_time("switch_max", entry.switch_max);
  return entry;
}

CalibrationEntry read_calibration(TableReader& reader) {
  CalibrationEntry entry;
  entry.info = read_info(reader);
  reader.read_text("model", entry.model);
  reader.read_int("tp", entry.tp, 1, kMostCatalogCount);
  reader.read_int("sequence_length", entry.sequence_length, 1, kMostCatalogCount);
  reader.read_int("micro_batch_size", entry.times.micro_batch_size, 1, kMostCatalogCount);
  reader.read_time("attention", entry.times.attention);
  reader.read_time("gate", entry.times.gate);
  reader.read_time("expert", entry.times.expert);
  reader.read_time("add_norm", entry.times.add_norm);
  reader.read_time("dispatch", entry.times.dispatch);
  reader.read_time("combine", entry.times.combine);
  entry.times.source = entry.info.source;
  return entry;
}

PriceRow read_price_row(TableReader& reader) {
  PriceRow row;
  reader.read_int("gbps", row.gbps, 1, kMostCatalogCount);
  reader.read_number("transceiver", row.transceiver, 0, 1e9);
  reader.read_number("nic", row.nic, 0, 1e9);
  reader.read_number("eps_port", row.eps_port, 0, 1e9);
  reader.read_number("ocs_port", row.ocs_port, 0, 1e9);
  reader.read_number("patch_panel_port", row.patch_panel_port, 0, 1e9);
  reader.read_number("fiber", row.fiber, 0, 1e9);
  return row;
}

// A catalogue file is an array of tables of one kind.
template <typename Entry>
Status read_entries(const std::string& text, const std::string& file, const char* array,
                    const std::vector<KeySpec>& keys, Entry (*read)(TableReader&),
                    std::vector<Entry>& entries) {
  const Result<toml::table> root = parse_toml(text, file);
  if (!root.ok()) {
    return root.error();
  }
  Problems problems(file);
  const KeySpec top[] = {{array, "[[...]]", true}};
  TableReader top_reader(*root, "", top, problems);
  for (const toml::table* table : top_reader.read_tables(array)) {
    TableReader reader(*table, std::string("[[") + array + "]]", keys, problems);
    entries.push_back(read(reader));
  }
  return problems.none() ? Status() : Status(problems.first());
}

Status read_prices(const std::string& text, PriceList& prices) {
  const std::string file = "prices.toml";
  const Result<toml::table> root = parse_toml(text, file);
  if (!root.ok()) {
    return root.error();
  }
  Problems problems(file);
  const KeySpec top[] = {{"source", "\"...\"", true}, {"rows", "[[...]]", true}};
  const KeySpec keys[] = {{"gbps", "400", true},     {"transceiver", "659", true},
                          {"nic", "1499", true},     {"eps_port", "1090", true},
                          {"ocs_port", "520", true}, {"patch_panel_port", "100", true},
                          {"fiber", "150", true}};
  TableReader top_reader(*root, "", top, problems);
  top_reader.read_text("source", prices.source);
  for (const toml::table* table : top_reader.read_tables("rows")) {
    TableReader reader(*table, "[[rows]]", keys, problems);
    prices.rows.push_back(read_price_row(reader));
  }
  return problems.none() ? Status() : Status(problems.first());
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

template <typename Entry>
Result<Entry> find_entry(const std::vector<Entry>& entries, std::string_view kind,
                         std::string_view name) {
  const std::string wanted = lower(name);
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    const std::vector<std::string>& aliases = entry.info.aliases;
    if (entry.info.name == wanted ||
        std::find(aliases.begin(), aliases.end(), wanted) != aliases.end()) {
      return entry;
    }
    names.push_back(entry.info.name);
    names.insert(names.end(), aliases.begin(), aliases.end());
  }
  return Error{unknown_name(kind, wanted, names), ""};
}

const std::vector<KeySpec> model_keys() {
  return with_info({{"hidden", "4096", true},
                    {"layers", "32", true},
                    {"first_dense", "0", true},
                    {"moe_every", "1"},
                    {"dense_ffn", "0"},
                    {"experts", "8", true},
                    {"top_k", "2", true},
                    {"expert_ffn", "14336", true},
                    {"shared_experts", "0", true},
                    {"shared_ffn", "0"},
                    {"query_heads", "32", true},
                    {"kv_heads", "8", true},
                    {"head_dim", "128", true},
                    {"q_lora_rank", "0"},
                    {"kv_lora_rank", "0"},
                    {"vocab", "32000", true}});
}

}  // namespace

Result<Catalog> parse_catalog(const CatalogText& text) {
  const std::vector<KeySpec> gpu_keys = with_info({{"bf16_tflops", "989", true},
                                                   {"fp8_tflops", "1978"},
                                                   {"hbm_gbytes_per_s", "3350", true},
                                                   {"nvlink_gbytes_per_s", "450", true}});
  const std::vector<KeySpec> nic_keys = with_info(
      {{"max_rate", "\"400Gbps\""}, {"relink_mean", "\"5.67s\""}, {"relink_p99", "\"6.33s\""}});
  const std::vector<KeySpec> ocs_keys =
      with_info({{"ports", "576", true}, {"switch_min", "\"10ms\""}, {"switch_max", "\"25ms\""}});
  const std::vector<KeySpec> calibration_keys = with_info({{"model", "\"mixtral-8x7b\"", true},
                                                           {"tp", "4", true},
                                                           {"sequence_length", "4096", true},
                                                           {"micro_batch_size", "8", true},
                                                           {"attention", "\"78ms\""},
                                                           {"gate", "\"1ms\""},
                                                           {"expert", "\"148ms\""},
                                                           {"add_norm", "\"1ms\""},
                                                           {"dispatch", "\"61ms\""},
                                                           {"combine", "\"58ms\""}});
  Catalog c;
  const Status steps[] = {
      read_entries(text.models, "models.toml", "model", model_keys(), &read_model, c.models),
      read_entries(text.gpus, "gpus.toml", "gpu", gpu_keys, &read_gpu, c.gpus),
      read_entries(text.nics, "nics.toml", "nic", nic_keys, &read_nic, c.nics),
      read_entries(text.switches, "switches.toml", "switch", ocs_keys, &read_ocs, c.switches),
      read_entries(text.calibrations, "calibrations.toml", "calibration", calibration_keys,
                   &read_calibration, c.calibrations),
      read_prices(text.prices, c.prices)};
  for (const Status& step : steps) {
    if (!step.ok()) {
      return step.error();
    }
  }
  return c;
}

const Catalog& builtin_catalog() {
  static const Catalog kCatalog = [] {
    Result<Catalog> catalog = parse_catalog(builtin_catalog_text());
    CHECK(catalog.ok(), catalog.error().text().c_str());
    return std::move(catalog).value();
  }();
  return kCatalog;
}

Result<ModelEntry> Catalog::find_model(std::string_view name) const {
  return find_entry(models, "model", name);
}
Result<GpuEntry> Catalog::find_gpu(std::string_view name) const {
  return find_entry(gpus, "GPU", name);
}
Result<NicEntry> Catalog::find_nic(std::string_view name) const {
  return find_entry(nics, "NIC", name);
}
Result<OcsEntry> Catalog::find_ocs(std::string_view name) const {
  return find_entry(switches, "optical switch", name);
}
Result<CalibrationEntry> Catalog::find_calibration(std::string_view name) const {
  return find_entry(calibrations, "calibration", name);
}

int servers_served(const OcsEntry& ocs, int ocs_nics) {
  CHECK(ocs_nics > 0, "a server without optical NICs is not on the switch");
  return ocs.ports / ocs_nics;
}

}  // namespace mixnet::scenario
