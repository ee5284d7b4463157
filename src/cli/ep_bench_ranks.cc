#include "cli/ep_bench_ranks.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "core/check.h"
#include "ep/monotonic.h"
#include "ep/tcp_store.h"

namespace mixnet::cli {
namespace {

constexpr int kMostRanks = 64;
constexpr int kMostRounds = 256;
constexpr unsigned kLongestSeconds = 300;

// What the processes share; made of pages that fork() leaves shared.
struct SharedBoard {
  pthread_barrier_t barrier;
  double seconds[kMostRanks][kMostRounds];
  double cpu_s[kMostRanks];
  char error[kMostRanks][256];
};

class Board {
 public:
  explicit Board(int ranks) {
    void* memory = mmap(nullptr, sizeof(SharedBoard), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "a few pages can be shared");
    board_ = static_cast<SharedBoard*>(memory);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board_->barrier, &shared, static_cast<unsigned>(ranks));
    pthread_barrierattr_destroy(&shared);
  }
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  Board(Board&&) = delete;
  Board& operator=(Board&&) = delete;
  ~Board() { munmap(board_, sizeof(SharedBoard)); }
  SharedBoard& operator*() { return *board_; }
  SharedBoard* operator->() { return board_; }

 private:
  SharedBoard* board_;
};

double process_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Status work_as_rank(SharedBoard& board, const ep::RankMap& ranks, int rank, int rounds,
                    const net::HostPort& server, const EpBenchSetup& setup) {
  ep::TcpStore store(server);
  ep::CommunicatorOptions options;
  if (ranks.hosts() > 1) {
    options.nics = {"127.0.0.1"};
  }
  auto communicator = ep::Communicator::open(ranks, rank, store, options);
  if (!communicator) {
    return communicator.error();
  }
  const EpBenchWork work = setup(**communicator);
  double cpu = 0;
  for (int round = 0; round < rounds; ++round) {
    pthread_barrier_wait(&board.barrier);
    const double cpu_start = process_seconds();
    const Instant start = ep::monotonic_now();
    if (Status done = work(); !done) {
      return done;
    }
    board.seconds[rank][round] = seconds_of(ep::monotonic_now() - start);
    cpu += process_seconds() - cpu_start;
  }
  board.cpu_s[rank] = cpu / rounds;
  pthread_barrier_wait(&board.barrier);
  return {};
}

[[noreturn]] void run_child(SharedBoard& board, int rank, const std::function<Status()>& body) {
  alarm(kLongestSeconds);
  const Status status = body();
  if (!status) {
    std::strncpy(board.error[rank], status.error().text().c_str(), sizeof board.error[rank] - 1);
  }
  _exit(status ? 0 : 1);
}

// Ends all of them when one fails: the others would wait for it at the barrier.
Status join(std::vector<pid_t> children, SharedBoard& board) {
  Status result;
  while (!children.empty()) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto child = std::find(children.begin(), children.end(), pid);
    if (child == children.end()) {
      continue;
    }
    children.erase(child);
    if (status != 0 && result.ok()) {
      result = Error{"a rank of the benchmark failed", {}};
      for (const auto& text : board.error) {
        if (text[0] != '\0') {
          result = Error{text, {}};
        }
      }
      for (const pid_t other : children) {
        kill(other, SIGKILL);
      }
    }
  }
  return result;
}

}  // namespace

double EpBenchTimes::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

double EpBenchTimes::best() const { return *std::min_element(seconds.begin(), seconds.end()); }

Result<EpBenchTimes> run_ep_ranks(const ep::RankMap& ranks, int warm_up, int rounds,
                                  const EpBenchSetup& setup) {
  CHECK(ranks.ranks() <= kMostRanks && warm_up + rounds <= kMostRounds, "the board has room");
  Board board(ranks.ranks());
  std::vector<pid_t> children;
  auto server = ep::TcpStoreServer::start({"127.0.0.1", 0});
  if (!server) {
    return server.error();
  }
  const net::HostPort address{"127.0.0.1", (*server)->port()};
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      run_child(*board, rank, [&] {
        return work_as_rank(*board, ranks, rank, warm_up + rounds, address, setup);
      });
    }
    children.push_back(pid);
  }
  if (Status joined = join(children, *board); !joined) {
    return joined.error();
  }
  EpBenchTimes times;
  for (int round = warm_up; round < warm_up + rounds; ++round) {
    double slowest = 0;
    for (int rank = 0; rank < ranks.ranks(); ++rank) {
      slowest = std::max(slowest, board->seconds[rank][round]);
    }
    times.seconds.push_back(slowest);
  }
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    times.cpu_s_per_round += board->cpu_s[rank];
  }
  return times;
}

}  // namespace mixnet::cli
