#pragma once

#include <string>

#include "core/units.h"

namespace mixnet {

// Dense peak rates of one GPU; NVLink is one direction.
struct GpuSpec {
  std::string name;
  double bf16_tflops = 0;
  double fp8_tflops = 0;
  double hbm_gbytes_per_s = 0;
  double nvlink_gbytes_per_s = 0;
};

// Identical servers; a server is what shares one NVSwitch.
struct Cluster {
  int servers = 0;
  int gpus_per_server = 8;
  int nics_per_server = 8;
  int numa_nodes = 2;  // per server; NICs are spread evenly over them
  BitRate nic_rate;    // of one NIC, one direction
  GpuSpec gpu;
  std::string nic;  // catalogue name, empty if only the rate is known

  int gpus() const { return servers * gpus_per_server; }
};

// Who may send over a NIC of a server.
enum class NicUse {
  kPooled,  // every GPU, through NVLink and a delegation GPU
  kPinned,  // the GPUs of the rank beside it; fat-trees and rails only, as circuits need delegation
};

// Settings of the network that are the same for every fabric of one comparison.
struct NetworkSettings {
  Bytes packet_payload{4096};
  Bytes packet_header{64};
  bool headers = true;                         // charge the header of every packet
  SimTime link_latency = SimTime::from_us(1);  // propagation and switching, per link of a path
  SimTime nvlink_latency = SimTime::from_us(1);
  NicUse nics = NicUse::kPooled;
};

}  // namespace mixnet
