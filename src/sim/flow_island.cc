#include "sim/flow_island.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/index.h"

namespace mixnet::sim {
namespace {

// Rates that differ by less are one level. Sums of a few thousand doubles are off by 1e-13; without
// this, links that fill together would fill one after the other in meaningless steps.
constexpr double kSameRate = 1e-11;
// A flow that needs less than this beyond a whole picosecond is done with it. The second part is
// the rounding error of long times.
constexpr double kTimeSlackPs = 1e-3;
constexpr double kTimeSlack = 2e-14;

int64_t deadline(double remaining, double ps_per_byte, int64_t now_ps) {
  const double needed = remaining * ps_per_byte;
  const double rounded = std::ceil(needed - kTimeSlackPs - needed * kTimeSlack);
  const auto room = static_cast<double>(kNeverPs - now_ps);
  return rounded < room ? now_ps + static_cast<int64_t>(rounded) : kNeverPs;
}

}  // namespace

void FlowTable::clear() {
  flows.clear();
  hops.clear();
  members.clear();
}

void FlowIsland::clear() {
  flows_.clear();
  hops_.clear();
  members_.clear();
  links_.clear();
  order_.clear();
  levels_.clear();
}

int32_t FlowIsland::add_link(int32_t link, double capacity) {
  links_.push_back(Link{capacity, 0, 0, 0, 0, stamp_, 0, -1, link});
  return static_cast<int32_t>(links_.size()) - 1;
}

void FlowIsland::reserve(std::size_t flows, std::size_t hops) {
  flows_.reserve(flows);
  order_.reserve(flows);
  suffix_.reserve(flows);
  members_.reserve(flows);
  hops_.reserve(hops);
}

void FlowIsland::add_flow(const FlowTable& from, const FlowState& flow,
                          std::span<const int32_t> local) {
  const auto index = static_cast<int32_t>(flows_.size());
  FlowState copy = flow;
  copy.first_hop = static_cast<int32_t>(hops_.size());
  for (const Hop& hop : from.path(flow)) {
    hops_.push_back(LinkedHop{hop.weight, 0, local[at(hop.link)], index, -1});
  }
  copy.first_member = -1;
  for (int32_t m = flow.first_member; m >= 0; m = from.members[at(m)].next) {
    members_.push_back(FlowMember{from.members[at(m)].transfer, copy.first_member});
    copy.first_member = static_cast<int32_t>(members_.size()) - 1;
  }
  flows_.push_back(copy);
  order_.push_back(index);
}

void FlowIsland::append_to(FlowTable& to) const {
  std::vector<int32_t> active = order_;
  std::sort(active.begin(), active.end());
  for (const int32_t index : active) {
    const FlowState& flow = flows_[at(index)];
    FlowState copy = flow;
    copy.first_hop = static_cast<int32_t>(to.hops.size());
    for (int32_t h = flow.first_hop; h < flow.first_hop + flow.hops; ++h) {
      to.hops.push_back(Hop{links_[at(hops_[at(h)].link)].global, hops_[at(h)].weight});
    }
    copy.first_member = -1;
    for (int32_t m = flow.first_member; m >= 0; m = members_[at(m)].next) {
      to.members.push_back(FlowMember{members_[at(m)].transfer, copy.first_member});
      copy.first_member = static_cast<int32_t>(to.members.size()) - 1;
    }
    to.flows.push_back(copy);
  }
}

void FlowIsland::shift(int64_t ps, int64_t key, int32_t transfer) {
  const auto moved = [ps](int64_t t) { return t == kNeverPs ? t : t + ps; };
  for (FlowState& flow : flows_) {
    flow.since_ps += ps;
    flow.deadline_ps = moved(flow.deadline_ps);
    flow.key += key;
  }
  for (Level& level : levels_) {
    level.earliest_ps = moved(level.earliest_ps);
  }
  for (FlowMember& member : members_) {
    CHECK(member.transfer == 0, "only an island of one transfer moves");
    member.transfer = transfer;
  }
}

void FlowIsland::solve(int64_t now_ps) {
  ++stamp_;
  suffix_ = order_;
  order_.clear();
  levels_.clear();
  touched_.clear();
  for (const int32_t flow : suffix_) {
    thaw(flow, true);
  }
  fill(now_ps);
}

void FlowIsland::complete(int64_t now_ps, std::vector<int32_t>& transfers) {
  CHECK(next_ps() == now_ps, "no flow of this island completes now");
  // earliest_ps never rises from level to level: find the first level with a completion.
  const auto level = std::partition_point(
      levels_.begin(), levels_.end(), [now_ps](const Level& l) { return l.earliest_ps > now_ps; });
  const int32_t first = level->first;
  levels_.erase(level, levels_.end());
  suffix_.assign(order_.begin() + first, order_.end());
  order_.resize(at(first));
  ++stamp_;
  touched_.clear();
  for (const int32_t index : suffix_) {
    const FlowState& flow = flows_[at(index)];
    if (flow.deadline_ps > now_ps) {
      thaw(index, false);
      continue;
    }
    for (int32_t h = flow.first_hop; h < flow.first_hop + flow.hops; ++h) {
      const LinkedHop& hop = hops_[at(h)];
      touch(links_[at(hop.link)], hop.residual, hop.link);
    }
    for (int32_t m = flow.first_member; m >= 0; m = members_[at(m)].next) {
      transfers.push_back(members_[at(m)].transfer);
    }
  }
  fill(now_ps);
}

// The first hop that touches a link in freezing order knows its residual at the resumed level.
void FlowIsland::touch(Link& link, double residual, int32_t index) {
  if (link.stamp == stamp_) {
    return;
  }
  link.stamp = stamp_;
  link.residual = residual;
  link.level_frozen = 0;
  link.level_rate = 0;
  link.weight = 0;
  link.open = 0;
  link.head = -1;
  touched_.push_back(index);
}

void FlowIsland::thaw(int32_t flow, bool from_capacity) {
  FlowState& state = flows_[at(flow)];
  state.frozen = false;
  for (int32_t h = state.first_hop; h < state.first_hop + state.hops; ++h) {
    LinkedHop& hop = hops_[at(h)];
    Link& link = links_[at(hop.link)];
    touch(link, from_capacity ? link.capacity : hop.residual, hop.link);
    link.weight += hop.weight;
    ++link.open;
    hop.next = link.head;
    link.head = h;
  }
}

void FlowIsland::build_candidates() {
  candidates_.clear();
  for (const int32_t index : touched_) {
    const Link& link = links_[at(index)];
    if (link.open > 0) {
      candidates_.push_back(Candidate{link.residual / link.weight, index});
    }
  }
  for (std::size_t i = candidates_.size() / 2; i-- > 0;) {
    sift_candidate(i);
  }
}

void FlowIsland::sift_candidate(std::size_t i) {
  const Candidate moving = candidates_[i];
  while (2 * i + 1 < candidates_.size()) {
    std::size_t child = 2 * i + 1;
    if (child + 1 < candidates_.size() && candidates_[child + 1].before(candidates_[child])) {
      ++child;
    }
    if (!candidates_[child].before(moving)) {
      break;
    }
    candidates_[i] = candidates_[child];
    i = child;
  }
  candidates_[i] = moving;
}

void FlowIsland::drop_top_candidate() {
  candidates_.front() = candidates_.back();
  candidates_.pop_back();
  if (!candidates_.empty()) {
    sift_candidate(0);
  }
}

void FlowIsland::open_level(double rate) {
  const int64_t earliest = levels_.empty() ? kNeverPs : levels_.back().earliest_ps;
  levels_.push_back(Level{rate, static_cast<int32_t>(order_.size()), earliest});
}

void FlowIsland::fill(int64_t now_ps) {
  build_candidates();
  double rate = levels_.empty() ? 0 : levels_.back().rate;
  bool opened = false;
  while (!candidates_.empty()) {
    const Candidate top = candidates_.front();
    Link& link = links_[at(top.link)];
    if (link.open == 0) {
      drop_top_candidate();
      continue;
    }
    const double fills_at = (link.residual - link.level_rate * link.level_frozen) / link.weight;
    if (fills_at > top.rate) {  // flows of the link froze below its bound
      candidates_.front().rate = fills_at;
      sift_candidate(0);
      continue;
    }
    if (!opened || fills_at > rate * (1 + kSameRate)) {
      rate = std::max(rate, fills_at);
      open_level(rate);
      opened = true;
    }
    drop_top_candidate();
    for (int32_t h = link.head; h >= 0; h = hops_[at(h)].next) {
      freeze(hops_[at(h)].flow, now_ps);
    }
  }
}

// Freezes a flow at the last level. Its rate changes only if it is another than before, so that a
// flow which a completion does not touch gathers no rounding error.
void FlowIsland::freeze(int32_t index, int64_t now_ps) {
  FlowState& flow = flows_[at(index)];
  if (flow.frozen) {
    return;
  }
  flow.frozen = true;
  order_.push_back(index);
  Level& level = levels_.back();
  if (flow.rate != level.rate) {
    flow.remaining -= flow.rate * static_cast<double>(now_ps - flow.since_ps);
    flow.since_ps = now_ps;
    flow.rate = level.rate;
    flow.deadline_ps = level.rate > 0 ? deadline(flow.remaining, 1 / level.rate, now_ps) : kNeverPs;
  }
  level.earliest_ps = std::min(level.earliest_ps, flow.deadline_ps);
  for (int32_t h = flow.first_hop; h < flow.first_hop + flow.hops; ++h) {
    LinkedHop& hop = hops_[at(h)];
    Link& link = links_[at(hop.link)];
    if (link.level_rate != level.rate) {
      link.residual -= link.level_rate * link.level_frozen;
      link.level_frozen = 0;
      link.level_rate = level.rate;
    }
    hop.residual = link.residual;
    link.level_frozen += hop.weight;
    link.weight -= hop.weight;
    --link.open;
  }
}

}  // namespace mixnet::sim
