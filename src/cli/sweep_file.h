#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/result.h"

// Results of a sweep: one JSON object a line, each with the `id` of its point.
namespace mixnet::cli {

struct SweepLine {
  std::string id;
  std::string text;     // without the line break
  int number = 1;       // in the file
  bool failed = false;  // it says `error` instead of `fabrics`
};

// The lines of `text`. What follows the last line break is a line that was being written when the
// program was stopped, and is dropped. Every other line must be an object with an `id`, else the
// file is not of a sweep: the error names `file` and the line.
Result<std::vector<SweepLine>> sweep_lines(const std::string& text, const std::string& file);

// The same of the file at `path`.
Result<std::vector<SweepLine>> read_sweep_lines(const std::string& path);

// The results file of a running sweep: one writer, and whole lines only.
class SweepFile {
 public:
  // Opens `path` or makes it, and holds a lock on it until the object ends. Of what is there,
  // half-written and failed lines are dropped, by way of a temporary file. Fails if another process
  // writes it, or if it is not a file of results.
  static Result<SweepFile> open(const std::string& path);
  ~SweepFile();
  SweepFile(SweepFile&& other) noexcept;
  SweepFile(const SweepFile&) = delete;
  SweepFile& operator=(const SweepFile&) = delete;
  SweepFile& operator=(SweepFile&&) = delete;

  // What was there when it was opened.
  const std::vector<SweepLine>& kept() const { return kept_; }
  // Adds a line, safe on the disk when this returns.
  Status append(const std::string& line);

 private:
  SweepFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Status read();
  Status rewrite(const std::string& text);
  Error failure(const char* what) const;

  std::string path_;
  int descriptor_;
  std::vector<SweepLine> kept_;
};

}  // namespace mixnet::cli
