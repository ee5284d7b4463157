#pragma once

#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/result.h"
#include "plan/place.h"

// What `mixnet place` reads, as problems for the planner.
namespace mixnet::cli {

struct LayerLoads {
  Matrix<int64_t> loads;  // [layers, E]
  // [layer]: [sources, E], tokens by where they start, or empty. From traces only.
  std::vector<Matrix<double>> sources;
};

// A CSV of counts, or a routing trace (.npy), of which all iterations are added up.
Result<LayerLoads> read_layer_loads(const std::string& path);

// Spreads what starts at equally many sources per GPU, or GPUs per source, over `gpus` GPUs: [D,
// E]. Empty if they do not divide.
Matrix<double> sources_by_gpu(const Matrix<double>& sources, std::size_t gpus);

// The placement in use: what `mixnet place --json` printed, or {"layers": [{"phy2log": [...]}]} of
// another program. [layer][slot]. Errors name the file.
Result<std::vector<std::vector<int>>> read_current(const std::string& path, std::size_t layers);

}  // namespace mixnet::cli
