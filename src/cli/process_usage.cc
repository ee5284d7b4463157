#include "cli/process_usage.h"

#include <sys/resource.h>

#include "core/check.h"

namespace mixnet::cli {
namespace {

double to_seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

}  // namespace

ProcessUsage process_usage() {
  rusage usage{};
  CHECK(getrusage(RUSAGE_SELF, &usage) == 0, "getrusage of this process");
  constexpr int64_t bytes_per_unit = 1024;  // ru_maxrss is in KiB
  return ProcessUsage{to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime),
                      usage.ru_maxrss * bytes_per_unit};
}

}  // namespace mixnet::cli
