// The job and its machines: [model], [parallelism], [cluster], [network].
#include <fmt/format.h>

#include "scenario/catalog.h"
#include "scenario/hf_config.h"
#include "scenario/scenario_keys.h"
#include "scenario/scenario_sections.h"

namespace mixnet::scenario {
namespace {

void find_model(const ScenarioFile& file, TableReader& reader, Scenario& scenario) {
  std::string name;
  reader.read_text("name", name);
  reader.read_text("config", scenario.model_config);
  if (!file.problems.none()) {
    return;
  }
  if (name.empty() == scenario.model_config.empty()) {
    reader.problem("name",
                   "give either `name`, a model of the catalogue (`mixnet catalog models` lists "
                   "them), or `config`, the path of a Hugging Face config.json");
    return;
  }
  if (!name.empty()) {
    const Result<ModelEntry> entry = builtin_catalog().find_model(name);
    if (!entry.ok()) {
      reader.problem("name", entry.error().message);
      return;
    }
    scenario.study.model = entry->model;
    return;
  }
  const Result<MoeModel> model = read_hf_config(file.resolved(scenario.model_config));
  if (!model.ok()) {
    reader.problem("config", fmt::format("`{}`: {}", scenario.model_config, model.error().message));
    return;
  }
  scenario.study.model = *model;
}

void check_machine(const ScenarioFile& file, const Cluster& cluster) {
  const int gpus = cluster.gpus_per_server;
  const int nics = cluster.nics_per_server;
  if (gpus % nics != 0 && nics % gpus != 0) {
    file.problems.add(file.where("cluster", "nics_per_server"),
                      fmt::format("{} NICs and {} GPUs per server: one must be a multiple of the "
                                  "other, so that every GPU has the same share of NICs",
                                  nics, gpus));
  }
  if (nics % cluster.numa_nodes != 0) {
    file.problems.add(file.where("cluster", "numa_nodes"),
                      fmt::format("{} NICs cannot be spread evenly over {} NUMA nodes", nics,
                                  cluster.numa_nodes));
  }
}

// What would make the job fill the cluster.
std::string layout_advice(const Parallelism& p, const Cluster& cluster) {
  std::string advice;
  const int gpus = cluster.gpus();
  const int without_dp = p.tp * p.pp * p.ep;
  if (gpus % without_dp == 0) {
    advice = fmt::format("`dp = {}`", gpus / without_dp);
  }
  if (p.gpus() % cluster.gpus_per_server == 0) {
    advice += fmt::format("{}`servers = {}`", advice.empty() ? "" : " or ",
                          p.gpus() / cluster.gpus_per_server);
  }
  return advice.empty() ? fmt::format("choose factors whose product is {}", gpus)
                        : advice + " would fit";
}

void check_layout(const ScenarioFile& file, const Parallelism& p, const Cluster& cluster) {
  const int per_server = cluster.gpus_per_server;
  const int64_t job = int64_t{p.tp} * p.pp * p.dp * p.ep;
  constexpr int64_t kMostGpus = 1 << 30;
  if (job > kMostGpus) {
    file.problems.add(file.where("parallelism", "dp"),
                      fmt::format("tp * pp * dp * ep = {} GPUs is more than any cluster here may "
                                  "have ({})",
                                  job, kMostGpus));
    return;
  }
  if (per_server % p.tp != 0) {
    file.problems.add(file.where("parallelism", "tp"),
                      fmt::format("`tp` is {}, but a tensor-parallel group must stay inside a "
                                  "server of {} GPUs: use a divisor of {}",
                                  p.tp, per_server, per_server));
  }
  const int group = p.tp * p.ep;
  if (group % per_server != 0 && per_server % group != 0) {
    file.problems.add(file.where("parallelism", "ep"),
                      fmt::format("an expert-parallel group has ep * tp = {} * {} = {} GPUs: it "
                                  "must fill whole servers of {} GPUs or divide one evenly",
                                  p.ep, p.tp, group, per_server));
  }
  const int64_t stage = int64_t{p.tp} * p.dp * p.ep;
  if (stage % per_server != 0 && per_server % stage != 0) {
    file.problems.add(file.where("parallelism", "pp"),
                      fmt::format("a pipeline stage has dp * ep * tp = {} GPUs: it must fill whole "
                                  "servers of {} GPUs or divide one evenly",
                                  stage, per_server));
  }
  if (job != cluster.gpus()) {
    file.problems.add(
        file.where("parallelism", "dp"),
        fmt::format("tp * pp * dp * ep = {} * {} * {} * {} = {} GPUs, but the cluster has servers "
                    "* gpus_per_server = {} * {} = {}: {}",
                    p.tp, p.pp, p.dp, p.ep, job, cluster.servers, per_server, cluster.gpus(),
                    layout_advice(p, cluster)));
  }
}

}  // namespace

void read_model_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("model"), "[model]", kModelKeys, file.problems);
  find_model(file, reader, scenario);
  if (!file.problems.none()) {
    return;
  }
  MoeModel& model = scenario.study.model;
  reader.read_int("layers", model.layers, 1, model.layers);
  reader.read_int("experts", model.experts, model.top_k, 65536);
  if (file.problems.none() && model.moe_layers() < 1) {
    reader.problem("layers",
                   fmt::format("{} blocks of `{}` hold no MoE block (the first {} are dense, then "
                               "every {}. is MoE): use at least {}",
                               model.layers, model.name, model.first_dense, model.moe_every,
                               model.first_dense + model.moe_every));
  }
}

void read_parallelism_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("parallelism"), "[parallelism]", kParallelismKeys, file.problems);
  Parallelism& p = scenario.study.parallelism;
  const MoeModel& model = scenario.study.model;
  reader.read_int("tp", p.tp, 1, 1024);
  reader.read_int("pp", p.pp, 1, 1024);
  reader.read_int("dp", p.dp, 1, 1 << 20);
  reader.read_int("ep", p.ep, 1, 65536);
  reader.read_int("micro_batch_size", p.micro_batch_size, 1, 1 << 16);
  reader.read_int("micro_batches", p.micro_batches, 1, 1 << 16);
  reader.read_int("sequence_length", p.sequence_length, 1, 1 << 24);
  if (!file.problems.none()) {
    return;
  }
  if (p.pp > model.layers) {
    reader.problem("pp", fmt::format("`pp` is {}, but `{}` has {} blocks here: a stage needs at "
                                     "least one",
                                     p.pp, model.name, model.layers));
  }
  if (model.experts % p.ep != 0) {
    // To blame is the number of experts where that was changed, else the number of ranks.
    const std::string changed = file.section("model").contains("experts")
                                    ? fmt::format(", or a multiple of {} as `model.experts`", p.ep)
                                    : "";
    file.problems.add(
        changed.empty() ? file.where("parallelism", "ep") : file.where("model", "experts"),
        fmt::format("`{}` has {} experts, which {} expert-parallel ranks cannot "
                    "share evenly: use a divisor of {} as `ep`{}",
                    model.name, model.experts, p.ep, model.experts, changed));
  }
}

void read_cluster_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("cluster"), "[cluster]", kClusterKeys, file.problems);
  Cluster& cluster = scenario.study.cluster;
  std::string gpu;
  reader.read_int("servers", cluster.servers, 1, 1 << 20);
  reader.read_int("gpus_per_server", cluster.gpus_per_server, 1, 1024);
  reader.read_int("nics_per_server", cluster.nics_per_server, 1, 1024);
  cluster.numa_nodes = cluster.nics_per_server % 2 == 0 ? 2 : 1;
  reader.read_int("numa_nodes", cluster.numa_nodes, 1, 64);
  reader.read_rate("nic_rate", cluster.nic_rate);
  reader.read_text("gpu", gpu);
  reader.read_text("nic", cluster.nic);
  if (!file.problems.none()) {
    return;
  }
  const Result<GpuEntry> entry = builtin_catalog().find_gpu(gpu);
  if (!entry.ok()) {
    reader.problem("gpu", entry.error().message);
    return;
  }
  cluster.gpu = entry->gpu;
  if (!cluster.nic.empty()) {
    const Result<NicEntry> nic = builtin_catalog().find_nic(cluster.nic);
    if (!nic.ok()) {
      reader.problem("nic", nic.error().message);
      return;
    }
    cluster.nic = nic->info.name;
    if (nic->max_rate.bps() > 0 && cluster.nic_rate > nic->max_rate) {
      reader.problem("nic_rate",
                     fmt::format("`{}` has at most {} Gbps, `nic_rate` asks for {} Gbps",
                                 cluster.nic, nic->max_rate.gbps(), cluster.nic_rate.gbps()));
    }
  }
  check_machine(file, cluster);
  check_layout(file, scenario.study.parallelism, cluster);
}

void read_network_section(const ScenarioFile& file, Scenario& scenario) {
  TableReader reader(file.section("network"), "[network]", kNetworkKeys, file.problems);
  NetworkSettings& network = scenario.study.network;
  reader.read_bytes("packet_payload", network.packet_payload);
  reader.read_bytes("packet_header", network.packet_header);
  reader.read_bool("headers", network.headers);
  reader.read_time("link_latency", network.link_latency);
  reader.read_time("nvlink_latency", network.nvlink_latency);
  reader.read_choice<NicUse>("nics", network.nics,
                             {{"pooled", NicUse::kPooled}, {"pinned", NicUse::kPinned}});
  constexpr Bytes kMostPacket{1 << 20};
  if (network.packet_payload < Bytes(1) || network.packet_payload > kMostPacket) {
    reader.problem("packet_payload", "`packet_payload` must be between 1B and 1MiB");
  }
  if (network.packet_header > kMostPacket) {
    reader.problem("packet_header", "`packet_header` must be at most 1MiB");
  }
}

}  // namespace mixnet::scenario
