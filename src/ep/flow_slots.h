#pragma once

#include <cstdint>
#include <vector>

#include "ep/exchange.h"
#include "ep/row_exchange.h"

// What travels with the rows of a flow, so that the ranks at its end know whose they are: the
// choices of every row, and how many rows from the source to each rank came in flows before.
namespace mixnet::ep {

// Rows that these copies are on their way to a host.
int64_t rows_to_host(TransportMode mode, const std::vector<TokenCopy>& copies);

FlowLayout flow_layout(const RowPlan& plan, const RankMap& ranks, const Flow& flow);

// A row of a flow: a token, and whether it is one more copy of the row before (mode 2 with copies).
struct FlowRow {
  int32_t token = 0;
  bool repeated = false;
};
// Rows [flow.first, flow.first + flow.rows) of what this rank, the source, sends to the host.
std::vector<FlowRow> rows_of_flow(TransportMode mode, const SendLists& lists, const Flow& flow);

// Writes choices, weights and table of a flow behind its rows at `place`.
void write_slots(CopyEngine& copies, const RowPlan& plan, const RankMap& ranks, const Flow& flow,
                 const RowSource& source, Address place);

// Which rows of the flow at `place` this rank takes, and to which rows of the block in which it
// receives; and, with them, their choices as local experts and their weights.
struct TakenRows {
  Pulls pulls;
  std::vector<int64_t> experts;  // [pulls, top_k]
  std::vector<float> weights;    // or empty
};
TakenRows take_rows(CopyEngine& copies, const RowPlan& plan, const RankMap& ranks, const Flow& flow,
                    ConstAddress place, int rank);

// At the rank where the flow at `place` comes in: who of its host takes which row.
FlowShares shares_of_flow(CopyEngine& copies, const RowPlan& plan, const RankMap& ranks,
                          const Flow& flow, ConstAddress place);

}  // namespace mixnet::ep
