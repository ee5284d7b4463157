#pragma once

#include <string>
#include <vector>

#include "cli/sweep_file.h"
#include "cli/sweep_run.h"
#include "core/result.h"
#include "scenario/sweep.h"

namespace mixnet::cli {

// What the files of a sweep hold, put against its points.
struct SweepResults {
  std::vector<std::string> lines;    // [point], empty if there is none
  std::vector<std::size_t> missing;  // points without a line
  std::vector<std::size_t> failed;   // points whose line says `error`
  int repeated = 0;                  // lines that say again what another said
  int foreign = 0;                   // lines of another sweep or version, left out
};

// Adds the lines of one file after another.
class SweepCollector {
 public:
  explicit SweepCollector(const std::vector<SweepPoint>& points);

  // A result replaces a failure of the same point. Fails if two results of one point differ.
  Status add(const std::vector<SweepLine>& lines, const std::string& file);
  SweepResults results() const;

 private:
  struct Slot {
    std::string text;
    std::string place;
    bool failed = false;
  };
  std::vector<SweepPoint> points_;
  std::vector<std::pair<std::string, std::size_t>> index_;  // by id
  std::vector<Slot> slots_;
  int repeated_ = 0;
  int foreign_ = 0;
};

// `{"mixnet.alpha":3}` of up to ten points and how many more.
std::string sweep_point_list(const std::vector<SweepPoint>& points,
                             const std::vector<std::size_t>& which);

// The report of the results: curves, one page (report/sweep_html.h).
std::string sweep_report(const scenario::Sweep& sweep, const SweepResults& results);

}  // namespace mixnet::cli
