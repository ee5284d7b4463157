#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/routing.h"

namespace mixnet::scenario {

// What the numbers of a trace mean; the JSON side file next to the .npy.
struct TraceInfo {
  std::string model;           // empty if unknown
  int top_k = 0;               // 0 if unknown
  std::string source_kind;     // what a source is: "ep-rank", "corpus", ...
  std::string iteration_kind;  // what an iteration is: "iteration", "micro-batch", ...
  std::string origin;          // how it was made: generator and parameters, or imported file

  bool operator==(const TraceInfo&) const = default;
};

// Extent of a trace: iterations, layers, sources, experts; each >= 1.
using TraceShape = std::array<int64_t, 4>;

// A routing trace that owns its memory: a mapped .npy file or a generated array. Copies share it.
class RoutingTrace {
 public:
  // Takes ownership of counts[iterations * layers * sources * experts].
  static RoutingTrace from_counts(std::vector<uint32_t> counts, int64_t iterations, int64_t layers,
                                  int64_t sources, int64_t experts, TraceInfo info);
  // Maps a NumPy .npy file of little-endian uint32, C order, 4 dimensions; memory stays with the
  // kernel, so a trace larger than memory works. Reads `PATH` with .npy replaced by .json if it
  // is there. Errors name the file and what was found instead. The file must not shrink while the
  // trace is in use.
  static Result<RoutingTrace> map(const std::string& path);

  const RoutingView& view() const { return view_; }
  const TraceInfo& info() const { return info_; }
  // The same counts, sharing the memory, with another meaning.
  RoutingTrace with_info(TraceInfo info) const;
  TraceShape shape() const {
    return {view_.iterations, view_.layers, view_.sources, view_.experts};
  }

 private:
  RoutingView view_;
  TraceInfo info_;
  std::shared_ptr<const void> memory_;
};

// Writes the .npy and its side file, each to a temporary name first. Errors as of TraceWriter.
Status write_trace(const RoutingTrace& trace, const std::string& path);

}  // namespace mixnet::scenario
