// The fabrics to compare: [mixnet], [control] and [[fabric]].
#include <fmt/format.h>

#include <algorithm>

#include "scenario/catalog.h"
#include "scenario/names.h"
#include "scenario/scenario_keys.h"
#include "scenario/scenario_sections.h"

namespace mixnet::scenario {
namespace {

// A delay that is written as one time does not vary, whatever was inherited.
void read_constant(TableReader& reader, std::string_view key, Delay& delay) {
  if (reader.has(key)) {
    delay.p99 = SimTime();
  }
  reader.read_time(key, delay.mean);
}

void use_switch(TableReader& reader, MixnetSettings& mixnet) {
  std::string name;
  reader.read_text("switch", name);
  if (name.empty()) {
    return;
  }
  if (reader.has("ocs_ports")) {
    reader.problem("ocs_ports", "give either `switch` or `ocs_ports`, not both");
    return;
  }
  const Result<OcsEntry> entry = builtin_catalog().find_ocs(name);
  if (!entry.ok()) {
    reader.problem("switch", entry.error().message);
    return;
  }
  mixnet.ocs_ports = entry->ports;
  if (reader.has("switch_time")) {
    return;
  }
  if (!entry->switch_max.has_value()) {
    reader.problem("switch", fmt::format("the switching time of `{}` is not known: add "
                                         "`switch_time = \"25ms\"` beside it",
                                         entry->info.name));
    return;
  }
  mixnet.switch_time = {*entry->switch_max, SimTime()};
}

// A time, or a NIC whose re-link time is meant.
void read_relink_time(TableReader& reader, MixnetSettings& mixnet) {
  std::string text;
  reader.read_text("relink_time", text);
  if (text.empty()) {
    return;
  }
  const bool is_time = (text[0] >= '0' && text[0] <= '9') || text[0] == '-' || text[0] == '+';
  if (is_time) {
    read_constant(reader, "relink_time", mixnet.relink_time);
    return;
  }
  const Result<NicEntry> nic = builtin_catalog().find_nic(text);
  if (!nic.ok()) {
    reader.problem("relink_time", fmt::format("`relink_time` must be a time like \"5.67s\" or a "
                                              "NIC: {}",
                                              nic.error().message));
    return;
  }
  if (!nic->relink_mean.has_value()) {
    reader.problem("relink_time", fmt::format("the re-link time of `{}` is not known: write a "
                                              "time like \"5.67s\" (measured for connectx-6)",
                                              nic->info.name));
    return;
  }
  mixnet.relink_time = {*nic->relink_mean, nic->relink_p99.value_or(SimTime())};
}

// The 99th percentile that makes a delay vary, if it is written.
void read_p99(TableReader& reader, const std::string& key, Delay& delay) {
  const std::string of = key.substr(0, key.size() - std::string("_p99").size());
  reader.read_time(key, delay.p99);
  if (!reader.has(key)) {
    return;
  }
  if (delay.p99 < delay.mean) {
    reader.problem(key, fmt::format("`{}` is the 99th percentile: it must be at least the mean "
                                    "`{}`, {} s",
                                    key, of, delay.mean.seconds()));
  } else if (delay.p99.seconds() > kMostSpread * delay.mean.seconds()) {
    reader.problem(key, fmt::format("`{}` must be at most {} times the mean `{}`, {} s: no "
                                    "log-normal distribution has both",
                                    key, kMostSpread, of, delay.mean.seconds()));
  }
}

void read_mixnet_keys(TableReader& reader, MixnetSettings& mixnet) {
  reader.read_int("alpha", mixnet.alpha, 1, 1024);
  reader.read_int("ocs_ports", mixnet.ocs_ports, 2, 1 << 20);
  use_switch(reader, mixnet);
  read_constant(reader, "switch_time", mixnet.switch_time);
  read_relink_time(reader, mixnet);
  read_p99(reader, "switch_time_p99", mixnet.switch_time);
  read_p99(reader, "relink_time_p99", mixnet.relink_time);
}

void read_control_keys(TableReader& reader, MixnetSettings& mixnet) {
  reader.read_choice<Allocator>("allocator", mixnet.allocator,
                                {{"algorithm1", Allocator::kAlgorithm1},
                                 {"released", Allocator::kReleased},
                                 {"split", Allocator::kSplit},
                                 {"relay", Allocator::kRelay}});
  reader.read_choice<Cadence>("cadence", mixnet.cadence,
                              {{"never", Cadence::kNever},
                               {"once", Cadence::kOnce},
                               {"every", Cadence::kEvery},
                               {"iteration", Cadence::kIteration},
                               {"stage", Cadence::kStage},
                               {"layer", Cadence::kLayer},
                               {"auto", Cadence::kAuto}});
  reader.read_int("every", mixnet.every, 1, 1'000'000);
  reader.read_choice<ChangeScope>(
      "scope", mixnet.scope, {{"whole", ChangeScope::kWhole}, {"partial", ChangeScope::kPartial}});
  reader.read_choice<Darkness>("darkness", mixnet.darkness,
                               {{"block", Darkness::kBlock}, {"detour", Darkness::kDetour}});
  reader.read_time("control_delay", mixnet.control_delay);
  reader.read_choice<DispatchMode>("dispatch", mixnet.dispatch,
                                   {{"block", DispatchMode::kBlock},
                                    {"predict", DispatchMode::kPredict},
                                    {"reuse", DispatchMode::kReuse}});
  reader.read_choice<Predictor>("predictor", mixnet.predictor,
                                {{"unchanged", Predictor::kUnchanged},
                                 {"average", Predictor::kAverage},
                                 {"copilot", Predictor::kCopilot},
                                 {"best", Predictor::kBest}});
}

// Settings that do nothing unless another one has a certain value.
void check_control(TableReader& reader, const MixnetSettings& mixnet) {
  if (reader.has("every") && mixnet.cadence != Cadence::kEvery) {
    reader.problem("every", fmt::format("`every` counts iterations between re-wirings with "
                                        "`cadence = \"every\"`, this has \"{}\"",
                                        cadence_name(mixnet.cadence)));
  }
  if (reader.has("predictor") && mixnet.dispatch != DispatchMode::kPredict) {
    reader.problem("predictor", fmt::format("`predictor` is asked with `dispatch = \"predict\"`, "
                                            "this has \"{}\"",
                                            dispatch_mode_name(mixnet.dispatch)));
  }
}

std::vector<KeySpec> keys_of_fabrics() {
  std::vector<KeySpec> keys(std::begin(kFabricKeys), std::end(kFabricKeys));
  keys.insert(keys.end(), std::begin(kMixnetKeys), std::end(kMixnetKeys));
  keys.insert(keys.end(), std::begin(kControlKeys), std::end(kControlKeys));
  return keys;
}

void refuse_mixnet_keys(TableReader& reader, const FabricSpec& fabric) {
  const auto refuse = [&](const KeySpec& spec) {
    if (reader.has(spec.name)) {
      reader.problem(spec.name, fmt::format("`{}` is only for `mixnet` fabrics, this is `{}`",
                                            spec.name, fabric_kind_name(fabric.kind)));
    }
  };
  std::for_each(std::begin(kMixnetKeys), std::end(kMixnetKeys), refuse);
  std::for_each(std::begin(kControlKeys), std::end(kControlKeys), refuse);
}

// A label is printed and must not pass for another fabric.
void check_label(TableReader& reader, const FabricSpec& fabric) {
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (fabric.name.empty() || std::any_of(fabric.name.begin(), fabric.name.end(), control)) {
    reader.problem("label", "`label` must be printable text on one line");
  }
  for (const FabricKind kind :
       {FabricKind::kIdeal, FabricKind::kFatTree, FabricKind::kFatTreeOversubscribed,
        FabricKind::kRailOptimized, FabricKind::kTopoOpt, FabricKind::kMixnet}) {
    if (kind != fabric.kind && fabric.name == fabric_kind_name(kind)) {
      reader.problem("label",
                     fmt::format("`label = \"{}\"` is the name of another fabric: say what "
                                 "is special about this {}",
                                 fabric.name, fabric_kind_name(fabric.kind)));
    }
  }
}

void read_placement(TableReader& reader, FabricSpec& fabric) {
  reader.read_choice<ExpertPlacement>("placement", fabric.placement,
                                      {{"fixed", ExpertPlacement::kFixed},
                                       {"eplb", ExpertPlacement::kEplb},
                                       {"nic-aware", ExpertPlacement::kNicAware},
                                       {"joint", ExpertPlacement::kJoint}});
  reader.read_int("placement_every", fabric.placement_every, 1, 1'000'000);
  if (fabric.placement == ExpertPlacement::kJoint && fabric.kind != FabricKind::kMixnet) {
    reader.problem("placement", fmt::format("`joint` decides experts and circuits together, and "
                                            "`{}` has no circuits to decide: use `nic-aware`",
                                            fabric_kind_name(fabric.kind)));
  }
  if (fabric.placement == ExpertPlacement::kFixed && reader.has("placement_every")) {
    reader.problem("placement_every",
                   "`placement_every` counts iterations between plans, and a fixed placement has "
                   "none: add `placement = \"nic-aware\"`");
  }
}

FabricSpec read_fabric(TableReader& reader, const Cluster& cluster, const MixnetSettings& shared) {
  FabricSpec fabric;
  reader.read_choice<FabricKind>("name", fabric.kind,
                                 {{"fat-tree", FabricKind::kFatTree},
                                  {"fat-tree-oversubscribed", FabricKind::kFatTreeOversubscribed},
                                  {"rail-optimized", FabricKind::kRailOptimized},
                                  {"topoopt", FabricKind::kTopoOpt},
                                  {"mixnet", FabricKind::kMixnet},
                                  {"ideal", FabricKind::kIdeal}});
  fabric.name = fabric_kind_name(fabric.kind);
  reader.read_text("label", fabric.name);
  check_label(reader, fabric);
  reader.read_int("switch_radix", fabric.switch_radix, 4, 1 << 16);
  if (fabric.switch_radix % 2 != 0) {
    reader.problem("switch_radix",
                   "`switch_radix` must be even: half of a leaf's ports face the "
                   "servers");
  }
  if (fabric.kind == FabricKind::kFatTreeOversubscribed) {
    reader.read_number("oversubscription", fabric.oversubscription, 1, 64);
    if (!reader.has("oversubscription")) {
      reader.problem("", "`fat-tree-oversubscribed` needs `oversubscription = 3` (3:1)");
    }
  } else if (reader.has("oversubscription")) {
    reader.problem("oversubscription", "`oversubscription` is only for `fat-tree-oversubscribed`");
  }
  if (fabric.kind == FabricKind::kTopoOpt && cluster.servers > 2 && cluster.nics_per_server < 2) {
    reader.problem("name",
                   "`topoopt` joins servers directly: with one NIC each, more than two "
                   "cannot be connected; give `nics_per_server` at least 2");
  }
  if (fabric.kind == FabricKind::kMixnet) {
    fabric.mixnet = shared;
    read_mixnet_keys(reader, fabric.mixnet);
    read_control_keys(reader, fabric.mixnet);
    check_control(reader, fabric.mixnet);
  } else {
    fabric.mixnet.alpha = shared.alpha;  // how many NICs `eps-nics` breaks on any fabric
    refuse_mixnet_keys(reader, fabric);
  }
  read_placement(reader, fabric);
  return fabric;
}

// The key in the fabric itself, else in [mixnet], else the fabric.
toml::source_region where_of(const ScenarioFile& file, const toml::table& fabric,
                             std::string_view key) {
  if (fabric.contains(key)) {
    return fabric.get(key)->source();
  }
  return file.section("mixnet").contains(key) ? file.where("mixnet", key) : fabric.source();
}

// The key that decided the number of ports.
const char* ports_key(const ScenarioFile& file, const toml::table& fabric) {
  const toml::table& decides =
      fabric.contains("switch") || fabric.contains("ocs_ports") ? fabric : file.section("mixnet");
  return decides.contains("switch") ? "switch" : "ocs_ports";
}

void check_region(const ScenarioFile& file, const toml::table& table, const FabricSpec& fabric,
                  const Study& study) {
  const int nics = study.cluster.nics_per_server;
  const int alpha = fabric.mixnet.alpha;
  if (alpha >= nics) {
    file.problems.add(where_of(file, table, "alpha"),
                      fmt::format("`alpha` is {} of {} NICs per server: at least one must stay on "
                                  "the electrical fabric, so at most {}",
                                  alpha, nics, nics - 1));
    return;
  }
  const int group = study.parallelism.ep * study.parallelism.tp;
  const int servers = std::max(1, group / study.cluster.gpus_per_server);
  const int64_t ports = int64_t{servers} * alpha;
  if (ports > fabric.mixnet.ocs_ports) {
    file.problems.add(
        where_of(file, table, ports_key(file, table)),
        fmt::format("a region is one expert-parallel group of {} servers with {} optical NICs "
                    "each, {} ports, but the optical switch has {}: use a larger switch, a "
                    "smaller `ep` or an `alpha` of at most {}",
                    servers, alpha, ports, fabric.mixnet.ocs_ports,
                    fabric.mixnet.ocs_ports / servers));
  }
}

}  // namespace

void read_fabrics(const ScenarioFile& file, Scenario& scenario) {
  MixnetSettings shared;
  TableReader mixnet(file.section("mixnet"), "[mixnet]", kMixnetKeys, file.problems);
  TableReader control(file.section("control"), "[control]", kControlKeys, file.problems);
  read_mixnet_keys(mixnet, shared);
  read_control_keys(control, shared);
  const std::vector<KeySpec> keys = keys_of_fabrics();
  TableReader top(file.root, "", kTopKeys, file.problems);
  std::vector<FabricSpec>& fabrics = scenario.study.fabrics;
  for (const toml::table* table : top.read_tables("fabric")) {
    TableReader reader(*table, "[[fabric]]", keys, file.problems);
    const FabricSpec fabric = read_fabric(reader, scenario.study.cluster, shared);
    const bool taken = std::any_of(fabrics.begin(), fabrics.end(),
                                   [&](const FabricSpec& f) { return f.name == fabric.name; });
    if (taken) {
      reader.problem(
          reader.has("label") ? "label" : "name",
          fmt::format("a second fabric is called `{}`: give it a `label` of its own", fabric.name));
    }
    if (fabric.kind == FabricKind::kMixnet && file.problems.none()) {
      check_region(file, *table, fabric, scenario.study);
    }
    fabrics.push_back(fabric);
  }
  if (fabrics.empty()) {
    top.problem("fabric",
                "add at least one [[fabric]], for example [[fabric]] with `name = "
                "\"fat-tree\"`");
  }
}

}  // namespace mixnet::scenario
