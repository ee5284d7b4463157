#pragma once

#include <cstdint>

namespace mixnet::cli {

// What this process has used so far.
struct ProcessUsage {
  double cpu_s = 0;  // user and system, all threads
  int64_t peak_rss_bytes = 0;
};

ProcessUsage process_usage();

}  // namespace mixnet::cli
