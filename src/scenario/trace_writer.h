#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "core/result.h"
#include "scenario/trace.h"

namespace mixnet::scenario {

// Writes a trace row by row, so that it may be larger than memory. The data goes to PATH.tmp;
// commit() renames it and its side file. Without commit() nothing is left behind.
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
  // An open file that is deleted unless it was renamed to its final name.
  class PendingFile {
   public:
    static Result<PendingFile> create(const std::string& final_path);
    PendingFile(PendingFile&& other) noexcept;
    PendingFile& operator=(PendingFile&&) = delete;
    PendingFile(const PendingFile&) = delete;
    PendingFile& operator=(const PendingFile&) = delete;
    ~PendingFile();

    Status write(const void* bytes, std::size_t size);
    Status close();   // everything has reached the kernel
    Status rename();  // after close()

   private:
    PendingFile(std::FILE* file, std::string final_path, std::string temporary_path);
    Error cannot_write() const;

    std::FILE* file_;
    std::string final_path_;
    std::string temporary_path_;  // empty once renamed or moved from
  };

  TraceWriter(PendingFile file, std::string path, const TraceShape& shape, int64_t missing);

  PendingFile file_;
  std::string path_;
  TraceShape shape_;
  int64_t missing_;  // counts not appended yet
};

}  // namespace mixnet::scenario
