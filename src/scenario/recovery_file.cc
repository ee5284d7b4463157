#include "scenario/recovery_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "scenario/expert_map.h"
#include "scenario/table_reader.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

constexpr int64_t kMostRecoveryGpus = 1 << 16;
constexpr int64_t kMostLayers = 4096;
constexpr int64_t kMostExperts = 1 << 16;
// A map beyond this is a typing error and would fill the memory.
constexpr int64_t kMostCells = int64_t{1} << 26;
constexpr SimTime kMostPart = SimTime::from_ms(60'000);
constexpr double kMostReload_s = 1e6;  // of everything over one link; a time holds 9e6 s

constexpr KeySpec kRecoveryTopKeys[] = {
    {"deployment", "[deployment]", true},
    {"cache", "[cache]", true},
    {"costs", "[costs]", true},
};

constexpr KeySpec kDeploymentKeys[] = {
    {"experts", "160", true},
    {"gpus", "64", true},
    {"gpus_per_host", "8", true},
    {"placement", "\"placement.json\""},
    {"layers", "62"},
    {"slots_per_gpu", "3"},
    {"spare_slots", "4"},
    {"first_layer", "0"},
};

constexpr KeySpec kCacheKeys[] = {
    {"kind", "\"ring\"", true},
    {"copies", "2"},
    {"on_disk", "true"},
};

constexpr KeySpec kCostsKeys[] = {
    {"expert", "\"45MiB\"", true},      {"host_to_gpu", "\"50GB/s\"", true},
    {"network", "\"400Gbps\"", true},   {"disk", "\"6GB/s\""},
    {"detection", "\"1ms\"", true},     {"setup", "\"100ms\"", true},
    {"layer_time", "\"1200us\"", true},
};

// The map of a file, or experts in turn.
void read_map(TableReader& reader, const std::string& folder, ExpertMap& map) {
  std::string placement;
  reader.read_text("placement", placement);
  int layers = 0;
  reader.read_int("layers", layers, 1, kMostLayers);
  reader.read_int("slots_per_gpu", map.slots_per_gpu, 1, 1 << 16);
  const bool round = reader.has("layers") && reader.has("slots_per_gpu");
  if (reader.has("placement") ? reader.has("layers") || reader.has("slots_per_gpu") : !round) {
    reader.problem("placement",
                   "give either `placement = \"placement.json\"`, or `layers` and "
                   "`slots_per_gpu` for experts in turn");
    return;
  }
  const int64_t slots = int64_t{map.gpus} * map.slots_per_gpu;
  if (round && slots * layers > kMostCells) {
    reader.problem("layers", fmt::format("{} slots in all are more than {}: check `gpus`, "
                                         "`slots_per_gpu` and `layers`",
                                         slots * layers, kMostCells));
    return;
  }
  if (round) {
    std::vector<int> row(static_cast<std::size_t>(slots));
    for (std::size_t s = 0; s < row.size(); ++s) {
      row[s] = static_cast<int>(s) % map.experts;
    }
    map.layers.assign(static_cast<std::size_t>(layers), row);
    return;
  }
  const std::string path = (std::filesystem::path(folder) / placement).lexically_normal().string();
  Result<std::vector<std::vector<int>>> read = read_expert_map(path, map.experts);
  if (!read.ok()) {
    reader.problem("placement", read.error().text());
    return;
  }
  const std::size_t width = read->front().size();
  if (width % static_cast<std::size_t>(map.gpus) != 0) {
    reader.problem("placement",
                   fmt::format("the {} slots of {} do not share out over {} GPUs: correct `gpus`, "
                               "or fill GPUs that have fewer slots with -1",
                               width, path, map.gpus));
    return;
  }
  map.slots_per_gpu = static_cast<int>(width) / map.gpus;
  map.layers = std::move(read).value();
}

// An expert that no slot holds would be lost before anything fails.
void check_experts(TableReader& reader, const ExpertMap& map) {
  for (std::size_t l = 0; l < map.layers.size(); ++l) {
    std::vector<uint8_t> placed(static_cast<std::size_t>(map.experts));
    for (const int e : map.layers[l]) {
      if (e >= 0) {
        placed[static_cast<std::size_t>(e)] = 1;
      }
    }
    for (std::size_t e = 0; e < placed.size(); ++e) {
      if (placed[e] == 0) {
        reader.problem(
            reader.has("placement") ? "placement" : "slots_per_gpu",
            fmt::format("layer {} has no slot for expert {}: every expert needs one", l, e));
        return;
      }
    }
  }
}

void read_deployment(TableReader reader, const std::string& folder, RecoveryProblem& problem) {
  ExpertMap& map = problem.map;
  reader.read_int("experts", map.experts, 1, kMostExperts);
  reader.read_int("gpus", map.gpus, 1, kMostRecoveryGpus);
  reader.read_int("gpus_per_host", map.gpus_per_host, 1, kMostRecoveryGpus);
  reader.read_int("spare_slots", problem.spare_slots, 0, 1 << 16);
  if (map.experts < 1 || map.gpus < 1) {
    return;  // reported
  }
  read_map(reader, folder, map);
  if (map.layers.empty()) {
    return;
  }
  check_experts(reader, map);
  reader.read_int("first_layer", problem.first_layer, 0,
                  static_cast<int64_t>(map.layers.size()) - 1);
}

void read_cache(TableReader reader, RecoveryProblem& problem) {
  reader.read_choice<ExpertCache>("kind", problem.cache,
                                  {{"none", ExpertCache::kNone},
                                   {"own", ExpertCache::kOwn},
                                   {"ring", ExpertCache::kRing},
                                   {"all", ExpertCache::kAll}});
  reader.read_int("copies", problem.cache_copies, 1, kMostRecoveryGpus);
  if (reader.has("copies") && problem.cache != ExpertCache::kRing) {
    reader.problem("copies", "`copies` is for `kind = \"ring\"`");
  }
  if (problem.cache_copies > problem.map.hosts()) {
    reader.problem("copies", fmt::format("{} copies in {} hosts: at most one per host",
                                         problem.cache_copies, problem.map.hosts()));
  }
  reader.read_bool("on_disk", problem.costs.on_disk);
}

void read_part(TableReader& reader, const char* key, SimTime& time) {
  reader.read_time(key, time);
  if (time > kMostPart) {
    reader.problem(key, fmt::format("`{}` is at most 60 s", key));
  }
}

// All experts of all layers one after another over any way still take a time.
void check_transfers(TableReader& reader, const RecoveryCosts& costs, const ExpertMap& map) {
  const double bits = 8 * static_cast<double>(costs.expert.count()) * map.experts *
                      static_cast<double>(map.layers.size());
  for (const auto& [key, rate] :
       {std::pair("host_to_gpu", costs.host_to_gpu), std::pair("network", costs.network),
        std::pair("disk", costs.disk)}) {
    if (rate.bps() > 0 && bits / static_cast<double>(rate.bps()) > kMostReload_s) {
      reader.problem(key, fmt::format("all experts take more than {} s at this rate: give a higher "
                                      "`{}` or a smaller `expert`",
                                      kMostReload_s, key));
    }
  }
}

void read_costs(TableReader reader, const ExpertMap& map, RecoveryCosts& costs) {
  reader.read_bytes("expert", costs.expert);
  if (reader.has("expert") && costs.expert.count() < 1) {
    reader.problem("expert", "`expert` must be at least 1B");
  }
  reader.read_rate("host_to_gpu", costs.host_to_gpu);
  reader.read_rate("network", costs.network);
  reader.read_rate("disk", costs.disk);
  if (costs.on_disk && !reader.has("disk")) {
    reader.problem("disk", "add `disk = \"6GB/s\"`, or `on_disk = false` in [cache]");
  }
  read_part(reader, "detection", costs.detection);
  read_part(reader, "setup", costs.setup);
  read_part(reader, "layer_time", costs.layer);
  check_transfers(reader, costs, map);
}

}  // namespace

Result<RecoveryProblem> parse_recovery_file(std::string_view text, const std::string& path) {
  const Result<toml::table> root = parse_toml(text, path);
  if (!root.ok()) {
    return root.error();
  }
  Problems problems(path);
  TableReader top(*root, "", kRecoveryTopKeys, problems);
  RecoveryProblem problem;
  const toml::table* const deployment = top.read_table("deployment");
  const toml::table* const cache = top.read_table("cache");
  const toml::table* const costs = top.read_table("costs");
  if (deployment != nullptr && cache != nullptr && costs != nullptr && problems.none()) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    read_deployment(TableReader(*deployment, "[deployment]", kDeploymentKeys, problems), folder,
                    problem);
    if (problems.none()) {
      read_cache(TableReader(*cache, "[cache]", kCacheKeys, problems), problem);
      read_costs(TableReader(*costs, "[costs]", kCostsKeys, problems), problem.map, problem.costs);
    }
  }
  if (!problems.none()) {
    return problems.first();
  }
  return problem;
}

Result<RecoveryProblem> read_recovery_file(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  return parse_recovery_file(*text, path);
}

}  // namespace mixnet::scenario
