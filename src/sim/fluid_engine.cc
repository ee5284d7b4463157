#include "sim/fluid_engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/check.h"
#include "core/index.h"

namespace mixnet::sim {
namespace {

// An island is rebuilt without its completed flows when fewer than half are left, which also finds
// the parts that no longer meet. Small ones are not worth it.
constexpr std::size_t kRebuildFlows = 64;

uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9e3779b97f4a7c15ULL;
  return h ^ (h >> 29);
}

uint64_t hash_of(const FlowSpec& flow) {
  uint64_t h = static_cast<uint64_t>(flow.bytes);
  for (const Hop& hop : flow.path) {
    h = mix(h, static_cast<uint64_t>(hop.link));
    h = mix(h, std::bit_cast<uint64_t>(hop.weight));
  }
  return h;
}

bool same_path(std::span<const Hop> a, std::span<const Hop> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Hop& x, const Hop& y) {
    return x.link == y.link && x.weight == y.weight;
  });
}

}  // namespace

FluidEngine::FluidEngine(std::vector<double> capacity)
    : capacity_(std::move(capacity)),
      island_of_(capacity_.size(), -1),
      local_of_(capacity_.size(), -1),
      pending_link_(capacity_.size(), false),
      parent_(capacity_.size(), -1) {}

int32_t FluidEngine::open_transfer(int64_t id, int32_t flows) {
  int32_t slot = static_cast<int32_t>(transfers_.size());
  if (free_transfers_.empty()) {
    transfers_.push_back(Transfer{});
  } else {
    slot = free_transfers_.back();
    free_transfers_.pop_back();
  }
  transfers_[at(slot)] = Transfer{id, flows};
  if (flows == 0) {
    completed_.push_back(id);
    free_transfers_.push_back(slot);
  }
  return slot;
}

void FluidEngine::finish_flow(int32_t transfer) {
  Transfer& t = transfers_[at(transfer)];
  CHECK(t.flows_left > 0, "a transfer completes once");
  if (--t.flows_left == 0) {
    completed_.push_back(t.id);
    free_transfers_.push_back(transfer);
  }
}

int32_t FluidEngine::flows_left(int32_t transfer) const {
  return transfers_[at(transfer)].flows_left;
}

int32_t FluidEngine::find_twin(uint64_t hash, const FlowSpec& flow) const {
  const std::size_t mask = twin_table_.size() - 1;
  for (std::size_t i = hash & mask; !twin_table_.empty() && twin_table_[i] >= 0;
       i = (i + 1) & mask) {
    const FlowState& other = pending_.flows[at(twin_table_[i])];
    if (other.remaining == static_cast<double>(flow.bytes) &&
        same_path(pending_.path(other), flow.path)) {
      return twin_table_[i];
    }
  }
  return -1;
}

void FluidEngine::remember(uint64_t hash, int32_t flow) {
  if (2 * pending_.flows.size() > twin_table_.size()) {
    twin_table_.assign(std::max<std::size_t>(64, 4 * std::bit_ceil(pending_.flows.size())), -1);
    for (int32_t f = 0; f < flow; ++f) {
      const FlowState& state = pending_.flows[at(f)];
      const auto bytes = static_cast<int64_t>(state.remaining);
      remember(hash_of(FlowSpec{pending_.path(state), bytes}), f);
    }
  }
  const std::size_t mask = twin_table_.size() - 1;
  std::size_t i = hash & mask;
  while (twin_table_[i] >= 0) {
    i = (i + 1) & mask;
  }
  twin_table_[i] = flow;
}

void FluidEngine::add_flow(int32_t transfer, int64_t key, const FlowSpec& flow) {
  if (flow.path.empty() || flow.bytes == 0) {
    finish_flow(transfer);
    return;
  }
  const uint64_t hash = hash_of(flow);
  int32_t index = find_twin(hash, flow);
  if (index < 0) {
    index = static_cast<int32_t>(pending_.flows.size());
    FlowState state;
    state.remaining = static_cast<double>(flow.bytes);
    state.since_ps = now_ps_;
    state.key = key;
    state.first_hop = static_cast<int32_t>(pending_.hops.size());
    state.hops = static_cast<int32_t>(flow.path.size());
    pending_.flows.push_back(state);
    pending_.hops.insert(pending_.hops.end(), flow.path.begin(), flow.path.end());
    for (const Hop& hop : flow.path) {
      pending_link_[at(hop.link)] = true;
    }
    remember(hash, index);
  } else {
    ++pending_.flows[at(index)].twins;
  }
  FlowState& state = pending_.flows[at(index)];
  pending_.members.push_back(FlowMember{transfer, state.first_member});
  state.first_member = static_cast<int32_t>(pending_.members.size()) - 1;
}

// Merged flows load their links together. Done late, so that find_twin compares single flows.
void FluidEngine::weigh_twins() {
  for (FlowState& flow : pending_.flows) {
    for (int32_t h = flow.first_hop; flow.twins > 1 && h < flow.first_hop + flow.hops; ++h) {
      pending_.hops[at(h)].weight *= flow.twins;
    }
    flow.twins = 1;
  }
  twin_table_.clear();
}

bool FluidEngine::occupied(int32_t link) const {
  return island_of_[at(link)] >= 0 || pending_link_[at(link)];
}

int64_t FluidEngine::next_event_ps() {
  flush();
  if (!completed_.empty()) {
    return now_ps_;
  }
  return events_.empty() ? kNeverPs : events_.top_time();
}

void FluidEngine::advance(int64_t now_ps) {
  CHECK(now_ps >= now_ps_, "time does not run backwards");
  if (now_ps > now_ps_) {
    flush();
  }
  while (!events_.empty() && events_.top_time() <= now_ps) {
    CHECK(completed_.empty() || now_ps_ == events_.top_time(), "a completion was not collected");
    now_ps_ = events_.top_time();
    step(events_.top_id());
  }
  CHECK(completed_.empty() || now_ps_ == now_ps, "a completion was not collected");
  now_ps_ = now_ps;
}

void FluidEngine::step(int32_t island) {
  FlowIsland& flows = islands_[at(island)];
  done_.clear();
  flows.complete(now_ps_, done_);
  for (const int32_t transfer : done_) {
    finish_flow(transfer);
  }
  if (flows.active() == 0) {
    release(island);
  } else if (flows.built() >= kRebuildFlows && 2 * flows.active() < flows.built() &&
             pending_.flows.empty()) {
    flows.append_to(pending_);
    release(island);
    build_islands();
  } else {
    events_.set(island, flows.next_ps());
  }
}

void FluidEngine::forget_links(int32_t island) {
  const FlowIsland& flows = islands_[at(island)];
  for (std::size_t l = 0; l < flows.links(); ++l) {
    island_of_[at(flows.global_link(l))] = -1;
    local_of_[at(flows.global_link(l))] = -1;
  }
}

void FluidEngine::release(int32_t island) {
  forget_links(island);
  islands_[at(island)].clear();
  events_.erase(island);
  free_islands_.push_back(island);
}

// Solves what started at now().
void FluidEngine::flush() {
  if (!pending_.flows.empty()) {
    weigh_twins();
    collect_affected();
    build_islands();
  }
}

// Joins the pending flows with those of the islands that they touch.
void FluidEngine::collect_affected() {
  const std::size_t own_hops = pending_.hops.size();
  for (std::size_t h = 0; h < own_hops; ++h) {
    const int32_t island = island_of_[at(pending_.hops[h].link)];
    if (island >= 0) {
      islands_[at(island)].append_to(pending_);
      release(island);
    }
  }
  const auto by_key = [](const FlowState& a, const FlowState& b) { return a.key < b.key; };
  if (!std::is_sorted(pending_.flows.begin(), pending_.flows.end(), by_key)) {
    std::sort(pending_.flows.begin(), pending_.flows.end(), by_key);
  }
}

int32_t FluidEngine::root(int32_t link) {
  while (parent_[at(link)] != link) {
    parent_[at(link)] = parent_[at(parent_[at(link)])];
    link = parent_[at(link)];
  }
  return link;
}

int32_t FluidEngine::new_island() {
  if (free_islands_.empty()) {
    islands_.push_back(FlowIsland());
    return static_cast<int32_t>(islands_.size()) - 1;
  }
  const int32_t island = free_islands_.back();
  free_islands_.pop_back();
  return island;
}

// Splits the pending flows into connected islands and solves each.
void FluidEngine::build_islands() {
  for (const Hop& hop : pending_.hops) {
    parent_[at(hop.link)] = hop.link;
  }
  for (const FlowState& flow : pending_.flows) {
    const std::span<const Hop> path = pending_.path(flow);
    for (const Hop& hop : path.subspan(1)) {
      // The root is the smallest link of its set.
      const int32_t a = root(path.front().link);
      const int32_t b = root(hop.link);
      parent_[at(std::max(a, b))] = std::min(a, b);
    }
  }
  std::vector<int32_t> built;
  for (const FlowState& flow : pending_.flows) {
    const int32_t first = root(pending_.path(flow).front().link);
    int32_t& island = island_of_[at(first)];
    if (island < 0) {
      island = new_island();
      built.push_back(island);
    }
    const int32_t owner = island;
    for (const Hop& hop : pending_.path(flow)) {
      if (local_of_[at(hop.link)] < 0) {
        local_of_[at(hop.link)] = islands_[at(owner)].add_link(hop.link, capacity_[at(hop.link)]);
        island_of_[at(hop.link)] = owner;
      }
    }
    islands_[at(owner)].add_flow(pending_, flow, local_of_);
  }
  for (const Hop& hop : pending_.hops) {
    parent_[at(hop.link)] = -1;
    pending_link_[at(hop.link)] = false;
  }
  pending_.clear();
  for (const int32_t island : built) {
    islands_[at(island)].solve(now_ps_);
    events_.set(island, islands_[at(island)].next_ps());
  }
}

void FluidEngine::hand_over(FluidEngine& to, int32_t transfer, int64_t shift_ps,
                            int64_t shift_key) {
  CHECK(pending_.flows.empty() && completed_.empty(), "nothing is half done");
  to.transfers_[at(transfer)].flows_left = flows_left(0);
  for (int32_t i = 0; i < static_cast<int32_t>(islands_.size()); ++i) {
    if (islands_[at(i)].active() == 0) {
      continue;
    }
    islands_[at(i)].shift(shift_ps, shift_key, transfer);
    forget_links(i);
    const int32_t slot = to.new_island();
    std::swap(islands_[at(i)], to.islands_[at(slot)]);
    to.adopt_links(slot);
    to.events_.set(slot, to.islands_[at(slot)].next_ps());
    release(i);
  }
  reset();
}

void FluidEngine::reset() {
  for (int32_t i = 0; i < static_cast<int32_t>(islands_.size()); ++i) {
    if (islands_[at(i)].active() > 0) {
      release(i);
    }
  }
  for (const Hop& hop : pending_.hops) {
    pending_link_[at(hop.link)] = false;
  }
  pending_.clear();
  twin_table_.clear();
  transfers_.clear();
  free_transfers_.clear();
  completed_.clear();
  now_ps_ = 0;
}

void FluidEngine::adopt_links(int32_t island) {
  const FlowIsland& flows = islands_[at(island)];
  for (std::size_t l = 0; l < flows.links(); ++l) {
    const std::size_t link = at(flows.global_link(l));
    CHECK(island_of_[link] < 0, "a link has one island");
    island_of_[link] = island;
    local_of_[link] = static_cast<int32_t>(l);
  }
}

std::size_t FluidEngine::island_count() {
  flush();
  return islands_.size() - free_islands_.size();
}

}  // namespace mixnet::sim
