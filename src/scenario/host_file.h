#pragma once

#include <string>
#include <string_view>

#include "core/host_shape.h"
#include "core/result.h"

namespace mixnet::scenario {

// Reads what one host of a cluster looks like, for placement:
//
//   [host]
//   gpus = 8
//   nics = 4                  # consecutive GPUs share a NIC, as evenly as they divide
//   nic_rate = "400Gbps"      # of every NIC, or one each: nic_rates = ["400Gbps", "200Gbps", ...]
//   nvlink_rate = "450GB/s"   # of every GPU in one direction; may be left out
//
// With more NICs than GPUs every GPU has equally many of its own, which count as one of their sum.
// Errors name file and line: unknown or missing keys, values out of range, rates for another number
// of NICs, NICs that do not divide over fewer GPUs.
Result<HostShape> read_host_shape(const std::string& path);
Result<HostShape> parse_host_shape(std::string_view text, const std::string& name);

}  // namespace mixnet::scenario
