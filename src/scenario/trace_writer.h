#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.h"
#include "scenario/pending_file.h"
#include "scenario/trace.h"

namespace mixnet::scenario {

// Writes a trace row by row, so that it may be larger than memory. Both it and its side
// file appear at commit(). Without commit() nothing is left behind.
class TraceWriter {
 public:
  // `path` must end in .npy. Fails if it does not, if the shape is empty or too large, if the file
  // cannot be created, or if the side file would overwrite a JSON file of another kind.
  static Result<TraceWriter> create(const std::string& path, const TraceShape& shape);

  TraceWriter(TraceWriter&&) = default;
  TraceWriter& operator=(TraceWriter&&) = delete;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter() = default;

  // The next counts in C order: usually one row [expert] of one source.
  Status append(std::span<const uint32_t> counts);

  // Finishes both files. All counts of the shape have been appended. Call it once.
  Status commit(const TraceInfo& info);

 private:
  TraceWriter(PendingFile file, std::string path, const TraceShape& shape, int64_t missing);

  PendingFile file_;
  std::string path_;
  TraceShape shape_;
  int64_t missing_;  // counts not appended yet
};

}  // namespace mixnet::scenario
