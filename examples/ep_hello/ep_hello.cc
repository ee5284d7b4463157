// One layer of a mixture-of-experts model among real processes: tokens travel to the ranks of their
// experts, these compute, the results travel back and are summed. Every rank runs this program:
//   examples/ep_hello/run.sh 4 2     4 ranks on this machine that play ranks of 2 hosts
//   mpirun -n 4 -x MIXNET_STORE=127.0.0.1:29501 build/release/mixnet_ep_hello    (or torchrun)
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ep/communicator.h"

namespace ep = mixnet::ep;
constexpr int64_t kTokens = 64, kHidden = 256, kTopK = 2;

// Expert e lives on rank e and multiplies by e + 1. In place: combine() reads rows where they came.
void run_expert(int rank, const ep::Dispatched& arrived) {
  auto* x = reinterpret_cast<float*>(arrived.x.data);
  for (int64_t i = 0; i < arrived.rows * kHidden; ++i) {
    x[i] *= static_cast<float>(rank + 1);
  }
}

mixnet::Status say_hello(ep::Communicator& ranks) {
  const int rank = ranks.rank(), experts = ranks.ranks().ranks();
  std::vector<float> x(kTokens * kHidden, 1), y(x.size());
  std::vector<int64_t> choices;  // what a router would pick: two experts, or one twice
  for (int64_t token = 0; token < kTokens; ++token) {
    choices.insert(choices.end(), {(rank + token) % experts, (rank + token + 1) % experts});
  }

  ep::DispatchInput tokens{.x = ep::host_address(x.data()),
                           .tokens = kTokens,
                           .hidden = kHidden,
                           .type = ep::DataType::kFp32,
                           .choices = {choices, kTopK}};
  const auto arrived = ranks.dispatch(tokens, {.experts = experts, .weighted = false});
  if (!arrived) {
    return arrived.error();  // the same on all ranks
  }
  run_expert(rank, *arrived);
  ep::CombineInput results{.x = arrived->x, .hidden = kHidden, .type = ep::DataType::kFp32};
  const auto combined = ranks.combine(results, arrived->handle, ep::host_address(y.data()));
  if (!combined) {
    return combined.error();
  }

  float wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const int64_t* picked = &choices[i / kHidden * kTopK];
    const int64_t sum = picked[0] == picked[1] ? picked[0] + 1 : picked[0] + picked[1] + 2;
    wrong += y[i] == static_cast<float>(sum) ? 0.0F : 1.0F;
  }
  if (const auto summed = ranks.all_reduce(ep::host_address(&wrong), 1, ep::DataType::kFp32);
      !summed) {
    return summed.error();
  }
  std::printf(
      "rank %d of %d on host %d: %ld tokens sent, %ld rows for my expert, "
      "%.0f wrong results on all ranks\n",
      rank, experts, ranks.ranks().host_of(rank), kTokens, arrived->rows, wrong);
  return wrong == 0 ? mixnet::Status() : mixnet::Error{"results are wrong", {}};
}

int main() {
  const auto ranks = ep::Communicator::from_environment({});
  const auto done = ranks ? say_hello(**ranks) : mixnet::Status(ranks.error());
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().text().c_str());
  }
  return done ? 0 : 1;
}
