#include "scenario/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "scenario/catalog.h"
#include "scenario/hf_config.h"
#include "scenario/table_reader.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

constexpr KeySpec kDeploymentTopKeys[] = {
    {"model", "[model]", true}, {"cluster", "[cluster]", true}, {"serving", "[serving]", true},
    {"compute", "[compute]"},   {"precision", "[precision]"},   {"transport", "[transport]"},
    {"skew", "[skew]"},         {"measured", "[[measured]]"},
};
constexpr KeySpec kServedModelKeys[] = {
    {"name", "\"deepseek-r1\""},
    {"config", "\"config.json\""},
};
constexpr KeySpec kServingClusterKeys[] = {
    {"gpu", "\"h20\"", true},       {"nic_rate", "\"400Gbps\"", true}, {"gpus_per_server", "8"},
    {"nics_per_server", "4", true}, {"cross_rail_slowdown", "1.0"},
};
constexpr KeySpec kServingKeys[] = {
    {"ep", "32", true},
    {"batches", "[8, 16, 32]", true},
    {"phase", "\"decode\""},
    {"context", "4096"},
};
constexpr KeySpec kServingComputeKeys[] = {
    {"efficiency", "0.7"}, {"memory_efficiency", "0.9"}, {"nvlink_efficiency", "1.0"},
    {"sm_share", "0.15"},  {"launch", "\"2us\""},        {"other", "\"1ms\""},
};
constexpr KeySpec kPrecisionKeys[] = {
    {"weight_bytes", "1"},
    {"dispatch_bytes", "1"},
    {"combine_bytes", "2"},
    {"cache_bytes", "2"},
};
constexpr KeySpec kTransportKeys[] = {
    {"direct", "{ latency = \"20us\", kernel = \"33us\" }"},
    {"nvlink", "{ latency = \"23us\", kernel = \"54us\" }"},
    {"relay", "{ latency = \"59us\", kernel = \"73us\" }"},
};
constexpr KeySpec kOverheadKeys[] = {
    {"latency", "\"20us\"", true},
    {"kernel", "\"33us\"", true},
};
constexpr KeySpec kSkewKeys[] = {
    {"imbalance", "3.5"}, {"gpu", "1.4"}, {"nic", "1.3"}, {"host", "1.1"}, {"host_copies", "1.2"},
};
constexpr KeySpec kMeasuredKeys[] = {
    {"batch", "16", true}, {"attention", "\"139us\""}, {"dispatch", "\"88us\""},
    {"gemm", "\"69us\""},  {"combine", "\"64us\""},    {"transport", "\"nvlink\""},
};

constexpr int kMostBatch = 1 << 20;
constexpr SimTime kLongestTime = SimTime::from_ms(1000);  // of one part of a layer
constexpr std::size_t kMostBatches = 1000;
constexpr double kMostSkew = 1e6;

// Reads the sections of one file into a deployment.
class DeploymentReader {
 public:
  DeploymentReader(const toml::table& root, const std::string& file)
      : root_(root), folder_(std::filesystem::path(file).parent_path()), problems_(file) {}

  Result<Deployment> read() {
    void (DeploymentReader::*const steps[])() = {
        &DeploymentReader::read_top,       &DeploymentReader::read_model,
        &DeploymentReader::read_cluster,   &DeploymentReader::read_serving,
        &DeploymentReader::read_compute,   &DeploymentReader::read_precision,
        &DeploymentReader::read_transport, &DeploymentReader::read_skew,
        &DeploymentReader::read_measured};
    for (const auto step : steps) {
      (this->*step)();
      if (!problems_.none()) {
        return problems_.first();
      }
    }
    return deployment_;
  }

 private:
  // Every section is a table.
  void read_top() {
    TableReader top(root_, "", kDeploymentTopKeys, problems_);
    for (const char* name :
         {"model", "cluster", "serving", "compute", "precision", "transport", "skew"}) {
      top.read_table(name);
    }
    top.read_tables("measured");
  }

  const toml::table& section(std::string_view name) const {
    static const toml::table empty;
    const toml::table* table = root_.get_as<toml::table>(name);
    return table == nullptr ? empty : *table;
  }

  void read_model() {
    TableReader reader(section("model"), "[model]", kServedModelKeys, problems_);
    std::string name;
    std::string config;
    reader.read_text("name", name);
    reader.read_text("config", config);
    if (!problems_.none()) {
      return;
    }
    if (name.empty() == config.empty()) {
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
      deployment_.model = entry->model;
      return;
    }
    const Result<MoeModel> model = read_hf_config((folder_ / config).string());
    if (!model.ok()) {
      reader.problem("config", fmt::format("`{}`: {}", config, model.error().message));
      return;
    }
    deployment_.model = *model;
  }

  void read_cluster() {
    TableReader reader(section("cluster"), "[cluster]", kServingClusterKeys, problems_);
    Deployment& d = deployment_;
    std::string gpu;
    reader.read_text("gpu", gpu);
    reader.read_rate("nic_rate", d.nic_rate);
    reader.read_int("gpus_per_server", d.gpus_per_host, 1, 1024);
    reader.read_int("nics_per_server", d.nics_per_host, 1, 1024);
    reader.read_number("cross_rail_slowdown", d.cross_rail_slowdown, 1, 1000);
    if (!problems_.none()) {
      return;
    }
    const Result<GpuEntry> entry = builtin_catalog().find_gpu(gpu);
    if (!entry.ok()) {
      reader.problem("gpu", entry.error().message);
      return;
    }
    d.gpu = entry->gpu;
    if (d.gpus_per_host % d.nics_per_host != 0 && d.nics_per_host % d.gpus_per_host != 0) {
      reader.problem("nics_per_server",
                     fmt::format("{} NICs and {} GPUs per server: one must be a multiple of the "
                                 "other, so that every GPU has the same share of NICs",
                                 d.nics_per_host, d.gpus_per_host));
    }
  }

  void read_serving() {
    TableReader reader(section("serving"), "[serving]", kServingKeys, problems_);
    Deployment& d = deployment_;
    reader.read_int("ep", d.ep, 1, 65536);
    reader.read_choice("phase", d.phase,
                       {{"decode", Phase::kDecode}, {"forward", Phase::kForward}});
    reader.read_int("context", d.context, 1, 1 << 24);
    read_batches(reader);
    if (!problems_.none()) {
      return;
    }
    if (d.ep > d.gpus_per_host && d.ep % d.gpus_per_host != 0) {
      reader.problem(
          "ep", fmt::format("`ep` is {}: the group must fit one server of {} GPUs or "
                            "fill whole servers, for example {}",
                            d.ep, d.gpus_per_host, (d.ep / d.gpus_per_host + 1) * d.gpus_per_host));
    } else if (d.ep > d.model.experts) {
      reader.problem("ep", fmt::format("`ep` is {}, but `{}` has {} experts: use at most {}", d.ep,
                                       d.model.name, d.model.experts, d.model.experts));
    }
  }

  void read_batches(TableReader& reader) {
    const toml::array* values = reader.table().get_as<toml::array>("batches");
    if (values == nullptr || values->empty() || values->size() > kMostBatches) {
      reader.problem("batches",
                     "`batches` must be an array of 1 to 1000 batch sizes, tokens per "
                     "GPU: write it like `batches = [8, 16, 32]`");
      return;
    }
    for (const toml::node& node : *values) {
      const auto* number = node.as_integer();
      if (number == nullptr || number->get() < 1 || number->get() > kMostBatch) {
        reader.problem("batches", fmt::format("value {} of `batches` must be a whole number from 1 "
                                              "to {}, tokens per GPU",
                                              deployment_.batches.size() + 1, kMostBatch));
        return;
      }
      const int batch = static_cast<int>(number->get());
      if (std::count(deployment_.batches.begin(), deployment_.batches.end(), batch) > 0) {
        reader.problem("batches", fmt::format("`batches` has {} twice: drop one", batch));
        return;
      }
      deployment_.batches.push_back(batch);
    }
  }

  void read_compute() {
    TableReader reader(section("compute"), "[compute]", kServingComputeKeys, problems_);
    Deployment& d = deployment_;
    reader.read_number("efficiency", d.compute_efficiency, 0.001, 1);
    reader.read_number("memory_efficiency", d.memory_efficiency, 0.001, 1);
    reader.read_number("nvlink_efficiency", d.nvlink_efficiency, 0.001, 1);
    reader.read_number("sm_share", d.sm_share, 0, 1);
    read_part_time(reader, "launch", d.launch);
    read_part_time(reader, "other", d.other);
  }

  void read_precision() {
    TableReader reader(section("precision"), "[precision]", kPrecisionKeys, problems_);
    Deployment& d = deployment_;
    reader.read_number("weight_bytes", d.weight_bytes, 0.1, 4);
    reader.read_number("dispatch_bytes", d.dispatch_bytes, 0.1, 4);
    reader.read_number("combine_bytes", d.combine_bytes, 0.1, 4);
    reader.read_number("cache_bytes", d.cache_bytes, 0.1, 4);
  }

  void read_transport() {
    const toml::table& table = section("transport");
    TableReader reader(table, "[transport]", kTransportKeys, problems_);
    TransportOverheads& overheads = deployment_.overheads;
    const auto read = [&](const char* name, TransportOverhead& overhead) {
      if (const toml::table* entry = reader.read_table(name)) {
        TableReader fields(*entry, fmt::format("[transport.{}]", name), kOverheadKeys, problems_);
        read_part_time(fields, "latency", overhead.latency);
        read_part_time(fields, "kernel", overhead.kernel);
      }
    };
    read("direct", overheads.direct);
    read("nvlink", overheads.nvlink);
    read("relay", overheads.relay);
  }

  void read_skew() {
    TableReader reader(section("skew"), "[skew]", kSkewKeys, problems_);
    Deployment& d = deployment_;
    if (reader.has("imbalance")) {
      double imbalance = 1;
      // A token picks an expert once, so no expert gets more than all tokens.
      const double most = static_cast<double>(d.model.experts) / d.model.top_k;
      reader.read_number("imbalance", imbalance, 1, most);
      d.imbalance = imbalance;
      for (const char* other : {"gpu", "nic", "host", "host_copies"}) {
        if (reader.has(other)) {
          reader.problem(other, fmt::format("`{}` and `imbalance` exclude each other: keep "
                                            "`imbalance`, the busiest expert over the mean, or the "
                                            "ratios of GPU, NIC and host",
                                            other));
          return;
        }
      }
      return;
    }
    reader.read_number("gpu", d.skew.gpu, 1, kMostSkew);
    reader.read_number("nic", d.skew.nic, 1, kMostSkew);
    reader.read_number("host", d.skew.host, 1, kMostSkew);
    d.skew.host_copies = d.skew.host;
    reader.read_number("host_copies", d.skew.host_copies, 1, kMostSkew);
  }

  void read_measured() {
    TableReader top(root_, "", kDeploymentTopKeys, problems_);
    for (const toml::table* table : top.read_tables("measured")) {
      TableReader reader(*table, "[[measured]]", kMeasuredKeys, problems_);
      MeasuredLayer row;
      reader.read_int("batch", row.batch, 1, kMostBatch);
      reader.read_choice("transport", row.transport,
                         {{"direct", Transport::kDirect},
                          {"nvlink", Transport::kNvlink},
                          {"relay", Transport::kRelay},
                          {"relay-copies", Transport::kRelayCopies}});
      read_measured_time(reader, "attention", row.attention);
      read_measured_time(reader, "dispatch", row.dispatch);
      read_measured_time(reader, "gemm", row.gemm);
      read_measured_time(reader, "combine", row.combine);
      if (!row.attention && !row.dispatch && !row.gemm && !row.combine) {
        reader.problem("batch",
                       "this [[measured]] has no time: add `attention`, `dispatch`, `gemm` or "
                       "`combine`, or remove it");
      }
      if (!problems_.none()) {
        return;
      }
      for (const MeasuredLayer& other : deployment_.measured) {
        if (other.batch == row.batch && other.transport == row.transport) {
          reader.problem("batch", fmt::format("batch {} is measured twice: keep one [[measured]] "
                                              "for each batch and transport",
                                              row.batch));
          return;
        }
      }
      deployment_.measured.push_back(row);
    }
    std::stable_sort(
        deployment_.measured.begin(), deployment_.measured.end(),
        [](const MeasuredLayer& a, const MeasuredLayer& b) { return a.batch < b.batch; });
  }

  static void read_part_time(TableReader& reader, const char* key, SimTime& value) {
    reader.read_time(key, value);
    if (value > kLongestTime) {
      reader.problem(key,
                     fmt::format("`{}` must be at most 1s: no part of a step takes longer", key));
    }
  }

  static void read_measured_time(TableReader& reader, const char* key,
                                 std::optional<SimTime>& value) {
    if (!reader.has(key)) {
      return;
    }
    SimTime time = SimTime::from_ps(1);
    read_part_time(reader, key, time);
    if (time == SimTime()) {
      reader.problem(
          key, fmt::format("`{}` must be longer than 0: leave it out to have it computed", key));
    }
    value = time;
  }

  const toml::table& root_;
  std::filesystem::path folder_;
  Problems problems_;
  Deployment deployment_;
};

}  // namespace

Result<Deployment> parse_deployment(std::string_view text, const std::string& file) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return error_at(file, "the file is empty: examples/deployment-deepseek-h20.toml is a start");
  }
  const Result<toml::table> root = parse_toml(text, file);
  if (!root.ok()) {
    return root.error();
  }
  return DeploymentReader(*root, file).read();
}

Result<Deployment> read_deployment(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  return parse_deployment(*text, path);
}

}  // namespace mixnet::scenario
