#include "cli/ep_bench_work.h"

#include <fcntl.h>
#include <sched.h>

#include <cstring>
#include <memory>
#include <utility>

#include "core/index.h"
#include "ep/tcp_store.h"
#include "net/unique_fd.h"

namespace mixnet::cli {
namespace {

struct ParcelMemory {
  std::vector<std::byte> bytes;
  std::vector<ep::Parcel> parcels;
};

ParcelMemory parcels_of(int rank, int ranks, int64_t average) {
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    sizes.push_back(static_cast<uint64_t>(ep::bench_parcel_bytes(average, rank, peer)));
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

Status enter_namespace(const EpRanks& ranks, int host) {
  if (ranks.namespaces.empty()) {
    return {};
  }
  const std::string path = "/run/netns/" + ranks.namespaces[at(host)];
  const net::UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || setns(file.get(), CLONE_NEWNET) != 0) {
    return Error{std::string("cannot enter this network namespace: ") + std::strerror(errno), path};
  }
  return {};
}

Result<RoundWork> join_ranks(const EpRanks& ranks, int rank, const net::HostPort& server,
                             const EpSetup& setup) {
  if (Status entered = enter_namespace(ranks, ranks.map.host_of(rank)); !entered) {
    return entered.error();
  }
  ep::TcpStore store(server);
  ep::CommunicatorOptions options;
  if (ranks.map.hosts() > 1) {
    options.nics = {ranks.nics[at(rank)]};
  }
  auto opened = ep::Communicator::open(ranks.map, rank, store, options);
  if (!opened) {
    return opened.error();
  }
  const std::shared_ptr<ep::Communicator> communicator = std::move(*opened);
  return RoundWork([communicator, work = setup(*communicator)] { return work(); });
}

}  // namespace

EpRanks ranks_on_loopback(int ranks, int hosts) {
  EpRanks all{ep::RankMap::even(ranks, hosts), "127.0.0.1", {}, {}};
  all.nics.assign(at(ranks), "127.0.0.1");
  return all;
}

Result<RoundTimes> run_ep_ranks(const EpRanks& ranks, const Rounds& rounds, const EpSetup& setup) {
  const auto server = ep::TcpStoreServer::start({ranks.meeting, 0});
  if (!server) {
    return server.error();
  }
  const net::HostPort address{ranks.meeting, (*server)->port()};
  return run_bench_ranks(ranks.map.ranks(), rounds, [&ranks, &address, &setup](int rank) {
    return join_ranks(ranks, rank, address, setup);
  });
}

EpSetup parcel_work(int64_t average) {
  return [average](ep::Communicator& communicator) -> RoundWork {
    auto memory = std::make_shared<ParcelMemory>(
        parcels_of(communicator.rank(), communicator.ranks().ranks(), average));
    return [&communicator, memory]() -> Status {
      const auto received = communicator.all_to_all(memory->parcels);
      return received ? Status{} : Status{received.error()};
    };
  };
}

Result<RoundTimes> run_memcpy(int ranks, const Rounds& rounds, int64_t average) {
  return run_bench_ranks(ranks, rounds, [ranks, average](int rank) -> Result<RoundWork> {
    auto memory = std::make_shared<ParcelMemory>(parcels_of(rank, ranks, average));
    auto target = std::make_shared<std::vector<std::byte>>(memory->bytes.size());
    return RoundWork([memory, target]() -> Status {
      std::byte* to = target->data();
      for (const ep::Parcel& parcel : memory->parcels) {
        std::memcpy(to, parcel.data.data, parcel.bytes);
        to += parcel.bytes;
      }
      return {};
    });
  });
}

EpSetup token_work(const ep::BenchTokens& shape, Transport mode) {
  return [shape, mode](ep::Communicator& communicator) -> RoundWork {
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
      const auto combined =
          communicator.combine(back, dispatched->handle, ep::host_address(memory->out.data()));
      return combined ? Status{} : Status{combined.error()};
    };
  };
}

}  // namespace mixnet::cli
