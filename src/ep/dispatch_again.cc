#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "ep/dispatch.h"
#include "ep/row_exchange.h"

namespace mixnet::ep {
namespace {

class RepeatedDispatch {
 public:
  RepeatedDispatch(ExchangeState& state, const DispatchInput& input,
                   std::shared_ptr<const DispatchHandle> handle)
      : state_(state),
        input_(input),
        handle_(std::move(handle)),
        ranks_(state.endpoint.transport.ranks()),
        self_(state.endpoint.self()) {}

  Result<Dispatched> run();

 private:
  Attempt::Progress once(Attempt& attempt);
  Declaration declare(Places& places) const;
  RowPlan plan_of(const RankSet& lost);
  void clear_lost_rows(const RankSet& lost);

  ExchangeState& state_;
  const DispatchInput& input_;
  std::shared_ptr<const DispatchHandle> handle_;
  const RankMap& ranks_;
  int self_;
  std::vector<Flow> flows_;
  std::vector<uint64_t> relay_bytes_;
  RowsLayout shape_;
  uint64_t block_ = 0;
  std::string refusal_;
};

Result<Dispatched> RepeatedDispatch::run() {
  const Status status =
      run_call(state_.endpoint, state_.patience, [&](Attempt& attempt) { return once(attempt); });
  if (!status) {
    return status.error();
  }
  if (!refusal_.empty()) {
    return Error{refusal_, {}};
  }
  Dispatched result;
  result.block = WindowBlock(state_.endpoint.memory, block_);
  result.x = state_.endpoint.transport.window().base + block_;
  result.rows = handle_->rows;
  result.handle = handle_;
  return result;
}

Attempt::Progress RepeatedDispatch::once(Attempt& attempt) {
  using Progress = Attempt::Progress;
  Places places(attempt, state_.dispatch_sizes, 0);
  const Declaration own = declare(places);
  if (attempt.announce(own) == Progress::kBroken) {
    return Progress::kBroken;
  }
  refusal_ = contradiction(own, attempt.declarations(), attempt.lost()).value_or("");
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  RowPlan plan = plan_of(attempt.lost());
  std::vector<RoomNeed> needs;
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    needs.push_back(RoomNeed{receive_bytes(plan, rank), relay_bytes_[at(rank)],
                             stage_bytes(plan, ranks_, rank)});
  }
  refusal_ = places.lacking_room(call_name(own.kind), needs);
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  if (places.agree(needs) == Progress::kBroken) {
    return Progress::kBroken;
  }
  plan.receive_at = places.receive_at();
  plan.relay_at = places.relay_at();
  block_ = plan.receive_at[at(self_)];
  std::vector<Pulls> pulls = handle_->pulls;
  const RowSource source{input_.x, {}, {}};
  RowExchange exchange(attempt, state_, plan, source, pulls);
  exchange.push();
  if (attempt.wait([&] { return exchange.advance() && attempt.transport().drained(); },
                   [&](int rank) { return exchange.missing(rank); }) == Progress::kBroken) {
    return Progress::kBroken;
  }
  clear_lost_rows(attempt.lost());
  attempt.shrink_lent(block_, needs[at(self_)].receive);
  attempt.keep(block_);
  return Progress::kDone;
}

Declaration RepeatedDispatch::declare(Places& places) const {
  Declaration own;
  own.kind = CallKind::kCachedDispatch;
  own.fields = {{"hidden", input_.hidden},
                {"data type", static_cast<int64_t>(input_.type)},
                {"dispatch", static_cast<int64_t>(handle_->number)}};
  if (input_.hidden < 1) {
    own.refusal = "hidden has to be at least 1";
  } else if (input_.tokens != handle_->tokens) {
    own.refusal = "x has " + std::to_string(input_.tokens) + " tokens, but the dispatch had " +
                  std::to_string(handle_->tokens);
  } else if (input_.tokens > 0 && !input_.x) {
    own.refusal = "x is null although there are tokens";
  }
  places.offer(own.numbers);
  return own;
}

// Without relays when somebody was lost since then: nobody else knows what a lost relay knew.
RowPlan RepeatedDispatch::plan_of(const RankSet& lost) {
  TransportMode mode = handle_->mode;
  flows_.clear();
  if (handle_->lost == lost) {
    flows_ = handle_->flows;
  } else if (mode != TransportMode::kDirect) {
    mode = TransportMode::kNvlink;
  }
  shape_ =
      RowsLayout{0, static_cast<uint64_t>(input_.hidden * bytes_of(input_.type)), 0, false, false};
  relay_bytes_ = place_flows(flows_, ranks_, shape_);
  RowPlan plan{mode,
               ExpertMap(handle_->experts, ranks_.ranks()),
               handle_->counts,
               handle_->lists,
               flows_,
               shape_,
               {},
               {},
               {}};
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    plan.capacity.push_back(rows_of(handle_->counts.to_rank, rank));
  }
  return plan;
}

void RepeatedDispatch::clear_lost_rows(const RankSet& lost) {
  for (const int source : lost.ranks()) {
    const auto rows = handle_->counts.to_rank(at(source), at(self_));
    const std::vector<std::byte> zeros(static_cast<std::size_t>(rows) * shape_.row_bytes);
    const auto before = static_cast<uint64_t>(rows_before(handle_->counts.to_rank, source, self_));
    state_.copies.copy(state_.endpoint.transport.window().base + block_ + before * shape_.row_bytes,
                       host_address(zeros.data()), zeros.size());
  }
}

}  // namespace

Result<Dispatched> dispatch_again(ExchangeState& state, const DispatchInput& input,
                                  const std::shared_ptr<const DispatchHandle>& handle) {
  CHECK(handle != nullptr, "dispatch_again() needs the handle of a dispatch");
  return RepeatedDispatch(state, input, handle).run();
}

}  // namespace mixnet::ep
