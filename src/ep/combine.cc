#include "ep/combine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "ep/flow_mover.h"
#include "ep/row_return.h"

namespace mixnet::ep {
namespace {

// The numbers that a rank declares: where its rows and weights are in its window, then its offer.
constexpr std::size_t kRowsAt = 0;
constexpr std::size_t kWeightsAt = 1;
constexpr std::size_t kOfferAt = 2;

constexpr std::size_t kMostBiases = 2;

class CombineCall {
 public:
  CombineCall(ExchangeState& state, const CombineInput& input, const DispatchHandle& handle,
              Address out)
      : state_(state), input_(input), handle_(handle), out_(out) {}

  Result<Combined> run() {
    const Status status =
        run_call(state_.endpoint, state_.patience, [&](Attempt& attempt) { return once(attempt); });
    if (!status) {
      return status.error();
    }
    if (!refusal_.empty()) {
      return Error{refusal_, {}};
    }
    return std::move(result_);
  }

 private:
  Attempt::Progress once(Attempt& attempt);
  Declaration declare(Attempt& attempt, Places& places);
  std::string bad_input() const;
  uint64_t in_window(Attempt& attempt, ConstAddress from, uint64_t bytes, std::string& refusal);

  ExchangeState& state_;
  const CombineInput& input_;
  const DispatchHandle& handle_;
  Address out_;
  Combined result_;
  std::string refusal_;
};

Attempt::Progress CombineCall::once(Attempt& attempt) {
  using Progress = Attempt::Progress;
  Places places(attempt, state_.combine_sizes, kOfferAt);
  const Declaration own = declare(attempt, places);
  if (attempt.announce(own) == Progress::kBroken) {
    return Progress::kBroken;
  }
  refusal_ = contradiction(own, attempt.declarations(), attempt.lost()).value_or("");
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  const RowsLayout shape{0, static_cast<uint64_t>(input_.hidden * bytes_of(input_.type)),
                         handle_.top_k, false, input_.weighted};
  ReturnPlan plan = plan_return(handle_, attempt.lost(), attempt.transport().ranks(), shape,
                                input_.type, input_.hidden);
  const std::vector<RoomNeed> needs = needs_of(plan, attempt.transport().ranks());
  refusal_ = places.lacking_room("combine", needs);
  if (!refusal_.empty()) {
    return Progress::kDone;
  }
  if (places.agree(needs) == Progress::kBroken) {
    return Progress::kBroken;
  }
  plan.receive_at = places.receive_at();
  plan.relay_at = places.relay_at();
  for (const PeerDeclaration& peer : attempt.declarations()) {
    plan.rows_at.push_back(peer.numbers.empty() ? 0 : static_cast<uint64_t>(peer.numbers[kRowsAt]));
    plan.weights_at.push_back(
        peer.numbers.empty() ? 0 : static_cast<uint64_t>(peer.numbers[kWeightsAt]));
  }
  RowReturn exchange(attempt, state_, plan);
  exchange.push();
  if (attempt.wait([&] { return exchange.advance() && attempt.transport().drained(); },
                   [&](int rank) { return exchange.missing(rank); }) == Progress::kBroken) {
    return Progress::kBroken;
  }
  result_ = {};
  exchange.sum_rows(out_, input_.biases);
  if (shape.weighted) {
    result_.weights.resize(static_cast<std::size_t>(handle_.tokens) * at(handle_.top_k));
    exchange.sum_weights(result_.weights);
  }
  result_.tokens_with_loss = exchange.tokens_with_loss();
  return Progress::kDone;
}

std::string CombineCall::bad_input() const {
  if (input_.hidden < 1) {
    return "hidden has to be at least 1";
  }
  if (handle_.rows > 0 && !input_.x) {
    return "x is null although rows were received";
  }
  const std::size_t slots = static_cast<std::size_t>(handle_.rows) * at(handle_.top_k);
  if (input_.weighted && input_.weights.size() != slots) {
    return "weights has " + std::to_string(input_.weights.size()) + " entries, not " +
           std::to_string(slots);
  }
  if (input_.biases.size() > kMostBiases) {
    return "there are " + std::to_string(input_.biases.size()) + " biases; at most 2 are added";
  }
  return {};
}

Declaration CombineCall::declare(Attempt& attempt, Places& places) {
  Declaration own;
  own.kind = CallKind::kCombine;
  own.fields = {{"hidden", input_.hidden},
                {"data type", static_cast<int64_t>(input_.type)},
                {"weighted", input_.weighted ? 1 : 0},
                {"dispatch", static_cast<int64_t>(handle_.number)}};
  own.refusal = bad_input();
  own.numbers = {0, 0};
  if (own.refusal.empty()) {
    const auto rows = static_cast<uint64_t>(handle_.rows);
    const uint64_t row_bytes = static_cast<uint64_t>(input_.hidden * bytes_of(input_.type));
    own.numbers[kRowsAt] =
        static_cast<int64_t>(in_window(attempt, input_.x, rows * row_bytes, own.refusal));
    own.numbers[kWeightsAt] = static_cast<int64_t>(in_window(
        attempt, host_address(input_.weights.data()), input_.weights.size_bytes(), own.refusal));
  }
  places.offer(own.numbers);
  return own;
}

// The offset of `from`, copied into the window unless it is there.
uint64_t CombineCall::in_window(Attempt& attempt, ConstAddress from, uint64_t bytes,
                                std::string& refusal) {
  const Window window = attempt.transport().window();
  if (bytes == 0) {
    return 0;
  }
  if (from.kind == window.base.kind && from.data >= window.base.data &&
      from.data + bytes <= window.base.data + window.bytes) {
    return static_cast<uint64_t>(from.data - window.base.data);
  }
  const std::optional<uint64_t> block = attempt.lend(bytes);
  if (!block) {
    refusal = "its window has no room for a copy of " + std::to_string(bytes) +
              " bytes: hand in rows that are in the window, or open a larger one";
    return 0;
  }
  state_.copies.copy(window.base + *block, from, bytes);
  return *block;
}

}  // namespace

Result<Combined> combine(ExchangeState& state, const CombineInput& input,
                         const std::shared_ptr<const DispatchHandle>& handle, Address out) {
  CHECK(handle != nullptr, "combine() needs the handle of a dispatch");
  return CombineCall(state, input, *handle, out).run();
}

}  // namespace mixnet::ep
