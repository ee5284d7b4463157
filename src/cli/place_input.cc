#include "cli/place_input.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenario/load_table.h"
#include "scenario/text_file.h"
#include "scenario/trace.h"

namespace mixnet::cli {
namespace {

LayerLoads sum_of_trace(const RoutingView& trace) {
  LayerLoads sum;
  const auto layers = static_cast<std::size_t>(trace.layers);
  const auto experts = static_cast<std::size_t>(trace.experts);
  sum.loads = Matrix<int64_t>(layers, experts, 0);
  sum.sources.assign(layers, Matrix<double>(static_cast<std::size_t>(trace.sources), experts));
  for (int64_t i = 0; i < trace.iterations; ++i) {
    for (std::size_t l = 0; l < layers; ++l) {
      for (int64_t s = 0; s < trace.sources; ++s) {
        const auto row = trace.row(i, static_cast<int64_t>(l), s);
        for (std::size_t e = 0; e < experts; ++e) {
          sum.loads(l, e) += row[e];
          sum.sources[l](static_cast<std::size_t>(s), e) += row[e];
        }
      }
    }
  }
  return sum;
}

}  // namespace

Result<LayerLoads> read_layer_loads(const std::string& path) {
  if (path.ends_with(".npy")) {
    const Result<scenario::RoutingTrace> trace = scenario::RoutingTrace::map(path);
    if (!trace) {
      return trace.error();
    }
    return sum_of_trace(trace->view());
  }
  Result<Matrix<int64_t>> loads = scenario::read_loads(path);
  if (!loads) {
    return loads.error();
  }
  return LayerLoads{std::move(loads).value(), {}};
}

Matrix<double> sources_by_gpu(const Matrix<double>& sources, std::size_t gpus) {
  const std::size_t n = sources.rows();
  if (n == 0 || (n % gpus != 0 && gpus % n != 0)) {
    return {};
  }
  Matrix<double> result(gpus, sources.cols(), 0);
  const double part = n < gpus ? static_cast<double>(n) / static_cast<double>(gpus) : 1;
  for (std::size_t i = 0; i < std::max(n, gpus); ++i) {
    const std::size_t source = n < gpus ? i * n / gpus : i;
    const std::size_t gpu = n < gpus ? i : i * gpus / n;
    for (std::size_t e = 0; e < sources.cols(); ++e) {
      result(gpu, e) += sources(source, e) * part;
    }
  }
  return result;
}

Result<std::vector<std::vector<int>>> read_current(const std::string& path, std::size_t layers) {
  const Result<std::string> text = scenario::read_text_file(path);
  if (!text) {
    return text.error();
  }
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(*text);
  } catch (const nlohmann::json::exception& problem) {
    return error_at(path, fmt::format("not valid JSON: {}", problem.what()));
  }
  const char* const wanted =
      "expected {\"layers\": [{\"phy2log\": [0, 1, ...]}, ...]}, as `mixnet place --json` prints "
      "it";
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_array()) {
    return error_at(path, wanted);
  }
  std::vector<std::vector<int>> maps;
  for (const nlohmann::json& layer : json["layers"]) {
    if (!layer.is_object() || !layer.contains("phy2log") || !layer["phy2log"].is_array()) {
      return error_at(path, fmt::format("layer {}: {}", maps.size(), wanted));
    }
    std::vector<int> map;
    for (const nlohmann::json& e : layer["phy2log"]) {
      if (!e.is_number_integer() || e.get<int64_t>() < 0 || e.get<int64_t>() > INT32_MAX) {
        return error_at(path, fmt::format("layer {}, slot {}: {} is not the number of an expert",
                                          maps.size(), map.size(), e.dump()));
      }
      map.push_back(e.get<int>());
    }
    maps.push_back(std::move(map));
  }
  if (maps.size() != layers) {
    return error_at(path, fmt::format("it has {} layers, and the loads have {}: give a map for "
                                      "every layer",
                                      maps.size(), layers));
  }
  return maps;
}

}  // namespace mixnet::cli
