// One layer of a mixture-of-experts model among real processes: tokens travel to the ranks of their
// experts, these compute, the results travel back and are summed. Every rank runs this program:
//
//   examples/ep_hello/run.sh 4 2        4 ranks on this machine that play ranks of 2 hosts
//   torchrun --no-python --nproc-per-node 4 build/release/mixnet_ep_hello
//   mpirun -n 4 -x MIXNET_STORE=127.0.0.1:29501 build/release/mixnet_ep_hello
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ep/communicator.h"

namespace {

namespace ep = mixnet::ep;

constexpr int64_t kTokens = 64;  // of every rank
constexpr int64_t kHidden = 256;
constexpr int kTopK = 2;
constexpr int kExpertsPerRank = 2;

// What a router would pick; expert e multiplies a token by e + 1.
int64_t pick(int rank, int64_t token, int slot, int experts) {
  return (rank + token + 3 * slot) % experts;
}

// In place: combine() reads the rows where they arrived, and adds up what the ranks made of them.
void run_experts(const ep::Dispatched& arrived, int64_t first_expert) {
  auto* x = reinterpret_cast<float*>(arrived.x.data);
  for (int64_t row = 0; row < arrived.rows; ++row) {
    int64_t factor = 0;
    for (int64_t slot = row * kTopK; slot < (row + 1) * kTopK; ++slot) {
      const int64_t expert = arrived.experts[static_cast<std::size_t>(slot)];
      factor += expert >= 0 ? first_expert + expert + 1 : 0;  // -1: it is on another rank
    }
    for (int64_t i = row * kHidden; i < (row + 1) * kHidden; ++i) {
      x[i] *= static_cast<float>(factor);
    }
  }
}

mixnet::Status say_hello(ep::Communicator& communicator) {
  const int rank = communicator.rank();
  const int ranks = communicator.ranks().ranks();
  const int experts = kExpertsPerRank * ranks;
  std::vector<float> x(kTokens * kHidden, static_cast<float>(rank + 1));
  std::vector<float> y(x.size());
  std::vector<int64_t> choices;
  for (int64_t i = 0; i < kTokens * kTopK; ++i) {
    choices.push_back(pick(rank, i / kTopK, static_cast<int>(i % kTopK), experts));
  }

  ep::DispatchInput input;
  input.x = ep::host_address(x.data());
  input.tokens = kTokens;
  input.hidden = kHidden;
  input.type = ep::DataType::kFp32;
  input.choices = ep::TopK{choices, kTopK};
  ep::DispatchOptions options;
  options.experts = experts;
  options.weighted = false;  // all experts count alike here
  const auto arrived = communicator.dispatch(input, options);
  if (!arrived) {
    return arrived.error();
  }

  run_experts(*arrived, ep::ExpertMap(experts, ranks).first_of(rank));

  ep::CombineInput results;
  results.x = arrived->x;
  results.hidden = kHidden;
  results.type = ep::DataType::kFp32;
  const auto combined = communicator.combine(results, arrived->handle, ep::host_address(y.data()));
  if (!combined) {
    return combined.error();
  }

  float wrong = 0;
  for (int64_t i = 0; i < kTokens * kHidden; ++i) {
    const int64_t token = i / kHidden;
    const int64_t factor = pick(rank, token, 0, experts) + pick(rank, token, 1, experts) + 2;
    const auto at = static_cast<std::size_t>(i);
    wrong += y[at] == x[at] * static_cast<float>(factor) ? 0.0F : 1.0F;
  }
  const auto summed = communicator.all_reduce(ep::host_address(&wrong), 1, ep::DataType::kFp32);
  if (!summed) {
    return summed.error();
  }
  std::printf("rank %d of %d on host %d: %" PRId64 " tokens sent, %" PRId64
              " rows for my experts, %.0f wrong results on all ranks, lost ranks: %s\n",
              rank, ranks, communicator.ranks().host_of(rank), kTokens, arrived->rows,
              static_cast<double>(wrong), communicator.lost().text().c_str());
  return wrong == 0 && communicator.lost().empty()
             ? mixnet::Status()
             : mixnet::Error{"results are wrong, or ranks were lost", {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    std::fprintf(stderr, "usage: %s    no arguments; src/ep/environment.h has its variables\n",
                 argv[0]);
    return 2;
  }
  const auto communicator = ep::Communicator::from_environment({});
  const mixnet::Status done =
      communicator ? say_hello(**communicator) : mixnet::Status(communicator.error());
  if (!done) {
    std::fprintf(stderr, "%s: %s\n", argv[0], done.error().text().c_str());
  }
  return done ? 0 : 1;
}
