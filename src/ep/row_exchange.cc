#include "ep/row_exchange.h"

#include <algorithm>

#include "core/check.h"
#include "ep/flow_slots.h"

namespace mixnet::ep {
namespace {

// The subject of signals that name no flow: rows that travel without a relay.
constexpr uint32_t kDirectRows = Attempt::kSubjects - 1;

std::vector<FlowMover::Path> forward_paths(const RowPlan& plan, const RankMap& ranks) {
  std::vector<FlowMover::Path> paths;
  for (const Flow& flow : plan.flows) {
    const FlowLayout layout = flow_layout(plan, ranks, flow);
    FlowMover::Path path;
    for (int node = 0; node < flow.nodes(); ++node) {
      path.nodes.push_back(flow.node(node));
      path.places.push_back(plan.relay_at[at(flow.node(node))] + flow.places[at(node)]);
    }
    for (const Hop& hop : flow.hops) {
      path.rails.push_back(hop.rail);
    }
    path.rows = flow.rows;
    path.row_bytes = plan.shape.row_bytes;
    path.prefix_at = layout.rows.experts_at();
    path.prefix_bytes = plan.shape.chosen ? layout.bytes() - path.prefix_at : 0;
    path.feeder = flow.source;
    for (int index = 0; index < ranks.size_of(flow.host); ++index) {
      path.listeners.push_back(ranks.first_of(flow.host) + index);
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

bool by_nic(TransportMode mode, const RankMap& ranks, int self, int rank) {
  if (mode == TransportMode::kDirect) {
    return rank != self;
  }
  return mode == TransportMode::kNvlink && !ranks.same_host(self, rank);
}

bool by_flow(TransportMode mode, const RankMap& ranks, int self, int rank) {
  return (mode == TransportMode::kRelay || mode == TransportMode::kRelayCopies) &&
         !ranks.same_host(self, rank);
}

uint64_t stage_bytes(const RowPlan& plan, const RankMap& ranks, int source) {
  uint64_t bytes = 0;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    if (by_nic(plan.mode, ranks, source, rank)) {
      RowsLayout layout = plan.shape;
      layout.rows = plan.counts.to_rank(at(source), at(rank));
      bytes += layout.bytes();
    }
  }
  return bytes;
}

uint64_t receive_bytes(const RowPlan& plan, int rank) {
  RowsLayout layout = plan.shape;
  layout.rows = plan.capacity[at(rank)];
  return layout.bytes();
}

RowExchange::RowExchange(Attempt& attempt, ExchangeState& state, const RowPlan& plan,
                         const RowSource& source, std::vector<Pulls>& pulls)
    : attempt_(attempt),
      state_(state),
      plan_(plan),
      source_(source),
      pulls_(pulls),
      ranks_(attempt.transport().ranks()),
      self_(attempt.transport().rank()),
      mover_(attempt, state, forward_paths(plan, ranks_)) {
  pulls_.resize(plan.flows.size());
  for (std::size_t flow = 0; flow < plan.flows.size(); ++flow) {
    if (plan.flows[flow].host == ranks_.host_of(self_)) {
      tasks_.push_back(PullTask{static_cast<int>(flow), 0, 0});
    }
  }
}

void RowExchange::push() {
  for (std::size_t flow = 0; flow < plan_.flows.size(); ++flow) {
    if (plan_.flows[flow].source == self_) {
      push_flow(static_cast<int>(flow));
    }
  }
  uint64_t stage = 0;
  if (const uint64_t needed = stage_bytes(plan_, ranks_, self_); needed > 0) {
    const std::optional<uint64_t> block = attempt_.lend(needed);
    CHECK(block.has_value(), "that there is room to stage rows was made sure of");
    stage = *block;
  }
  // Everyone begins with another rank, so that not all write to one at a time.
  for (int step = 0; step < ranks_.ranks(); ++step) {
    const int rank = (self_ + step) % ranks_.ranks();
    if (!attempt_.takes_part(rank) || by_flow(plan_.mode, ranks_, self_, rank)) {
      continue;
    }
    if (by_nic(plan_.mode, ranks_, self_, rank)) {
      push_by_nic(rank, stage);
      stage += layout_of(plan_.counts.to_rank(at(self_), at(rank))).bytes();
    } else {
      push_inside(rank);
    }
  }
}

bool RowExchange::advance() {
  bool all = mover_.advance();
  for (PullTask& task : tasks_) {
    all = pull(task) && all;
  }
  if (!all) {
    return false;
  }
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    if (missing(rank)) {
      return false;
    }
  }
  return true;
}

bool RowExchange::missing(int rank) const {
  if (!attempt_.takes_part(rank) || rank == self_) {
    return false;
  }
  if (by_flow(plan_.mode, ranks_, rank, self_)) {
    return mover_.missing(rank);
  }
  const int parts = by_nic(plan_.mode, ranks_, rank, self_) ? attempt_.transport().rails() : 1;
  return attempt_.signals(rank, kDirectRows) < parts || mover_.missing(rank);
}

void RowExchange::push_inside(int rank) {
  const auto& copies = plan_.lists.to_rank[at(rank)];
  const RowsLayout there = layout_of(plan_.capacity[at(rank)]);
  const uint64_t before = rows_before_self(rank);
  const uint64_t slots = before * at(there.top_k);
  const Address block = attempt_.transport().mapped(rank) + plan_.receive_at[at(rank)];
  copy_lists(copies, block + before * there.row_bytes);
  copy_slots(copies, rank, block + there.experts_at() + slots * sizeof(int64_t),
             block + there.weights_at() + slots * sizeof(float));
  state_.traffic.inside_copies += static_cast<int64_t>(copies.size());
  if (rank != self_) {
    attempt_.signal(rank, kInsideHost, kDirectRows);
  }
}

// Stages the rows side by side; then every NIC takes its part of them.
void RowExchange::push_by_nic(int rank, uint64_t stage) {
  const auto& copies = plan_.lists.to_rank[at(rank)];
  const auto rows = static_cast<int64_t>(copies.size());
  const RowsLayout here = layout_of(rows);
  const Address staged = attempt_.transport().window().base + stage;
  copy_lists(copies, staged);
  copy_slots(copies, rank, staged + here.experts_at(), staged + here.weights_at());
  const int rails = attempt_.transport().rails();
  for (int rail = 0; rail < rails; ++rail) {
    write_part(rank, rail, stage, part_of(rows, rail, rails));
    attempt_.signal(rank, rail, kDirectRows);
  }
}

void RowExchange::write_part(int rank, int rail, uint64_t stage, const RowRange& part) {
  const RowsLayout here = layout_of(static_cast<int64_t>(plan_.lists.to_rank[at(rank)].size()));
  const RowsLayout there = layout_of(plan_.capacity[at(rank)]);
  const uint64_t to = plan_.receive_at[at(rank)];
  const uint64_t experts = here.chosen ? at(here.top_k) * sizeof(int64_t) : 0;
  const uint64_t weights = here.weighted ? at(here.top_k) * sizeof(float) : 0;
  const auto first = static_cast<uint64_t>(part.first);
  const auto count = static_cast<uint64_t>(part.rows);
  const uint64_t row = rows_before_self(rank) + first;
  write(rank, rail, stage + here.experts_at() + first * experts,
        to + there.experts_at() + row * experts, count * experts);
  write(rank, rail, stage + here.weights_at() + first * weights,
        to + there.weights_at() + row * weights, count * weights);
  write(rank, rail, stage + first * here.row_bytes, to + row * here.row_bytes,
        count * here.row_bytes);
  state_.traffic.nic_bytes[at(rail)] += static_cast<int64_t>(count * here.row_bytes);
  state_.traffic.nic_copies += part.rows;
  repeat_copies(rank, rail, stage, part);
}

// Modes 0 and 1 send a copy per expert: the row of a token that has several experts at the rank is
// written to its place once for each.
void RowExchange::repeat_copies(int rank, int rail, uint64_t stage, const RowRange& part) {
  const auto& copies = plan_.lists.to_rank[at(rank)];
  const uint64_t row_bytes = plan_.shape.row_bytes;
  const uint64_t to = plan_.receive_at[at(rank)] + rows_before_self(rank) * row_bytes;
  for (int64_t row = part.first; row < part.first + part.rows; ++row) {
    const uint64_t offset = static_cast<uint64_t>(row) * row_bytes;
    for (int extra = 1; extra < copies[static_cast<std::size_t>(row)].slots; ++extra) {
      write(rank, rail, stage + offset, to + offset, row_bytes);
      state_.traffic.nic_bytes[at(rail)] += static_cast<int64_t>(row_bytes);
      ++state_.traffic.nic_copies;
    }
  }
}

void RowExchange::write(int rank, int rail, uint64_t from, uint64_t to, uint64_t bytes) {
  if (bytes > 0) {
    Transport& transport = attempt_.transport();
    transport.write(RemoteWrite{rank, rail, transport.window().base + from, bytes, to});
  }
}

// Gathers the rows of a flow at its delegation rank, chunk by chunk.
void RowExchange::push_flow(int index) {
  const Flow& flow = plan_.flows[at(index)];
  const int gate = flow.node(0);
  const FlowMover::Path& path = mover_.path(index);
  const Address place = attempt_.transport().mapped(gate) + path.places[0];
  if (plan_.shape.chosen) {
    write_slots(state_.copies, plan_, ranks_, flow, source_, place);
  }
  const std::vector<FlowRow> rows = rows_of_flow(plan_.mode, plan_.lists, flow);
  std::vector<RowMove> moves;
  for (int chunk = 0; chunk < path.chunks(); ++chunk) {
    const RowRange part = chunk_of(path, chunk);
    moves.clear();
    for (int64_t row = part.first; row < part.first + part.rows; ++row) {
      moves.push_back(
          RowMove{rows[static_cast<std::size_t>(row)].token, static_cast<int32_t>(row)});
    }
    state_.copies.copy_rows(place, source_.x, moves, path.row_bytes);
    mover_.feed(index);
    mover_.advance();
  }
  state_.traffic.inside_copies += gate == self_ ? 0 : flow.rows;
}

void RowExchange::copy_lists(std::span<const TokenCopy> copies, Address rows) {
  std::vector<RowMove> moves;
  moves.reserve(copies.size());
  for (std::size_t row = 0; row < copies.size(); ++row) {
    moves.push_back(RowMove{copies[row].token, static_cast<int32_t>(row)});
  }
  state_.copies.copy_rows(rows, source_.x, moves, plan_.shape.row_bytes);
}

void RowExchange::copy_slots(std::span<const TokenCopy> copies, int rank, Address experts,
                             Address weights) {
  if (!plan_.shape.chosen) {
    return;
  }
  const std::size_t top_k = at(plan_.shape.top_k);
  const int64_t first = plan_.experts.first_of(rank);
  const int64_t end = plan_.experts.first_of(rank + 1);
  std::vector<int64_t> local(copies.size() * top_k, -1);
  std::vector<float> share(plan_.shape.weighted ? local.size() : 0, 0.0F);
  for (std::size_t row = 0; row < copies.size(); ++row) {
    const auto choices = source_.choices.of(copies[row].token);
    for (std::size_t slot = 0; slot < top_k; ++slot) {
      if (choices[slot] >= first && choices[slot] < end) {
        local[row * top_k + slot] = choices[slot] - first;
        if (plan_.shape.weighted) {
          share[row * top_k + slot] = source_.weights[at(copies[row].token) * top_k + slot];
        }
      }
    }
  }
  state_.copies.copy(experts, host_address(local.data()), local.size() * sizeof(int64_t));
  state_.copies.copy(weights, host_address(share.data()), share.size() * sizeof(float));
}

// True: all rows of the flow that are this rank's are in their places.
bool RowExchange::pull(PullTask& task) {
  const FlowMover::Path& path = mover_.path(task.flow);
  const int here = mover_.here(task.flow);
  while (task.chunks_done < here) {
    pull_chunk(task, task.chunks_done++);
  }
  return task.chunks_done == path.chunks();
}

void RowExchange::pull_chunk(PullTask& task, int chunk) {
  const Flow& flow = plan_.flows[at(task.flow)];
  const FlowMover::Path& path = mover_.path(task.flow);
  const Address place = attempt_.transport().mapped(flow.last()) + path.places.back();
  const Address block = attempt_.transport().window().base + plan_.receive_at[at(self_)];
  Pulls& pulls = pulls_[at(task.flow)];
  if (chunk == 0 && plan_.shape.chosen) {
    TakenRows taken = take_rows(state_.copies, plan_, ranks_, flow, place, self_);
    pulls = std::move(taken.pulls);
    if (!pulls.empty()) {
      const RowsLayout own = layout_of(plan_.capacity[at(self_)]);
      const uint64_t slots = static_cast<uint64_t>(pulls.front().to) * at(own.top_k);
      state_.copies.copy(block + own.experts_at() + slots * sizeof(int64_t),
                         host_address(taken.experts.data()),
                         taken.experts.size() * sizeof(int64_t));
      state_.copies.copy(block + own.weights_at() + slots * sizeof(float),
                         host_address(taken.weights.data()), taken.weights.size() * sizeof(float));
    }
  }
  const RowRange part = chunk_of(path, chunk);
  const std::size_t first = task.next;
  while (task.next < pulls.size() && pulls[task.next].from < part.first + part.rows) {
    ++task.next;
  }
  state_.copies.copy_rows(block, place,
                          std::span<const RowMove>(pulls).subspan(first, task.next - first),
                          path.row_bytes);
  state_.traffic.inside_copies += static_cast<int64_t>(task.next - first);
}

uint64_t RowExchange::rows_before_self(int rank) const {
  return static_cast<uint64_t>(rows_before(plan_.counts.to_rank, self_, rank));
}

RowsLayout RowExchange::layout_of(int64_t rows) const {
  RowsLayout layout = plan_.shape;
  layout.rows = rows;
  return layout;
}

}  // namespace mixnet::ep
