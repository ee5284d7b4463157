// Another side of `mixnet bench ep`: the all-to-all between hosts with Gloo over TCP. Prints one
// JSON object for the exchange that is named, see bench_load.h.
//   mixnet_ep_gloo_bench all-to-all-4MB
#include <gloo/alltoallv.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench_ranks.h"
#include "ep/bench_load.h"

namespace mixnet::cli {
namespace {

constexpr int kRanks = 8;

struct Exchange {
  std::shared_ptr<gloo::rendezvous::Context> context;
  std::vector<int64_t> out_bytes;
  std::vector<int64_t> in_bytes;
  std::vector<char> out;
  std::vector<char> in;

  void run() {
    gloo::AlltoallvOptions options(context);
    options.setInput(out.data(), out_bytes);
    options.setOutput(in.data(), in_bytes);
    gloo::alltoallv(options);
  }
};

int64_t sum(const std::vector<int64_t>& values) {
  int64_t total = 0;
  for (const int64_t value : values) {
    total += value;
  }
  return total;
}

RoundWork join_ranks(const std::string& folder, int rank, int64_t average) {
  const auto exchange = std::make_shared<Exchange>();
  gloo::transport::tcp::attr address;
  address.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(address);
  gloo::rendezvous::FileStore store(folder);
  exchange->context = std::make_shared<gloo::rendezvous::Context>(rank, kRanks);
  exchange->context->connectFullMesh(store, device);
  for (int peer = 0; peer < kRanks; ++peer) {
    exchange->out_bytes.push_back(ep::bench_parcel_bytes(average, rank, peer));
    exchange->in_bytes.push_back(ep::bench_parcel_bytes(average, peer, rank));
  }
  exchange->out.assign(static_cast<std::size_t>(sum(exchange->out_bytes)), 1);
  exchange->in.resize(static_cast<std::size_t>(sum(exchange->in_bytes)));
  return [exchange]() -> Status {
    exchange->run();
    return {};
  };
}

int run(const ep::BenchParcels& parcels) {
  std::string folder = (std::filesystem::temp_directory_path() / "mixnet-gloo-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "mixnet_ep_gloo_bench: cannot make a folder in %s\n", folder.c_str());
    return 1;
  }
  const Rounds rounds{ep::kBenchWarmUp, ep::kBenchRounds};
  const auto times = run_bench_ranks(kRanks, rounds, [&](int rank) -> Result<RoundWork> {
    return join_ranks(folder, rank, parcels.average);
  });
  std::filesystem::remove_all(folder);
  if (!times) {
    std::fprintf(stderr, "mixnet_ep_gloo_bench: %s\n", times.error().text().c_str());
    return 1;
  }
  std::printf("{\"name\": \"%s\", \"median_s\": %.7f, \"best_s\": %.7f, \"cpu_s\": %.6f}\n",
              parcels.name, times->median(), times->best(), times->cpu_s);
  return 0;
}

}  // namespace
}  // namespace mixnet::cli

int main(int argc, char** argv) {
  const std::string name = argc == 2 ? argv[1] : "";
  for (const auto& parcels : mixnet::ep::kBenchParcels) {
    if (name == parcels.name) {
      return mixnet::cli::run(parcels);
    }
  }
  std::fprintf(stderr, "usage: mixnet_ep_gloo_bench NAME\n");
  return 2;
}
