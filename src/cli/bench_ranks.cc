#include "cli/bench_ranks.h"

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

namespace mixnet::cli {
namespace {

constexpr int kMostRanks = 64;
constexpr int kMostRounds = 256;
constexpr unsigned kRankSeconds = 300;

// What the processes share; made of pages that fork() leaves shared.
struct SharedBoard {
  pthread_barrier_t barrier;
  double starts[kMostRanks][kMostRounds];  // seconds of the clock that all processes share
  double ends[kMostRanks][kMostRounds];
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

double seconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Status work_as_rank(SharedBoard& board, int rank, int rounds, const RankSetup& setup) {
  const Result<RoundWork> work = setup(rank);
  if (!work) {
    return work.error();
  }
  double cpu = 0;
  for (int round = 0; round < rounds; ++round) {
    pthread_barrier_wait(&board.barrier);
    const double cpu_start = seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    board.starts[rank][round] = seconds_on(CLOCK_MONOTONIC);
    if (Status done = (*work)(); !done) {
      return done;
    }
    board.ends[rank][round] = seconds_on(CLOCK_MONOTONIC);
    cpu += seconds_on(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
  }
  board.cpu_s[rank] = cpu / rounds;
  pthread_barrier_wait(&board.barrier);
  return {};
}

[[noreturn]] void run_child(SharedBoard& board, int rank, const std::function<Status()>& body) {
  alarm(kRankSeconds);
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

double took(const SharedBoard& board, int ranks, int round) {
  double start = board.starts[0][round];
  double end = board.ends[0][round];
  for (int rank = 1; rank < ranks; ++rank) {
    start = std::min(start, board.starts[rank][round]);
    end = std::max(end, board.ends[rank][round]);
  }
  return end - start;
}

}  // namespace

double RoundTimes::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

double RoundTimes::best() const { return *std::min_element(seconds.begin(), seconds.end()); }

Result<RoundTimes> run_bench_ranks(int ranks, const Rounds& rounds, const RankSetup& setup) {
  const int all = rounds.warm_up + rounds.measured;
  CHECK(ranks <= kMostRanks && all <= kMostRounds, "the board has room");
  Board board(ranks);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = fork();
    CHECK(pid >= 0, "a few processes can be made");
    if (pid == 0) {
      run_child(*board, rank, [&] { return work_as_rank(*board, rank, all, setup); });
    }
    children.push_back(pid);
  }
  if (Status joined = join(children, *board); !joined) {
    return joined.error();
  }
  RoundTimes times;
  for (int round = rounds.warm_up; round < all; ++round) {
    times.seconds.push_back(took(*board, ranks, round));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    times.cpu_s += board->cpu_s[rank];
  }
  return times;
}

}  // namespace mixnet::cli
