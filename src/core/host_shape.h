#pragma once

#include <vector>

#include "core/units.h"

namespace mixnet {

// GPUs and NICs of one host. GPU i uses NIC nic_of_gpu[i].
struct HostShape {
  std::vector<int> nic_of_gpu;
  std::vector<BitRate> nic_rate;  // of every NIC, > 0
  BitRate nvlink_rate;            // of every GPU in one direction; 0 if not known
};

}  // namespace mixnet
