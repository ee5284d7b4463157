#include "ep/row_return.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "ep/flow_slots.h"
#include "ep/row_exchange.h"

namespace mixnet::ep {
namespace {

// The subject of signals that name no flow: rows that come back without a relay.
constexpr uint32_t kReturnedRows = Attempt::kSubjects - 1;

// Bytes in which the rows of `source` that come back by NIC land; with `end`, of ranks below it.
uint64_t landing_bytes(const ReturnPlan& plan, const RankMap& ranks, int source, int end) {
  uint64_t bytes = 0;
  for (int rank = 0; rank < end; ++rank) {
    if (by_nic(plan.mode, ranks, source, rank)) {
      RowsLayout layout = plan.shape;
      layout.rows = plan.handle.counts.to_rank(at(source), at(rank));
      bytes += layout.bytes();
    }
  }
  return bytes;
}

std::vector<FlowMover::Path> backward_paths(const ReturnPlan& plan) {
  std::vector<FlowMover::Path> paths;
  for (const Flow& flow : plan.flows) {
    FlowMover::Path path;
    for (int node = flow.nodes() - 1; node >= 0; --node) {
      path.nodes.push_back(flow.node(node));
      path.places.push_back(plan.relay_at[at(flow.node(node))] + flow.places[at(node)]);
    }
    for (auto hop = flow.hops.rbegin(); hop != flow.hops.rend(); ++hop) {
      path.rails.push_back(hop->rail);
    }
    RowsLayout layout = plan.shape;
    layout.rows = flow.rows;
    path.rows = flow.rows;
    path.row_bytes = plan.shape.row_bytes;
    path.prefix_at = layout.weights_at();
    path.prefix_bytes = layout.bytes() - layout.weights_at();
    path.feeder = flow.last();
    path.listeners = {flow.source};
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

ReturnPlan plan_return(const DispatchHandle& handle, const RankSet& lost, const RankMap& ranks,
                       const RowsLayout& shape, DataType type, int64_t hidden) {
  ReturnPlan plan{handle, handle.mode, shape, type, hidden, {}, {}, {}, {}, {}, {}};
  const bool relays =
      handle.mode == TransportMode::kRelay || handle.mode == TransportMode::kRelayCopies;
  if (relays && handle.lost == lost) {
    plan.flows = handle.flows;
  } else if (relays) {
    plan.mode = TransportMode::kNvlink;
  }
  plan.relay_bytes = place_flows(plan.flows, ranks, shape);
  return plan;
}

std::vector<RoomNeed> needs_of(const ReturnPlan& plan, const RankMap& ranks) {
  std::vector<RoomNeed> needs;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    needs.push_back(
        RoomNeed{landing_bytes(plan, ranks, rank, ranks.ranks()), plan.relay_bytes[at(rank)], 0});
  }
  return needs;
}

RowReturn::RowReturn(Attempt& attempt, ExchangeState& state, const ReturnPlan& plan)
    : attempt_(attempt),
      state_(state),
      plan_(plan),
      ranks_(attempt.transport().ranks()),
      self_(attempt.transport().rank()),
      mover_(attempt, state, backward_paths(plan)) {}

void RowReturn::push() {
  for (std::size_t flow = 0; flow < plan_.flows.size(); ++flow) {
    if (plan_.flows[flow].last() == self_) {
      add_up(static_cast<int>(flow));
    }
  }
  for (int step = 1; step < ranks_.ranks(); ++step) {
    const int source = (self_ + step) % ranks_.ranks();
    if (attempt_.takes_part(source) && by_nic(plan_.mode, ranks_, source, self_)) {
      write_to(source);
    }
  }
}

bool RowReturn::advance() {
  if (!mover_.advance()) {
    return false;
  }
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    if (missing(rank)) {
      return false;
    }
  }
  for (std::size_t flow = 0; flow < plan_.flows.size(); ++flow) {
    const int index = static_cast<int>(flow);
    if (plan_.flows[flow].source == self_ && mover_.here(index) < mover_.path(index).chunks()) {
      return false;
    }
  }
  return true;
}

bool RowReturn::missing(int rank) const {
  if (!attempt_.takes_part(rank) || rank == self_) {
    return false;
  }
  const bool direct = by_nic(plan_.mode, ranks_, self_, rank) &&
                      attempt_.signals(rank, kReturnedRows) < attempt_.transport().rails();
  return direct || mover_.missing(rank);
}

// The rows of one source are side by side at this rank; every NIC takes its part of them.
void RowReturn::write_to(int source) {
  const int64_t rows = count(source, self_);
  const RowsLayout there = layout_of(rows);
  const auto before =
      static_cast<uint64_t>(rows_before(plan_.handle.counts.to_rank, source, self_));
  const uint64_t weights = there.weighted ? at(there.top_k) * sizeof(float) : 0;
  const uint64_t to = plan_.receive_at[at(source)] + landing(source, self_);
  const int rails = attempt_.transport().rails();
  for (int rail = 0; rail < rails; ++rail) {
    const RowRange part = part_of(rows, rail, rails);
    const auto first = static_cast<uint64_t>(part.first);
    const auto number = static_cast<uint64_t>(part.rows);
    write(source, rail, plan_.weights_at[at(self_)] + (before + first) * weights,
          to + there.weights_at() + first * weights, number * weights);
    write(source, rail, plan_.rows_at[at(self_)] + (before + first) * there.row_bytes,
          to + first * there.row_bytes, number * there.row_bytes);
    attempt_.signal(source, rail, kReturnedRows);
    state_.traffic.nic_bytes[at(rail)] += static_cast<int64_t>(number * there.row_bytes);
  }
  state_.traffic.nic_copies += rows;
}

void RowReturn::write(int rank, int rail, uint64_t from, uint64_t to, uint64_t bytes) {
  if (bytes > 0) {
    Transport& transport = attempt_.transport();
    transport.write(RemoteWrite{rank, rail, transport.window().base + from, bytes, to});
  }
}

void RowReturn::add_up(int index) {
  const FlowMover::Path& path = mover_.path(index);
  const Address place = attempt_.transport().window().base + path.places.front();
  if (plan_.shape.weighted) {
    add_up_weights(index, place + path.prefix_at);
  }
  for (int chunk = 0; chunk < path.chunks(); ++chunk) {
    add_up_rows(index, chunk_of(path, chunk), place);
    mover_.feed(index);
    mover_.advance();
  }
}

void RowReturn::add_up_rows(int index, const RowRange& part, Address place) {
  const FlowShares& shares = plan_.handle.shares[at(index)];
  const uint64_t row_bytes = plan_.shape.row_bytes;
  std::vector<ConstAddress> rows;
  for (int64_t row = part.first; row < part.first + part.rows; ++row) {
    rows.clear();
    const auto first = at(shares.first[static_cast<std::size_t>(row)]);
    const auto end = at(shares.first[static_cast<std::size_t>(row) + 1]);
    for (std::size_t i = first; i < end; ++i) {
      const Share& share = shares.shares[i];
      rows.emplace_back(attempt_.transport().mapped(share.rank) +
                        (plan_.rows_at[at(share.rank)] + at(share.row) * row_bytes));
    }
    state_.copies.sum(place + static_cast<uint64_t>(row) * row_bytes, rows, plan_.type,
                      plan_.hidden);
  }
}

void RowReturn::add_up_weights(int index, Address place) {
  const FlowShares& shares = plan_.handle.shares[at(index)];
  const uint64_t bytes = at(plan_.shape.top_k) * sizeof(float);
  std::vector<ConstAddress> rows;
  for (std::size_t row = 0; row + 1 < shares.first.size(); ++row) {
    rows.clear();
    for (std::size_t i = at(shares.first[row]); i < at(shares.first[row + 1]); ++i) {
      const Share& share = shares.shares[i];
      rows.emplace_back(attempt_.transport().mapped(share.rank) +
                        (plan_.weights_at[at(share.rank)] + at(share.row) * bytes));
    }
    state_.copies.sum(place + row * bytes, rows, DataType::kFp32, plan_.shape.top_k);
  }
}

void RowReturn::sum_rows(Address out, const std::vector<ConstAddress>& biases) {
  const uint64_t row_bytes = plan_.shape.row_bytes;
  std::vector<std::vector<ConstAddress>> rows(static_cast<std::size_t>(plan_.handle.tokens));
  for (const Part& part : parts()) {
    for (const RowMove& move : part.rows_of_tokens) {
      rows[at(move.to)].emplace_back(part.rows + at(move.from) * row_bytes);
    }
  }
  for (std::size_t token = 0; token < rows.size(); ++token) {
    for (const ConstAddress& bias : biases) {
      rows[token].push_back(bias + token * row_bytes);
    }
    state_.copies.sum(out + token * row_bytes, rows[token], plan_.type, plan_.hidden);
  }
}

void RowReturn::sum_weights(std::span<float> out) {
  const std::size_t top_k = at(plan_.shape.top_k);
  std::fill(out.begin(), out.end(), 0.0F);
  std::vector<float> row(top_k);
  for (const Part& part : parts()) {
    for (const RowMove& move : part.rows_of_tokens) {
      state_.copies.copy(host_address(row.data()),
                         part.weights + at(move.from) * top_k * sizeof(float),
                         top_k * sizeof(float));
      for (std::size_t slot = 0; slot < top_k; ++slot) {
        out[at(move.to) * top_k + slot] += row[slot];
      }
    }
  }
}

std::vector<int32_t> RowReturn::tokens_with_loss() const {
  std::vector<int32_t> tokens;
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    if (!attempt_.takes_part(rank)) {
      for (const TokenCopy& copy : plan_.handle.lists.to_rank[at(rank)]) {
        tokens.push_back(copy.token);
      }
    }
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

// In the order in which they are added.
std::vector<RowReturn::Part> RowReturn::parts() {
  std::vector<Part> parts;
  for (int host = 0; host < ranks_.hosts(); ++host) {
    if (by_flow(plan_.mode, ranks_, self_, ranks_.first_of(host))) {
      append_flows(host, parts);
      continue;
    }
    for (int index = 0; index < ranks_.size_of(host); ++index) {
      if (attempt_.takes_part(ranks_.first_of(host) + index)) {
        append_rank(ranks_.first_of(host) + index, parts);
      }
    }
  }
  return parts;
}

void RowReturn::append_flows(int host, std::vector<Part>& parts) {
  for (std::size_t index = 0; index < plan_.flows.size(); ++index) {
    const Flow& flow = plan_.flows[index];
    if (flow.source != self_ || flow.host != host) {
      continue;
    }
    const FlowMover::Path& path = mover_.path(static_cast<int>(index));
    const Address place = attempt_.transport().mapped(flow.node(0)) + path.places.back();
    Part part{place, place + path.prefix_at, {}};
    const std::vector<FlowRow> rows = rows_of_flow(plan_.handle.mode, plan_.handle.lists, flow);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!rows[row].repeated) {
        part.rows_of_tokens.push_back(RowMove{static_cast<int32_t>(row), rows[row].token});
      }
    }
    parts.push_back(std::move(part));
  }
}

void RowReturn::append_rank(int rank, std::vector<Part>& parts) {
  const uint64_t row_bytes = plan_.shape.row_bytes;
  Part part;
  if (by_nic(plan_.mode, ranks_, self_, rank)) {
    const Address block =
        attempt_.transport().window().base + plan_.receive_at[at(self_)] + landing(self_, rank);
    part.rows = block;
    part.weights = block + layout_of(count(self_, rank)).weights_at();
  } else {
    const Address window = attempt_.transport().mapped(rank);
    const auto before =
        static_cast<uint64_t>(rows_before(plan_.handle.counts.to_rank, self_, rank));
    part.rows = window + plan_.rows_at[at(rank)] + before * row_bytes;
    part.weights =
        window + plan_.weights_at[at(rank)] + before * at(plan_.shape.top_k) * sizeof(float);
  }
  const auto& copies = plan_.handle.lists.to_rank[at(rank)];
  for (std::size_t row = 0; row < copies.size(); ++row) {
    part.rows_of_tokens.push_back(RowMove{static_cast<int32_t>(row), copies[row].token});
  }
  parts.push_back(std::move(part));
}

uint64_t RowReturn::landing(int source, int rank) const {
  return landing_bytes(plan_, ranks_, source, rank);
}

RowsLayout RowReturn::layout_of(int64_t rows) const {
  RowsLayout layout = plan_.shape;
  layout.rows = rows;
  return layout;
}

}  // namespace mixnet::ep
