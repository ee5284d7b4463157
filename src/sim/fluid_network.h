#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/units.h"

namespace mixnet::sim {

// A fluid network: every flow has a rate, and the rates are max-min fair at every instant.
//
// Model. A link has a capacity in one direction. A flow sends `bytes` over a set of links at once;
// link l carries `fraction` of the flow's rate (1 on a single path; 1/k on each of k paths over
// which packets are sprayed; 2 if the flow crosses the link twice). A flow class of `multiplicity`
// m is m identical flows that each send `bytes` over the same links. Rates are the max-min fair
// allocation: raised together until a link is full, whose flows are then frozen.
//
// A transfer is a set of flow classes started together; it completes when its last byte is
// delivered. Latency, headers and routing are the caller's.
//
// Completion times are rounded up to whole picoseconds, flow by flow. Memory and time depend on
// the flows on their way and the links they use, never on the size of the network.
struct LinkShare {
  LinkId link;
  double fraction = 1.0;  // > 0
};

struct FlowClass {
  std::vector<LinkShare> path;  // empty: delivered at once
  Bytes bytes;
  int64_t multiplicity = 1;
};

using TransferId = int64_t;  // issued in starting order, from 0, never reused
using TemplateId = int32_t;

class FluidNetwork {
 public:
  // `capacity[l]` is the rate of LinkId l, >= 0 (0 = dark).
  explicit FluidNetwork(const std::vector<BitRate>& capacity);
  ~FluidNetwork();
  FluidNetwork(FluidNetwork&&) noexcept;
  FluidNetwork& operator=(FluidNetwork&&) noexcept;
  FluidNetwork(const FluidNetwork&) = delete;
  FluidNetwork& operator=(const FluidNetwork&) = delete;

  // Registers a set of flow classes that will be started many times. The evolution of a template
  // that meets no other traffic on its links is solved once and reused while the capacities of its
  // links last; a start then costs O(links). Results never depend on whether it was reused.
  // Templates with equal paths share them, so one costs 8 bytes a flow class.
  TemplateId define(const std::vector<FlowClass>& flows);

  // How long the template takes if it meets no other traffic on its links as they are now; nothing
  // if one of them is dark.
  std::optional<SimTime> alone(TemplateId flows);

  // Starts a transfer at `now` (not before the last advance(), not after next_completion()).
  TransferId start(TemplateId flows, SimTime now);
  TransferId start(const std::vector<FlowClass>& flows, SimTime now);
  // The same for a transfer of one flow, without the vectors.
  TransferId start(std::span<const LinkShare> path, Bytes bytes, SimTime now);

  // The next instant at which rates change by themselves: no transfer completes earlier if nothing
  // else is started. A transfer of many flows that meets other traffic passes several such
  // instants before its own completion, so advance() may complete nothing. Nothing if the network
  // is idle or every flow stands still on a dark link.
  std::optional<SimTime> next_completion() const;

  // Moves time to `now` <= next_completion() and appends the transfers that complete exactly then,
  // in starting order.
  void advance(SimTime now, std::vector<TransferId>& completed);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mixnet::sim
