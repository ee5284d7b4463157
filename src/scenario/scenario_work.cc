// What the job does: [compute], [routing], and what it is charged: [prices].
#include <fmt/format.h>

#include <algorithm>

#include "scenario/catalog.h"
#include "scenario/names.h"
#include "scenario/scenario_keys.h"
#include "scenario/scenario_sections.h"

namespace mixnet::scenario {
namespace {

bool same_blocks(const MoeModel& a, const MoeModel& b) {
  return a.hidden == b.hidden && a.experts == b.experts && a.top_k == b.top_k &&
         a.expert_ffn == b.expert_ffn;
}

// Measured times hold for the model, the tensor split and the sequence that they were taken at.
void use_calibration(TableReader& reader, const std::string& name, Scenario& scenario) {
  const Result<CalibrationEntry> entry = builtin_catalog().find_calibration(name);
  if (!entry.ok()) {
    reader.problem("calibration", entry.error().message);
    return;
  }
  const Result<ModelEntry> measured = builtin_catalog().find_model(entry->model);
  CHECK(measured.ok(), "a calibration names a model of the catalogue");
  const Parallelism& p = scenario.study.parallelism;
  if (!same_blocks(measured->model, scenario.study.model)) {
    reader.problem("calibration",
                   fmt::format("`{}` was measured on `{}`, not on `{}`", entry->info.name,
                               entry->model, scenario.study.model.name));
  } else if (p.tp != entry->tp || p.sequence_length != entry->sequence_length) {
    reader.problem(
        "calibration",
        fmt::format("`{}` was measured with tp = {} and sequence_length = {}, the "
                    "scenario has {} and {}",
                    entry->info.name, entry->tp, entry->sequence_length, p.tp, p.sequence_length));
  }
  scenario.study.compute.measured = entry->times;
}

void read_own_times(TableReader& reader, LayerTimes& times) {
  reader.read_time("attention", times.attention);
  reader.read_time("gate", times.gate);
  reader.read_time("expert", times.expert);
  reader.read_time("add_norm", times.add_norm);
  reader.read_int("micro_batch_size", times.micro_batch_size, 1, 1 << 16);
  const bool any = times.attention.has_value() || times.gate.has_value() ||
                   times.expert.has_value() || times.add_norm.has_value();
  if (any && !reader.has("micro_batch_size")) {
    reader.problem("micro_batch_size",
                   "measured layer times need the micro-batch that they were taken at: add "
                   "`micro_batch_size = 8` in [compute]");
  }
  if (!any && reader.has("micro_batch_size")) {
    reader.problem("micro_batch_size",
                   "`micro_batch_size` in [compute] belongs to measured layer times "
                   "(`attention`, `gate`, `expert`, `add_norm`), of which none is given; the "
                   "job's own is in [parallelism]");
  }
  if (any) {
    times.source = "the scenario file";
  }
}

void read_generator(TableReader& reader, Scenario& scenario) {
  GeneratorOptions& g = scenario.routing.generator;
  const Parallelism& p = scenario.study.parallelism;
  const MoeModel& model = scenario.study.model;
  reader.read_choice<LoadShape>("generator", g.shape,
                                {{"log-normal", LoadShape::kLogNormal},
                                 {"zipf", LoadShape::kZipf},
                                 {"uniform", LoadShape::kUniform}});
  reader.read_number("skew", g.skew, 0, 10);
  reader.read_number("drift", g.drift, 0, 1);
  reader.read_int("hot_experts", g.hot_experts, 0, model.experts);
  reader.read_number("hot_share", g.hot_share, 0, 1);
  auto seed = static_cast<int64_t>(scenario.seed);
  reader.read_int64("seed", seed, 0, INT64_MAX);
  g.seed = static_cast<uint64_t>(seed);
  g.sources = p.ep;
  reader.read_int64("sources", g.sources, 1, int64_t{p.dp} * p.ep);
  if (g.sources != p.ep && g.sources != int64_t{p.dp} * p.ep) {
    reader.problem("sources", fmt::format("`sources` must be ep = {} (every copy of the experts "
                                          "sees the same routing) or dp * ep = {}, found {}",
                                          p.ep, int64_t{p.dp} * p.ep, g.sources));
  }
  const RoutingUse& use = scenario.study.routing;
  const int64_t steps = use.per_micro_batch ? p.micro_batches : 1;
  g.iterations = use.first_iteration + scenario.study.run.iterations * steps;
  g.layers = model.moe_layers();
  g.experts = model.experts;
  g.top_k = model.top_k;
  g.tokens = p.tokens_per_micro_batch();
  const Status valid = check_options(g);
  if (!valid.ok()) {
    reader.problem("generator", valid.error().message);
  }
}

// A generator makes one iteration more than are simulated: what was seen before it.
void read_routing_use(TableReader& reader, RoutingUse& use) {
  use.first_iteration = reader.has("generator") ? 1 : 0;
  reader.read_int64("first_iteration", use.first_iteration, 0, 1 << 30);
  reader.read_bool("per_micro_batch", use.per_micro_batch);
  reader.read_bool("repeat_layers", use.repeat_layers);
  reader.read_choice<bool>("counts", use.counts_are_weights, {{"exact", false}, {"weights", true}});
}

// Reports keys that do nothing with the chosen source of the counts.
void refuse_keys(TableReader& reader, std::initializer_list<const char*> keys,
                 const std::string& with) {
  for (const char* key : keys) {
    if (reader.has(key)) {
      reader.problem(key, fmt::format("`{}` has no effect with `{}`: remove it", key, with));
    }
  }
}

void override_row(TableReader& reader, PriceList& prices) {
  PriceRow given;
  reader.read_int("gbps", given.gbps, 1, 1 << 20);
  auto row = std::find_if(prices.rows.begin(), prices.rows.end(),
                          [&given](const PriceRow& r) { return r.gbps == given.gbps; });
  if (row == prices.rows.end()) {
    for (const KeySpec& spec : kPriceRowKeys) {
      if (!reader.has(spec.name)) {
        reader.problem("gbps", fmt::format("the catalogue has no prices for {} Gbps, so this row "
                                           "needs all of them: add `{} = {}`",
                                           given.gbps, spec.name, spec.example));
      }
    }
    prices.rows.push_back(given);
    row = prices.rows.end() - 1;
  }
  reader.read_number("transceiver", row->transceiver, 0, 1e9);
  reader.read_number("nic", row->nic, 0, 1e9);
  reader.read_number("eps_port", row->eps_port, 0, 1e9);
  reader.read_number("ocs_port", row->ocs_port, 0, 1e9);
  reader.read_number("patch_panel_port", row->patch_panel_port, 0, 1e9);
  reader.read_number("fiber", row->fiber, 0, 1e9);
}

}  // namespace

void read_compute_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("compute"), "[compute]", kComputeKeys, file.problems);
  ComputeSettings& compute = scenario.study.compute;
  reader.read_number("efficiency", compute.efficiency, 0.001, 1);
  reader.read_number("backward_factor", compute.backward_factor, 0, 10);
  reader.read_int("bytes_per_element", compute.bytes_per_element, 1, 8);
  reader.read_int("gradient_bytes", compute.gradient_bytes, 1, 8);
  std::string calibration;
  reader.read_text("calibration", calibration);
  if (!file.problems.none()) {
    return;
  }
  if (calibration.empty()) {
    read_own_times(reader, compute.measured);
    return;
  }
  refuse_keys(reader, {"attention", "gate", "expert", "add_norm", "micro_batch_size"},
              "calibration");
  use_calibration(reader, calibration, scenario);
}

void read_run_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("run"), "[run]", kRunKeys, file.problems);
  RunSettings& run = scenario.study.run;
  reader.read_int64("iterations", run.iterations, 1, 1'000'000);
  run.seed = scenario.seed;
}

void read_routing_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("routing"), "[routing]", kRoutingKeys, file.problems);
  RoutingInput& routing = scenario.routing;
  read_routing_use(reader, scenario.study.routing);
  const int given = static_cast<int>(reader.has("trace")) + static_cast<int>(reader.has("matrix")) +
                    static_cast<int>(reader.has("generator"));
  if (given != 1) {
    reader.problem("",
                   "[routing] needs exactly one of `trace` (a .npy file), `matrix` (a text "
                   "file) and `generator` (\"log-normal\", \"zipf\" or \"uniform\")");
    return;
  }
  if (reader.has("generator")) {
    refuse_keys(reader, {"repeat_layers", "counts"}, "generator");
    read_generator(reader, scenario);
    return;
  }
  const char* key = reader.has("trace") ? "trace" : "matrix";
  refuse_keys(reader, {"skew", "drift", "hot_experts", "hot_share", "seed", "sources"}, key);
  reader.read_text(key, routing.written);
  (reader.has("trace") ? routing.trace : routing.matrix) = file.resolved(routing.written);
}

void read_prices_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("prices"), "[prices]", kPricesKeys, file.problems);
  PriceList& prices = scenario.prices;
  prices = builtin_catalog().prices;
  const std::vector<const toml::table*> rows = reader.read_tables("rows");
  if (!rows.empty()) {
    prices.source += "; overridden in the scenario file";
  }
  reader.read_text("source", prices.source);
  for (const toml::table* table : rows) {
    TableReader row(*table, "[[prices.rows]]", kPriceRowKeys, file.problems);
    override_row(row, prices);
  }
}

}  // namespace mixnet::scenario
