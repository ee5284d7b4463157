#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench.h"
#include "cli/ep_bench_work.h"
#include "cli/peer_bench.h"

namespace mixnet::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kRanks = 8;
constexpr Rounds kParcelRounds{ep::kBenchWarmUp, ep::kBenchRounds};
constexpr Rounds kTokenRounds{ep::kBenchWarmUp, ep::kBenchTokenRounds};

// One way to run a peer.
struct Peer {
  std::string what;
  std::string program;
  std::vector<std::string> starter;  // and its options, before the program; may be empty
};

Peer open_mpi(const std::string& what, const std::vector<std::string>& options) {
  Peer peer{"Open MPI, " + what,
            "mixnet_ep_mpi_bench",
            {"mpirun", "--oversubscribe", "--allow-run-as-root", "-n", std::to_string(kRanks)}};
  peer.starter.insert(peer.starter.end(), options.begin(), options.end());
  return peer;
}

// The fastest known settings for ranks of one host.
std::vector<Peer> peers_on_one_host() {
  return {open_mpi("shared memory and CMA", {"--mca", "btl", "self,vader"}),
          open_mpi("UCX over shared memory and CMA",
                   {"--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca",
                    "pml_ucx_devices", "any", "-x", "UCX_TLS=posix,cma,self"})};
}

// Between all ranks: to these programs one machine is one host.
std::vector<Peer> peers_over_tcp() {
  return {open_mpi("TCP", {"--mca", "btl", "self,tcp"}),
          Peer{"Gloo, TCP", "mixnet_ep_gloo_bench", {}}};
}

Result<PeerTimes> run(const Peer& peer, const std::string& exchange) {
  const Result<std::string> program = program_beside_this(peer.program);
  if (!program) {
    return program.error();
  }
  std::vector<std::string> command = peer.starter;
  command.push_back(*program);
  command.push_back(exchange);
  return run_peer(peer.what, command);
}

struct Compared {
  std::vector<PeerTimes> times;  // fastest first
  std::vector<std::string> failures;
};

Compared run_all(const std::vector<Peer>& peers, const std::string& exchange) {
  Compared compared;
  for (const Peer& peer : peers) {
    const Result<PeerTimes> times = run(peer, exchange);
    if (times) {
      compared.times.push_back(*times);
    } else {
      compared.failures.push_back(peer.what + ": " + times.error().text());
    }
  }
  std::sort(compared.times.begin(), compared.times.end(),
            [](const PeerTimes& a, const PeerTimes& b) { return a.median_s < b.median_s; });
  return compared;
}

BenchFigure figure_of(const RoundTimes& times, const Compared& compared) {
  BenchFigure figure;
  figure.cpu_s = times.cpu_s;
  figure.wall_s = times.median();
  figure.details = {{"ranks", kRanks},
                    {"rounds", times.seconds.size()},
                    {"median_s", times.median()},
                    {"best_s", times.best()}};
  figure.against = "nothing";
  if (!compared.times.empty()) {
    const PeerTimes& fastest = compared.times.front();
    figure.against = fastest.what;
    figure.reference_cpu_s = fastest.cpu_s;
    figure.reference_wall_s = fastest.median_s;
  }
  for (const PeerTimes& peer : compared.times) {
    figure.details["peers"].push_back(ordered_json{{"what", peer.what},
                                                   {"median_s", peer.median_s},
                                                   {"best_s", peer.best_s},
                                                   {"cpu_s", peer.cpu_s}});
  }
  for (const std::string& failure : compared.failures) {
    figure.details["not_measured"].push_back(failure);
    figure.against += "; not measured: " + failure;
  }
  return figure;
}

Result<BenchFigure> bench_parcels(const ep::BenchParcels& parcels, int hosts) {
  const Result<RoundTimes> times =
      run_ep_ranks(ranks_on_loopback(kRanks, hosts), kParcelRounds, parcel_work(parcels.average));
  if (!times) {
    return times.error();
  }
  BenchFigure figure =
      figure_of(*times, run_all(hosts == 1 ? peers_on_one_host() : peers_over_tcp(), parcels.name));
  figure.details["hosts"] = hosts;
  return figure;
}

// How much of the machine's own rate an all-to-all inside a host has: the ratio is below 1.
Result<BenchFigure> bench_against_memcpy(const ep::BenchParcels& parcels) {
  const Result<RoundTimes> times =
      run_ep_ranks(ranks_on_loopback(kRanks, 1), kParcelRounds, parcel_work(parcels.average));
  if (!times) {
    return times.error();
  }
  const Result<RoundTimes> copies = run_memcpy(kRanks, kParcelRounds, parcels.average);
  if (!copies) {
    return copies.error();
  }
  Compared compared;
  compared.times = {PeerTimes{"memcpy of the same bytes by the same processes", copies->median(),
                              copies->best(), copies->cpu_s}};
  return figure_of(*times, compared);
}

Result<BenchFigure> bench_tokens(const ep::BenchTokens& shape) {
  const Result<RoundTimes> times = run_ep_ranks(ranks_on_loopback(kRanks, 1), kTokenRounds,
                                                token_work(shape, Transport::kNvlink));
  if (!times) {
    return times.error();
  }
  return figure_of(*times, run_all(peers_on_one_host(), shape.name));
}

}  // namespace

std::vector<BenchCase> ep_benches() {
  std::vector<BenchCase> benches;
  for (const ep::BenchParcels& parcels : ep::kBenchParcels) {
    const std::string name = std::string("ep-") + parcels.name;
    benches.push_back({name + "-memcpy", "all-to-all of 8 ranks on one host, beside memcpy",
                       [parcels] { return bench_against_memcpy(parcels); }});
    for (const int hosts : {1, 2, 4}) {
      benches.push_back({fmt::format("{}-{}", name, hosts),
                         fmt::format("all-to-all of 8 ranks on {} host{}", hosts,
                                     hosts == 1 ? "" : "s, over TCP"),
                         [parcels, hosts] { return bench_parcels(parcels, hosts); }});
    }
  }
  for (const ep::BenchTokens& shape : ep::kBenchTokens) {
    benches.push_back({std::string("ep-") + shape.name,
                       fmt::format("dispatch and combine of {} tokens a rank, hidden {}, BF16",
                                   shape.tokens, shape.hidden),
                       [shape] { return bench_tokens(shape); }});
  }
  return benches;
}

}  // namespace mixnet::cli
