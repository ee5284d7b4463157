#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/transport.h"
#include "ep/call.h"
#include "ep/copy_engine.h"
#include "ep/data_type.h"
#include "ep/exchange_plan.h"
#include "ep/layout.h"
#include "ep/places.h"
#include "ep/route_versions.h"

// What dispatch and combine share.
namespace mixnet::ep {

// The modes that the documents number 0, 1 and 2; core/transport.h.
using TransportMode = mixnet::Transport;

// Payload that left this rank, and copies of tokens, since the communicator was opened.
struct Traffic {
  // [rail] rows, and what other collectives move; no indices, no weights, no signals
  std::vector<int64_t> nic_bytes;
  int64_t nic_copies = 0;     // rows that left through NICs, at every hop
  int64_t inside_copies = 0;  // rows copied inside the host, also to this rank itself
};

// What outlives the calls of one communicator.
struct ExchangeState {
  ExchangeState(Transport& transport, CopyEngine& engine, const Patience& waits)
      : endpoint(transport), copies(engine), patience(waits) {
    traffic.nic_bytes.resize(at(transport.rails()));
  }

  Endpoint endpoint;
  CopyEngine& copies;
  Patience patience;
  RouteVersions routes;
  Traffic traffic;
  // What the next call offers at once.
  Places::Sizes dispatch_sizes;
  Places::Sizes combine_sizes;
  Places::Sizes all_to_all_sizes;
  Places::Sizes gather_sizes;
};

// Row `to` of a rank's received rows is row `from` of a flow.
using Pulls = std::vector<RowMove>;

// A row of a flow where it comes in, and who of the host has it.
struct Share {
  int32_t rank = 0;
  int32_t row = 0;  // of the rows that `rank` received
};
struct FlowShares {
  std::vector<int32_t> first;  // [rows + 1] into `shares`
  std::vector<Share> shares;   // by row, then ascending rank
};

// What a dispatch leaves behind for its combine, and for dispatches of the same layout: immutable,
// shared by its holders.
struct DispatchHandle {
  TransportMode mode = TransportMode::kNvlink;
  uint64_t number = 0;  // the same on all ranks, different for every dispatch
  int experts = 0;
  int top_k = 0;
  int64_t tokens = 0;              // of this rank
  int64_t rows = 0;                // that this rank received
  RankSet lost;                    // at the time of the dispatch
  RowCounts counts;                // of all ranks
  SendLists lists;                 // of this rank's tokens
  std::vector<Flow> flows;         // of all ranks
  std::vector<Pulls> pulls;        // [flow], of those that end in this host
  std::vector<FlowShares> shares;  // [flow], of those that come in at this rank at last
};

}  // namespace mixnet::ep
