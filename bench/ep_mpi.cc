// What `mixnet bench ep` compares itself with: the same exchanges with MPI_Alltoallv, as one would
// write them by hand. Started by mpirun; rank 0 prints one JSON object for the exchange that is
// named, see bench_load.h.
//   mpirun -n 8 mixnet_ep_mpi_bench all-to-all-4MB
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "ep/bench_load.h"
#include "ep/copy_engine.h"
#include "ep/data_type.h"

namespace mixnet::ep {
namespace {

struct Job {
  int rank = 0;
  int ranks = 1;
};

double seconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double over_all_ranks(double value, MPI_Op operation) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD);
  return value;
}

// Rounds of `work`, each from the first rank that leaves the barrier to the end of the slowest one:
// the ranks of one machine share its clock.
template <typename Work>
void measure(const Job& job, const char* name, int rounds, const Work& work) {
  std::vector<double> times;
  double cpu = 0;
  for (int round = 0; round < rounds + kBenchWarmUp; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double cpu_start = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    const double start = seconds_on(CLOCK_MONOTONIC);
    work();
    const double end = seconds_on(CLOCK_MONOTONIC);
    cpu += seconds_on(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
    const double took = over_all_ranks(end, MPI_MAX) - over_all_ranks(start, MPI_MIN);
    if (round >= kBenchWarmUp) {
      times.push_back(took);
    }
  }
  cpu = over_all_ranks(cpu, MPI_SUM) / (rounds + kBenchWarmUp);
  std::sort(times.begin(), times.end());
  if (job.rank == 0) {
    std::printf("{\"name\": \"%s\", \"median_s\": %.7f, \"best_s\": %.7f, \"cpu_s\": %.6f}\n", name,
                times[times.size() / 2], times.front(), cpu);
  }
}

std::vector<int> prefix_sums(const std::vector<int>& counts) {
  std::vector<int> sums(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), sums.begin() + 1);
  return sums;
}

void all_to_all(const Job& job, const char* name, int64_t average) {
  std::vector<int> out;
  std::vector<int> in;
  for (int peer = 0; peer < job.ranks; ++peer) {
    out.push_back(static_cast<int>(bench_parcel_bytes(average, job.rank, peer)));
    in.push_back(static_cast<int>(bench_parcel_bytes(average, peer, job.rank)));
  }
  const std::vector<int> out_at = prefix_sums(out);
  const std::vector<int> in_at = prefix_sums(in);
  std::vector<char> sent(static_cast<std::size_t>(out_at.back()), 1);
  std::vector<char> received(static_cast<std::size_t>(in_at.back()));
  measure(job, name, kBenchRounds, [&] {
    MPI_Alltoallv(sent.data(), out.data(), out_at.data(), MPI_CHAR, received.data(), in.data(),
                  in_at.data(), MPI_CHAR, MPI_COMM_WORLD);
  });
}

// One copy per expert: sort by expert, exchange, hand back, sum with weights.
class TokenExchange {
 public:
  TokenExchange(const Job& job, const BenchTokens& shape) : job_(job), shape_(shape) {
    choices_ = bench_choices(shape, job.rank);
    const auto elements = static_cast<std::size_t>(shape.tokens * shape.hidden);
    x_.assign(elements, to_bf16(1.0F));
    out_.resize(elements);
  }

  void run() {
    permute();
    exchange_counts();
    exchange(sorted_, send_, received_, receive_);
    returned_.resize(sorted_.size());
    exchange(received_, receive_, returned_, send_);
    unpermute();
  }

 private:
  void permute() {
    const int each = shape_.experts / job_.ranks;
    std::vector<int> per_expert(static_cast<std::size_t>(shape_.experts) + 1, 0);
    for (const int64_t expert : choices_) {
      ++per_expert[static_cast<std::size_t>(expert) + 1];
    }
    std::partial_sum(per_expert.begin(), per_expert.end(), per_expert.begin());
    send_.assign(static_cast<std::size_t>(job_.ranks), 0);
    place_.resize(choices_.size());
    sorted_.resize(choices_.size() * static_cast<std::size_t>(shape_.hidden));
    for (std::size_t slot = 0; slot < choices_.size(); ++slot) {
      const auto expert = static_cast<std::size_t>(choices_[slot]);
      const auto place = static_cast<std::size_t>(per_expert[expert]++);
      place_[slot] = place;
      ++send_[expert / static_cast<std::size_t>(each)];
      std::memcpy(row(sorted_, place), row(x_, slot / static_cast<std::size_t>(shape_.top_k)),
                  row_bytes());
    }
  }

  void exchange_counts() {
    receive_.resize(send_.size());
    MPI_Alltoall(send_.data(), 1, MPI_INT, receive_.data(), 1, MPI_INT, MPI_COMM_WORLD);
  }

  void exchange(const std::vector<Bf16>& from, const std::vector<int>& out, std::vector<Bf16>& to,
                const std::vector<int>& in) {
    const std::vector<int> out_at = prefix_sums(out);
    const std::vector<int> in_at = prefix_sums(in);
    to.resize(static_cast<std::size_t>(in_at.back()) * static_cast<std::size_t>(shape_.hidden));
    MPI_Datatype row_type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(row_bytes()), MPI_CHAR, &row_type);
    MPI_Type_commit(&row_type);
    MPI_Alltoallv(from.data(), out.data(), out_at.data(), row_type, to.data(), in.data(),
                  in_at.data(), row_type, MPI_COMM_WORLD);
    MPI_Type_free(&row_type);
  }

  // With the sums of the runtime that this is compared to. Weights are the experts' affair on both
  // sides.
  void unpermute() {
    std::vector<ConstAddress> rows(static_cast<std::size_t>(shape_.top_k));
    for (int64_t token = 0; token < shape_.tokens; ++token) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t slot = static_cast<std::size_t>(token) * rows.size() + i;
        rows[i] = const_row(returned_, place_[slot]);
      }
      copies_.sum(host_address(row(out_, static_cast<std::size_t>(token))), rows, DataType::kBf16,
                  shape_.hidden);
    }
  }

  std::size_t row_bytes() const { return static_cast<std::size_t>(shape_.hidden) * sizeof(Bf16); }
  Bf16* row(std::vector<Bf16>& rows, std::size_t index) const {
    return rows.data() + index * static_cast<std::size_t>(shape_.hidden);
  }

  ConstAddress const_row(std::vector<Bf16>& rows, std::size_t index) const {
    const void* first = row(rows, index);
    return host_address(first);
  }

  Job job_;
  BenchTokens shape_;
  HostCopyEngine copies_;
  std::vector<int64_t> choices_;
  std::vector<Bf16> x_, sorted_, received_, returned_, out_;
  std::vector<std::size_t> place_;
  std::vector<int> send_, receive_;
};

void tokens(const Job& job, const char* name, const BenchTokens& shape) {
  TokenExchange exchange(job, shape);
  measure(job, name, kBenchTokenRounds, [&] { exchange.run(); });
}

// False: there is no exchange of this name.
bool run(const Job& job, const std::string& name) {
  for (const BenchParcels& parcels : kBenchParcels) {
    if (name == parcels.name) {
      all_to_all(job, parcels.name, parcels.average);
      return true;
    }
  }
  for (const BenchTokens& shape : kBenchTokens) {
    if (name == shape.name) {
      tokens(job, shape.name, shape);
      return true;
    }
  }
  return false;
}

}  // namespace
}  // namespace mixnet::ep

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  mixnet::ep::Job job;
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  const bool known = argc == 2 && mixnet::ep::run(job, argv[1]);
  if (!known && job.rank == 0) {
    std::fprintf(stderr, "usage: mpirun -n RANKS mixnet_ep_mpi_bench NAME\n");
  }
  MPI_Finalize();
  return known ? 0 : 2;
}
