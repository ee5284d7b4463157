#include "ep/flow_slots.h"

#include <algorithm>

namespace mixnet::ep {
namespace {

bool is_of(const ExpertMap& experts, int rank, int64_t expert) {
  return expert >= experts.first_of(rank) && expert < experts.first_of(rank + 1);
}

int64_t copies_to_host(TransportMode mode, const TokenCopy& copy) {
  return mode == TransportMode::kRelayCopies ? copy.slots : 1;
}

// The rows from this rank to every rank of the host that are in flows before this one.
std::vector<int32_t> rows_in_earlier_flows(const RowPlan& plan, const RankMap& ranks,
                                           const Flow& flow, int32_t first_token) {
  std::vector<int32_t> table;
  for (int index = 0; index < ranks.size_of(flow.host); ++index) {
    const auto& copies = plan.lists.to_rank[at(ranks.first_of(flow.host) + index)];
    const auto end =
        std::lower_bound(copies.begin(), copies.end(), first_token,
                         [](const TokenCopy& copy, int32_t token) { return copy.token < token; });
    table.push_back(static_cast<int32_t>(end - copies.begin()));
  }
  return table;
}

template <typename T>
std::vector<T> read_all(CopyEngine& copies, ConstAddress from, std::size_t count) {
  std::vector<T> values(count);
  copies.copy(host_address(values.data()), from, count * sizeof(T));
  return values;
}

}  // namespace

int64_t rows_to_host(TransportMode mode, const std::vector<TokenCopy>& copies) {
  int64_t rows = 0;
  for (const TokenCopy& copy : copies) {
    rows += copies_to_host(mode, copy);
  }
  return rows;
}

FlowLayout flow_layout(const RowPlan& plan, const RankMap& ranks, const Flow& flow) {
  RowsLayout rows = plan.shape;
  rows.rows = flow.rows;
  return FlowLayout{rows, ranks.size_of(flow.host)};
}

std::vector<FlowRow> rows_of_flow(TransportMode mode, const SendLists& lists, const Flow& flow) {
  std::vector<FlowRow> rows;
  int64_t row = 0;
  for (const TokenCopy& copy : lists.to_host[at(flow.host)]) {
    const int64_t copies = copies_to_host(mode, copy);
    for (int64_t i = 0; i < copies; ++i, ++row) {
      if (row >= flow.first && row < flow.first + flow.rows) {
        rows.push_back(FlowRow{copy.token, i > 0});
      }
    }
  }
  return rows;
}

void write_slots(CopyEngine& copies, const RowPlan& plan, const RankMap& ranks, const Flow& flow,
                 const RowSource& source, Address place) {
  const FlowLayout layout = flow_layout(plan, ranks, flow);
  const std::vector<FlowRow> rows = rows_of_flow(plan.mode, plan.lists, flow);
  const std::size_t top_k = at(plan.shape.top_k);
  std::vector<int64_t> experts(rows.size() * top_k, -1);
  std::vector<float> weights(plan.shape.weighted ? experts.size() : 0, 0.0F);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].repeated) {
      continue;
    }
    const auto choices = source.choices.of(rows[row].token);
    for (std::size_t slot = 0; slot < top_k; ++slot) {
      experts[row * top_k + slot] = choices[slot];
      if (plan.shape.weighted) {
        weights[row * top_k + slot] = source.weights[at(rows[row].token) * top_k + slot];
      }
    }
  }
  const FlowRow& first = rows.front();
  const std::vector<int32_t> table =
      rows_in_earlier_flows(plan, ranks, flow, first.token + (first.repeated ? 1 : 0));
  copies.copy(place + layout.rows.experts_at(), host_address(experts.data()),
              experts.size() * sizeof(int64_t));
  copies.copy(place + layout.rows.weights_at(), host_address(weights.data()),
              weights.size() * sizeof(float));
  copies.copy(place + layout.table_at(), host_address(table.data()),
              table.size() * sizeof(int32_t));
}

TakenRows take_rows(CopyEngine& copies, const RowPlan& plan, const RankMap& ranks, const Flow& flow,
                    ConstAddress place, int rank) {
  const FlowLayout layout = flow_layout(plan, ranks, flow);
  const std::size_t top_k = at(plan.shape.top_k);
  const std::size_t slots = static_cast<std::size_t>(flow.rows) * top_k;
  const auto experts = read_all<int64_t>(copies, place + layout.rows.experts_at(), slots);
  const auto weights =
      read_all<float>(copies, place + layout.rows.weights_at(), plan.shape.weighted ? slots : 0);
  const auto table =
      read_all<int32_t>(copies, place + layout.table_at(), at(ranks.size_of(flow.host)));

  TakenRows taken;
  auto to = static_cast<int32_t>(rows_before(plan.counts.to_rank, flow.source, rank) +
                                 table[at(ranks.index_in_host(rank))]);
  for (int32_t row = 0; row < flow.rows; ++row) {
    const std::size_t first = at(row) * top_k;
    const auto own = [&](std::size_t slot) { return is_of(plan.experts, rank, experts[slot]); };
    bool any = false;
    for (std::size_t slot = first; slot < first + top_k; ++slot) {
      any = any || own(slot);
    }
    if (!any) {
      continue;
    }
    taken.pulls.push_back(RowMove{row, to++});
    for (std::size_t slot = first; slot < first + top_k; ++slot) {
      taken.experts.push_back(own(slot) ? experts[slot] - plan.experts.first_of(rank) : -1);
      if (plan.shape.weighted) {
        taken.weights.push_back(own(slot) ? weights[slot] : 0.0F);
      }
    }
  }
  return taken;
}

FlowShares shares_of_flow(CopyEngine& copies, const RowPlan& plan, const RankMap& ranks,
                          const Flow& flow, ConstAddress place) {
  std::vector<std::vector<Share>> of_row(static_cast<std::size_t>(flow.rows));
  for (int index = 0; index < ranks.size_of(flow.host); ++index) {
    const int rank = ranks.first_of(flow.host) + index;
    for (const RowMove& pull : take_rows(copies, plan, ranks, flow, place, rank).pulls) {
      of_row[at(pull.from)].push_back(Share{rank, pull.to});
    }
  }
  FlowShares shares{{0}, {}};
  for (const std::vector<Share>& row : of_row) {
    shares.shares.insert(shares.shares.end(), row.begin(), row.end());
    shares.first.push_back(static_cast<int32_t>(shares.shares.size()));
  }
  return shares;
}

}  // namespace mixnet::ep
