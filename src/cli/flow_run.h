#pragma once

#include <vector>

#include "core/fabric_spec.h"
#include "core/result.h"
#include "core/units.h"
#include "scenario/flow_file.h"

namespace mixnet::cli {

// The network that a flow set runs on. One NIC per host, all links of one rate.
struct FlowRunOptions {
  // kFatTree: three tiers, non-blocking, of the smallest even switch radix K with K^3/4 >= hosts;
  //   host i is on ToR i / (K/2); paths have 2, 4 or 6 links.
  // kFatTreeOversubscribed: the same with ToR uplinks and downlinks thinner by `oversubscription`.
  // kIdeal: one non-blocking switch without latency and headers, the lower bound.
  FabricKind topology = FabricKind::kFatTree;
  double oversubscription = 1;
  BitRate rate;
  SimTime latency;       // per link
  bool headers = false;  // add a header to every packet; the last one may be short
  Bytes packet_payload = Bytes(4150);
  Bytes packet_header = Bytes(64);
};

struct FlowRun {
  std::vector<SimTime> completion;  // per flow: from its start to the delivery of its last byte
  SimTime makespan;                 // when the last byte of all is delivered
  int switch_radix = 0;             // K; 0 for the ideal network
};

// Runs the flows on the fluid network. Fails if they do not end within the range of SimTime.
Result<FlowRun> run_flows(const scenario::FlowSet& set, const FlowRunOptions& options);

// Smallest, mean, value at index floor(0.99 n) of the sorted completions, and largest.
struct CompletionStats {
  double min_us = 0;
  double mean_us = 0;
  double p99_us = 0;
  double max_us = 0;
};
CompletionStats completion_stats(std::vector<SimTime> completion);

// Bytes on the wire: the payload and one header per packet.
Bytes wire_bytes(Bytes payload, const FlowRunOptions& options);

// What a fluid network leaves out, with its measured error per class of traffic.
extern const char* const kFluidNote;

}  // namespace mixnet::cli
