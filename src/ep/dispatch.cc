#include "ep/dispatch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "ep/flow_slots.h"
#include "ep/live_choices.h"
#include "ep/row_exchange.h"

namespace mixnet::ep {
namespace {

// The numbers that a rank declares: its room for the worst case, the routes that it holds as pairs
// of version and fingerprint, its offer of places, then rows per rank, then rows per host.
constexpr std::size_t kWorst = 0;
constexpr std::size_t kRoutes = 1;
constexpr std::size_t kDispatchOffer = kRoutes + 2 * RouteVersions::kMost;
constexpr int64_t kNoVersion = -1;
constexpr std::size_t kRows = kDispatchOffer + Places::kNumbers;

std::string bad_input(const DispatchInput& input, const DispatchOptions& options) {
  if (options.experts < 1 || input.tokens < 0 || input.hidden < 1 || input.choices.top_k < 1 ||
      options.alignment < 1 || options.worst_tokens < 0) {
    return "experts, hidden, top_k and alignment have to be at least 1, tokens and worst_tokens at "
           "least 0";
  }
  const auto slots = static_cast<std::size_t>(input.tokens) * at(input.choices.top_k);
  if (input.choices.experts.size() != slots) {
    return "topk_experts has " + std::to_string(input.choices.experts.size()) + " entries, not " +
           std::to_string(input.tokens) + " tokens x " + std::to_string(input.choices.top_k);
  }
  if (input.weights.size() != (options.weighted ? slots : 0)) {
    return "topk_weights has " + std::to_string(input.weights.size()) + " entries, not " +
           std::to_string(options.weighted ? slots : 0);
  }
  if (input.tokens > 0 && !input.x) {
    return "x is null although there are tokens";
  }
  return bad_choice(input.choices, options.experts).value_or("");
}

void declare_routes(const RouteVersions& routes, std::vector<int64_t>& numbers) {
  for (const HeldRoutes& held : routes.held()) {
    numbers.push_back(held.version);
    numbers.push_back(held.fingerprint);
  }
  numbers.resize(kDispatchOffer, kNoVersion);
}

std::vector<HeldRoutes> declared_routes(const std::vector<int64_t>& numbers) {
  std::vector<HeldRoutes> held;
  for (std::size_t i = kRoutes; i < kDispatchOffer && numbers[i] != kNoVersion; i += 2) {
    held.push_back(HeldRoutes{numbers[i], numbers[i + 1]});
  }
  return held;
}

bool uses_relays(TransportMode mode) {
  return mode == TransportMode::kRelay || mode == TransportMode::kRelayCopies;
}

class DispatchCall {
 public:
  DispatchCall(ExchangeState& state, const DispatchInput& input, const DispatchOptions& options)
      : state_(state),
        input_(input),
        options_(options),
        ranks_(state.endpoint.transport.ranks()),
        self_(state.endpoint.self()) {}

  Result<Dispatched> run();

 private:
  Attempt::Progress once(Attempt& attempt);
  Declaration declare(Places& places);
  void choose(const RankSet& lost);
  std::string choose_routes(const Attempt& attempt);
  void read_counts(const Attempt& attempt);
  RowPlan plan_of(const Attempt& attempt);
  std::vector<RoomNeed> needs_of(const RowPlan& plan) const;
  std::string too_many_rows(const Attempt& attempt) const;
  void collect_shares(Attempt& attempt, const RowPlan& plan);
  Dispatched collect();
  void count_tokens(Dispatched& result);

  ExchangeState& state_;
  const DispatchInput& input_;
  const DispatchOptions& options_;
  const RankMap& ranks_;
  int self_;
  LiveChoices live_;
  std::vector<uint64_t> relay_bytes_;
  std::shared_ptr<DispatchHandle> handle_;
  RowsLayout layout_;   // of the block of this rank
  uint64_t block_ = 0;  // its offset
  int64_t routes_ = 0;  // version
  std::string refusal_;
};

Result<Dispatched> DispatchCall::run() {
  const Status status =
      run_call(state_.endpoint, state_.patience, [&](Attempt& attempt) { return once(attempt); });
  if (!status) {
    return status.error();
  }
  if (!refusal_.empty()) {
    return Error{refusal_, {}};
  }
  return collect();
}

Attempt::Progress DispatchCall::once(Attempt& attempt) {
  using Progress = Attempt::Progress;
  Places places(attempt, state_.dispatch_sizes, kDispatchOffer);
  handle_ = std::make_shared<DispatchHandle>();
  const Declaration own = declare(places);
  if (attempt.announce(own) == Progress::kBroken) {
    return Progress::kBroken;
  }
  refusal_ = contradiction(own, attempt.declarations(), attempt.lost()).value_or("");
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  refusal_ = choose_routes(attempt);
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  read_counts(attempt);
  RowPlan plan = plan_of(attempt);
  const std::vector<RoomNeed> needs = needs_of(plan);
  refusal_ = too_many_rows(attempt);
  if (refusal_.empty()) {
    refusal_ = places.lacking_room("dispatch", needs);
  }
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  if (places.agree(needs) == Progress::kBroken) {
    return Progress::kBroken;
  }
  plan.receive_at = places.receive_at();
  plan.relay_at = places.relay_at();
  const RowSource source{input_.x, TopK{live_.experts, input_.choices.top_k}, live_.weights};
  RowExchange exchange(attempt, state_, plan, source, handle_->pulls);
  exchange.push();
  if (attempt.wait([&] { return exchange.advance() && attempt.transport().drained(); },
                   [&](int rank) { return exchange.missing(rank); }) == Progress::kBroken) {
    return Progress::kBroken;
  }
  collect_shares(attempt, plan);
  block_ = plan.receive_at[at(self_)];
  attempt.shrink_lent(block_, needs[at(self_)].receive);
  attempt.keep(block_);
  return Progress::kDone;
}

Declaration DispatchCall::declare(Places& places) {
  Declaration own;
  own.kind = CallKind::kDispatch;
  own.fields = {{"experts", options_.experts},
                {"top_k", input_.choices.top_k},
                {"hidden", input_.hidden},
                {"data type", static_cast<int64_t>(input_.type)},
                {"mode", static_cast<int64_t>(options_.mode)},
                {"weighted", options_.weighted ? 1 : 0}};
  own.refusal = bad_input(input_, options_);
  if (options_.mode == TransportMode::kDirect && ranks_.ranks() > 1 &&
      state_.endpoint.transport.rails() == 0) {
    own.refusal = "mode 0 sends through NICs, and there are none: name them, as MIXNET_NICS=lo";
  }
  handle_->lists.to_rank.resize(at(ranks_.ranks()));
  handle_->lists.to_host.resize(at(ranks_.hosts()));
  if (own.refusal.empty()) {
    choose(state_.endpoint.lost);
  }
  own.numbers = {options_.worst_tokens};
  declare_routes(state_.routes, own.numbers);
  places.offer(own.numbers);
  for (const auto& copies : handle_->lists.to_rank) {
    own.numbers.push_back(static_cast<int64_t>(copies.size()));
  }
  for (const auto& copies : handle_->lists.to_host) {
    own.numbers.push_back(rows_to_host(options_.mode, copies));
  }
  return own;
}

void DispatchCall::choose(const RankSet& lost) {
  const ExpertMap experts(options_.experts, ranks_.ranks());
  live_ = live_choices(input_.choices, input_.weights, experts, lost,
                       options_.on_loss == LossPolicy::kRenormalise);
  handle_->lists = send_lists(TopK{live_.experts, input_.choices.top_k}, experts, ranks_);
}

std::string DispatchCall::choose_routes(const Attempt& attempt) {
  std::vector<std::vector<HeldRoutes>> held(at(ranks_.ranks()));
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    if (attempt.takes_part(rank)) {
      held[at(rank)] = declared_routes(attempt.declarations()[at(rank)].numbers);
    }
  }
  const RouteChoice choice = ep::choose_routes(held);
  if (!choice.conflict.empty()) {
    return "dispatch: " + choice.conflict;
  }
  routes_ = choice.version;
  state_.routes.forget_before(routes_);
  return {};
}

// How much everyone sends to whom.
void DispatchCall::read_counts(const Attempt& attempt) {
  RowCounts& counts = handle_->counts;
  counts.to_rank = Matrix<int64_t>(at(ranks_.ranks()), at(ranks_.ranks()));
  counts.to_host = Matrix<int64_t>(at(ranks_.ranks()), at(ranks_.hosts()));
  for (int source = 0; source < ranks_.ranks(); ++source) {
    if (attempt.takes_part(source)) {
      const auto& numbers = attempt.declarations()[at(source)].numbers;
      const auto rows = numbers.begin() + kRows;
      std::copy_n(rows, ranks_.ranks(), counts.to_rank.row(at(source)).begin());
      std::copy_n(rows + ranks_.ranks(), ranks_.hosts(), counts.to_host.row(at(source)).begin());
    }
  }
}

RowPlan DispatchCall::plan_of(const Attempt& attempt) {
  const RowsLayout shape{0, static_cast<uint64_t>(input_.hidden * bytes_of(input_.type)),
                         input_.choices.top_k, true, options_.weighted};
  handle_->flows.clear();
  if (uses_relays(options_.mode)) {
    handle_->flows = plan_flows(handle_->counts, ranks_, state_.routes.table(routes_),
                                state_.endpoint.transport.rails(), attempt.lost());
  }
  relay_bytes_ = place_flows(handle_->flows, ranks_, shape);
  RowPlan plan{options_.mode,
               ExpertMap(options_.experts, ranks_.ranks()),
               handle_->counts,
               handle_->lists,
               handle_->flows,
               shape,
               {},
               {},
               {}};
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    const int64_t worst =
        attempt.takes_part(rank) ? attempt.declarations()[at(rank)].numbers[kWorst] : 0;
    plan.capacity.push_back(std::max(worst, rows_of(handle_->counts.to_rank, rank)));
  }
  layout_ = shape;
  layout_.rows = plan.capacity[at(self_)];
  return plan;
}

std::vector<RoomNeed> DispatchCall::needs_of(const RowPlan& plan) const {
  std::vector<RoomNeed> needs;
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    needs.push_back(RoomNeed{receive_bytes(plan, rank), relay_bytes_[at(rank)],
                             stage_bytes(plan, ranks_, rank)});
  }
  return needs;
}

std::string DispatchCall::too_many_rows(const Attempt& attempt) const {
  for (int rank = 0; rank < ranks_.ranks(); ++rank) {
    const int64_t rows = rows_of(handle_->counts.to_rank, rank);
    const int64_t worst =
        attempt.takes_part(rank) ? attempt.declarations()[at(rank)].numbers[kWorst] : 0;
    if (worst > 0 && rows > worst) {
      return "dispatch: rank " + std::to_string(rank) + " receives " + std::to_string(rows) +
             " tokens but has worst_tokens = " + std::to_string(worst);
    }
  }
  return {};
}

// Where flows come in, who of the host has which row: a combine adds them up here.
void DispatchCall::collect_shares(Attempt& attempt, const RowPlan& plan) {
  const Address window = attempt.transport().window().base;
  handle_->shares.assign(plan.flows.size(), {});
  for (std::size_t index = 0; index < plan.flows.size(); ++index) {
    const Flow& flow = plan.flows[index];
    if (flow.last() == self_) {
      const Address place = window + plan.relay_at[at(self_)] + flow.places.back();
      handle_->shares[index] = shares_of_flow(state_.copies, plan, ranks_, flow, place);
    }
  }
}

Dispatched DispatchCall::collect() {
  const Address block = state_.endpoint.transport.window().base + block_;
  const std::size_t slots = static_cast<std::size_t>(layout_.rows) * at(layout_.top_k);
  Dispatched result;
  result.block = WindowBlock(state_.endpoint.memory, block_);
  result.x = block;
  result.rows = rows_of(handle_->counts.to_rank, self_);
  const auto used = static_cast<std::size_t>(result.rows) * at(layout_.top_k);
  auto* experts = reinterpret_cast<int64_t*>((block + layout_.experts_at()).data);
  std::fill(experts + used, experts + slots, -1);
  result.experts = {experts, slots};
  if (layout_.weighted) {
    auto* weights = reinterpret_cast<float*>((block + layout_.weights_at()).data);
    std::fill(weights + used, weights + slots, 0.0F);
    result.weights = {weights, slots};
  }
  count_tokens(result);
  result.tokens_with_loss = std::move(live_.tokens_with_loss);
  handle_->mode = options_.mode;
  handle_->experts = options_.experts;
  handle_->top_k = input_.choices.top_k;
  handle_->tokens = input_.tokens;
  handle_->rows = result.rows;
  handle_->lost = state_.endpoint.lost;
  handle_->number = state_.endpoint.attempts;
  result.handle = std::move(handle_);
  return result;
}

void DispatchCall::count_tokens(Dispatched& result) {
  if (options_.worst_tokens > 0) {
    return;
  }
  const ExpertMap experts(options_.experts, ranks_.ranks());
  result.tokens_per_expert.resize(at(experts.experts_of(self_)));
  for (const int64_t expert : result.experts) {
    if (expert >= 0) {
      ++result.tokens_per_expert[static_cast<std::size_t>(expert)];
    }
  }
  for (const int64_t count : result.tokens_per_expert) {
    const int64_t step = options_.alignment;
    result.aligned_tokens_per_expert.push_back((count + step - 1) / step * step);
  }
}

}  // namespace

Result<Dispatched> dispatch(ExchangeState& state, const DispatchInput& input,
                            const DispatchOptions& options) {
  return DispatchCall(state, input, options).run();
}

}  // namespace mixnet::ep
