#include "cli/ep_bench_work.h"

#include <cstring>
#include <memory>
#include <utility>

namespace mixnet::cli {
namespace {

struct ParcelMemory {
  std::vector<std::byte> bytes;
  std::vector<ep::Parcel> parcels;
};

ParcelMemory parcels_of(const ep::Communicator& communicator, int64_t average) {
  const int ranks = communicator.ranks().ranks();
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    sizes.push_back(
        static_cast<uint64_t>(ep::bench_parcel_bytes(average, communicator.rank(), peer)));
    total += sizes.back();
  }
  ParcelMemory memory;
  memory.bytes.assign(total, std::byte{1});
  uint64_t first = 0;
  for (const uint64_t size : sizes) {
    memory.parcels.push_back(
        ep::Parcel{ep::host_address(std::as_const(memory.bytes).data() + first), size});
    first += size;
  }
  return memory;
}

struct TokenMemory {
  std::vector<int64_t> choices;
  std::vector<float> weights;
  std::vector<ep::Bf16> x;
  std::vector<ep::Bf16> out;
};

}  // namespace

EpBenchSetup parcel_work(int64_t average) {
  return [average](ep::Communicator& communicator) -> EpBenchWork {
    auto memory = std::make_shared<ParcelMemory>(parcels_of(communicator, average));
    return [&communicator, memory]() -> Status {
      const auto received = communicator.all_to_all(memory->parcels);
      return received ? Status{} : Status{received.error()};
    };
  };
}

EpBenchSetup memcpy_work(int64_t average) {
  return [average](ep::Communicator& communicator) -> EpBenchWork {
    auto memory = std::make_shared<ParcelMemory>(parcels_of(communicator, average));
    auto target = std::make_shared<std::vector<std::byte>>(memory->bytes.size());
    return [memory, target]() -> Status {
      std::byte* to = target->data();
      for (const ep::Parcel& parcel : memory->parcels) {
        std::memcpy(to, parcel.data.data, parcel.bytes);
        to += parcel.bytes;
      }
      return {};
    };
  };
}

EpBenchSetup token_work(const ep::BenchTokens& shape, Transport mode) {
  return [shape, mode](ep::Communicator& communicator) -> EpBenchWork {
    auto memory = std::make_shared<TokenMemory>();
    memory->choices = ep::bench_choices(shape, communicator.rank());
    memory->weights.assign(memory->choices.size(), 1.0F / static_cast<float>(shape.top_k));
    memory->x.assign(static_cast<std::size_t>(shape.tokens * shape.hidden), ep::to_bf16(1.0F));
    memory->out.resize(memory->x.size());
    return [&communicator, memory, shape, mode]() -> Status {
      ep::DispatchInput input;
      input.x = ep::host_address(std::as_const(memory->x).data());
      input.tokens = shape.tokens;
      input.hidden = shape.hidden;
      input.choices = ep::TopK{memory->choices, shape.top_k};
      input.weights = memory->weights;
      ep::DispatchOptions options;
      options.experts = shape.experts;
      options.mode = mode;
      const auto dispatched = communicator.dispatch(input, options);
      if (!dispatched) {
        return dispatched.error();
      }
      ep::CombineInput back;
      back.x = dispatched->x;
      back.hidden = shape.hidden;
      const auto combined = communicator.combine(back, dispatched->handle,
                                                 ep::host_address(memory->out.data()));
      return combined ? Status{} : Status{combined.error()};
    };
  };
}

}  // namespace mixnet::cli
