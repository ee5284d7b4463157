#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace mixnet::cli {

// Progress of long work on standard error. On a terminal a bar, redrawn in place at most ten times
// a second and erased at the end; elsewhere a line every five seconds, so that short work leaves
// logs alone. Call update() after every piece of work. For one thread.
class Progress {
 public:
  // `out` stays open for the life of the object.
  explicit Progress(std::string label, std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;

  // `done` of `total` pieces of work, 0 <= done <= total, total > 0.
  void update(int64_t done, int64_t total);
  // `share` of the work in [0, 1] is done, which is told as `counts`: "3 of 10 points".
  void update_share(double share, const std::string& counts);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  std::FILE* out_;
  bool terminal_;
  Clock::time_point start_;
  Clock::time_point next_;  // nothing is shown before
  bool shown_ = false;      // a bar is on the terminal's line
};

// "simulating [######--------------] 30 %, 3 of 10, 14 s left"; without the time while nothing is
// done.
std::string progress_text(const std::string& label, int64_t done, int64_t total, double elapsed_s);
// The same for work whose pieces differ in size.
std::string share_text(const std::string& label, double share, const std::string& counts,
                       double elapsed_s);

}  // namespace mixnet::cli
