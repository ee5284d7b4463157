#include "ep/exchange_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace mixnet::ep {
namespace {

// A cache line, and enough for every element.
constexpr uint64_t kAlignment = 64;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Cuts [0, rows) by the shares; the parts differ from them by less than a row.
std::vector<RowRange> cut(int64_t rows, const std::vector<Carrier>& carriers) {
  std::vector<RowRange> parts;
  double share = 0;
  int64_t first = 0;
  for (std::size_t i = 0; i < carriers.size(); ++i) {
    share += carriers[i].share;
    const int64_t end =
        i + 1 == carriers.size()
            ? rows
            : std::clamp<int64_t>(std::llround(share * static_cast<double>(rows)), first, rows);
    parts.push_back(RowRange{first, end - first});
    first = end;
  }
  return parts;
}

}  // namespace

uint64_t RowsLayout::experts_at() const { return aligned(static_cast<uint64_t>(rows) * row_bytes); }

uint64_t RowsLayout::weights_at() const {
  const uint64_t experts = static_cast<uint64_t>(rows) * at(top_k) * sizeof(int64_t);
  return experts_at() + (chosen ? aligned(experts) : 0);
}

uint64_t RowsLayout::bytes() const {
  const uint64_t weights = static_cast<uint64_t>(rows) * at(top_k) * sizeof(float);
  return weights_at() + (weighted ? aligned(weights) : 0);
}

uint64_t FlowLayout::bytes() const { return table_at() + aligned(at(host_size) * sizeof(int32_t)); }

std::vector<Flow> plan_flows(const RowCounts& counts, const RankMap& ranks,
                             const RouteTable& routes, int rails, const RankSet& lost) {
  std::vector<Flow> flows;
  for (int source = 0; source < ranks.ranks(); ++source) {
    for (int host = 0; host < ranks.hosts(); ++host) {
      const int64_t rows = counts.to_host(at(source), at(host));
      if (rows == 0 || host == ranks.host_of(source)) {
        continue;
      }
      const std::vector<Carrier> carriers = routes.usable(ranks, rails, lost, source, host);
      CHECK(!carriers.empty(), "rows lead only to hosts where somebody is left");
      const std::vector<RowRange> parts = cut(rows, carriers);
      for (std::size_t i = 0; i < carriers.size(); ++i) {
        if (parts[i].rows > 0) {
          flows.push_back(Flow{source, host, parts[i].first, parts[i].rows, carriers[i].hops, {}});
        }
      }
    }
  }
  return flows;
}

std::vector<uint64_t> place_flows(std::vector<Flow>& flows, const RankMap& ranks,
                                  const RowsLayout& shape) {
  std::vector<uint64_t> used(at(ranks.ranks()));
  for (Flow& flow : flows) {
    RowsLayout rows = shape;
    rows.rows = flow.rows;
    const uint64_t bytes = FlowLayout{rows, ranks.size_of(flow.host)}.bytes();
    flow.places.clear();
    for (int node = 0; node < flow.nodes(); ++node) {
      flow.places.push_back(used[at(flow.node(node))]);
      used[at(flow.node(node))] += bytes;
    }
  }
  return used;
}

int64_t chunk_rows(uint64_t row_bytes) {
  return static_cast<int64_t>(
      std::max<uint64_t>(1, kChunkBytes / std::max<uint64_t>(1, row_bytes)));
}

int chunks_of(int64_t rows, uint64_t row_bytes) {
  const int64_t each = chunk_rows(row_bytes);
  return static_cast<int>((rows + each - 1) / each);
}

int64_t rows_before(const Matrix<int64_t>& to_rank, int source, int rank) {
  int64_t rows = 0;
  for (int before = 0; before < source; ++before) {
    rows += to_rank(at(before), at(rank));
  }
  return rows;
}

int64_t rows_of(const Matrix<int64_t>& to_rank, int rank) {
  return rows_before(to_rank, static_cast<int>(to_rank.rows()), rank);
}

RowRange part_of(int64_t rows, int index, int parts) {
  const int64_t first = rows * index / parts;
  return RowRange{first, rows * (index + 1) / parts - first};
}

}  // namespace mixnet::ep
