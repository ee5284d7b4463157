#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "ep/rank_map.h"
#include "ep/rank_set.h"
#include "ep/routes.h"

// Who moves which rows where in a dispatch, computed alike by every rank from what all have told of
// their tokens, so that nobody has to ask. Pure.
//
// Definitions. A rank receives its rows by source, in the order of their tokens. A *flow* is a
// contiguous part of the rows that a source sends to another host over one carrier; its *nodes* are
// the delegation rank, where its rows are gathered, and every rank at which a hop comes in. At each
// node it has a place in the window of that rank. The rows of a flow move in chunks.
namespace mixnet::ep {

// Rows that every rank sends: [source, rank] distinct tokens, [source, host] copies that travel to
// another host (mode 2).
struct RowCounts {
  Matrix<int64_t> to_rank;
  Matrix<int64_t> to_host;
};

struct Flow {
  int source = 0;
  int host = 0;
  int64_t first = 0;  // of the rows from source to host
  int64_t rows = 0;   // >= 1
  std::vector<Hop> hops;
  std::vector<uint64_t> places;  // of every node, in the relay block of its rank

  int nodes() const { return static_cast<int>(hops.size()) + 1; }
  int node(int index) const { return index == 0 ? hops[0].from : hops[at(index - 1)].to; }
  int last() const { return hops.back().to; }
};

// The block in which `rows` rows arrive: rows, then experts (int64) and weights (float) of all
// slots, each as far as they travel.
struct RowsLayout {
  int64_t rows = 0;
  uint64_t row_bytes = 0;
  int top_k = 0;
  bool chosen = true;
  bool weighted = false;

  uint64_t experts_at() const;
  uint64_t weights_at() const;
  uint64_t bytes() const;
};

// The same for a flow, with a table at its end: int32 for every rank of its host, how many of the
// rows from the source to that rank are in flows before this one.
struct FlowLayout {
  RowsLayout rows;
  int host_size = 0;

  uint64_t table_at() const { return rows.bytes(); }
  uint64_t bytes() const;
};

// By source, host, carrier; without places.
std::vector<Flow> plan_flows(const RowCounts& counts, const RankMap& ranks,
                             const RouteTable& routes, int rails, const RankSet& lost);
// Gives every flow its places; `shape.rows` is ignored. Returns the bytes of every rank's relay
// block.
std::vector<uint64_t> place_flows(std::vector<Flow>& flows, const RankMap& ranks,
                                  const RowsLayout& shape);

// Rows of a chunk: as many as fit kChunkBytes, at least one.
inline constexpr uint64_t kChunkBytes = 256 << 10;
int64_t chunk_rows(uint64_t row_bytes);
int chunks_of(int64_t rows, uint64_t row_bytes);

// Rows that ranks below `source` send to `rank`: where those of `source` begin.
int64_t rows_before(const Matrix<int64_t>& to_rank, int source, int rank);
// All rows that `rank` receives.
int64_t rows_of(const Matrix<int64_t>& to_rank, int rank);

// Part `index` of `parts` of `rows`, as even as can be.
struct RowRange {
  int64_t first = 0;
  int64_t rows = 0;
};
RowRange part_of(int64_t rows, int index, int parts);

}  // namespace mixnet::ep
