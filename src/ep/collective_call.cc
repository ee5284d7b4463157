#include "ep/collective_call.h"

#include <utility>

namespace mixnet::ep {

Status CollectiveCall::run() {
  bad_ = prepare();
  const Status status =
      run_call(state_.endpoint, state_.patience, [&](Attempt& attempt) { return once(attempt); });
  if (!status) {
    return status.error();
  }
  if (!refusal_.empty()) {
    return Error{refusal_, {}};
  }
  return {};
}

Attempt::Progress CollectiveCall::once(Attempt& attempt) {
  const LiveHosts hosts(state_.endpoint.transport.ranks(), attempt.lost());
  Declaration own = declare();
  own.refusal = bad_;
  lend(attempt, hosts, own);
  if (attempt.announce(own) == Attempt::Progress::kBroken) {
    return Attempt::Progress::kBroken;
  }
  refusal_ = contradiction(own, attempt.declarations(), attempt.lost()).value_or("");
  return refusal_.empty() ? move(attempt, hosts) : Attempt::Progress::kDone;
}

void CollectiveCall::lend_block(Attempt& attempt, uint64_t bytes, Declaration& own) const {
  own.numbers.push_back(0);
  if (bytes == 0 || !own.refusal.empty()) {
    return;
  }
  if (const auto offset = attempt.lend(bytes)) {
    own.numbers.back() = static_cast<int64_t>(*offset);
  } else {
    own.refusal = lacks_room(state_, bytes);
  }
}

std::vector<uint64_t> numbers_of(const Attempt& attempt, std::size_t index) {
  std::vector<uint64_t> numbers;
  for (std::size_t rank = 0; rank < attempt.declarations().size(); ++rank) {
    const bool living = attempt.takes_part(static_cast<int>(rank));
    numbers.push_back(living ? static_cast<uint64_t>(attempt.declarations()[rank].numbers[index])
                             : 0);
  }
  return numbers;
}

std::string bad_elements(const char* name, int64_t elements) {
  constexpr int64_t kMost = int64_t{1} << 40;  // products with it do not overflow
  if (elements >= 0 && elements <= kMost) {
    return {};
  }
  return std::string(name) + " = " + std::to_string(elements) + " is not a number of elements";
}

std::vector<int> all_but(const std::vector<int>& ranks, int self) {
  std::vector<int> others = ranks;
  std::erase(others, self);
  return others;
}

}  // namespace mixnet::ep
