#include "ep/doorbell.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include "ep/monotonic.h"
#include "net/stream_errors.h"

namespace mixnet::ep {
namespace {

constexpr uint32_t kAwake = 0;
constexpr uint32_t kOnFutex = 1;
constexpr uint32_t kInPoll = 2;

timespec bell_timespec(Duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return timespec{static_cast<time_t>(seconds.count()),
                  static_cast<decltype(timespec::tv_nsec)>((duration - seconds).count())};
}

void futex_sleep(std::atomic<uint32_t>& word, Instant until) {
  const timespec deadline = bell_timespec(until.time_since_epoch());
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, kOnFutex, &deadline, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

void relax_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

int usable_hardware_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int threads = sched_getaffinity(0, sizeof set, &set) == 0
                          ? CPU_COUNT(&set)
                          : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(threads, 1);
}

// Measured on two processors. An exchange of signals between two ranks takes 0.2 to 0.6 us while
// both look, 6 to 10 us when they give a shared processor to each other (yield), 12 to 25 us when
// one has to be woken. Between 8 ranks a round of signals from all to all takes 40 to 100 us after
// 2 yields, 200 us when the ranks sleep at once, and 500 us when they spin 2000 times before: long
// spins take the processor away from whoever has something to say, also when there seem to be
// enough of them. An all-to-all of 4 MB between 8 ranks that play 4 hosts takes 8 ms when each
// counts the ranks of its own host only. Yields cost half a microsecond when nobody wants the
// processor.
WaitPolicy choose_wait_policy(int ranks, int hardware_threads) {
  return ranks <= hardware_threads ? WaitPolicy{20, 100} : WaitPolicy{0, 2};
}

void Bell::ring() const {
  const uint32_t state = word_->exchange(kAwake, std::memory_order_acq_rel);
  if (state == kOnFutex) {
    syscall(SYS_futex, word_, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  } else if (state == kInPoll) {
    const char byte = 0;
    // A full pipe wakes as well as one more byte would.
    [[maybe_unused]] const ssize_t written = write(pipe_.get(), &byte, 1);
  }
}

Result<Doorbell> Doorbell::create(std::atomic<uint32_t>& word, WaitPolicy policy) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error{fmt::format("no pipe to be woken by: {}", net::errno_text(errno)), {}};
  }
  return Doorbell(word, policy, net::UniqueFd(ends[0]), net::UniqueFd(ends[1]));
}

Doorbell::Doorbell(std::atomic<uint32_t>& word, WaitPolicy policy, net::UniqueFd read_end,
                   net::UniqueFd write_end)
    : word_(&word),
      policy_(policy),
      read_end_(std::move(read_end)),
      write_end_(std::move(write_end)) {}

Result<Bell> Doorbell::own_bell() const {
  net::UniqueFd end(fcntl(write_end_.get(), F_DUPFD_CLOEXEC, 0));
  if (!end) {
    return Error{fmt::format("no descriptor to be woken by: {}", net::errno_text(errno)), {}};
  }
  return Bell(*word_, std::move(end));
}

bool Doorbell::look(const Ready& ready) const {
  for (int spin = 0; spin < policy_.spins; ++spin) {
    if (ready()) {
      return true;
    }
    relax_processor();
  }
  for (int yield = 0; yield < policy_.yields; ++yield) {
    if (ready()) {
      return true;
    }
    sched_yield();
  }
  return ready();
}

void Doorbell::wait(const Ready& ready, Instant until) {
  if (look(ready)) {
    return;
  }
  word_->exchange(kOnFutex, std::memory_order_acq_rel);
  if (!ready()) {
    futex_sleep(*word_, until);
  }
  word_->exchange(kAwake, std::memory_order_acq_rel);
}

void Doorbell::wait(const Ready& ready, std::span<pollfd> more, Instant until) {
  for (pollfd& one : more) {
    one.revents = 0;
  }
  if (look(ready)) {
    return;
  }
  std::vector<pollfd> all(more.begin(), more.end());
  all.push_back(pollfd{read_end_.get(), POLLIN, 0});
  word_->exchange(kInPoll, std::memory_order_acq_rel);
  if (!ready()) {
    const timespec left = bell_timespec(std::max(until - monotonic_now(), Duration::zero()));
    if (ppoll(all.data(), all.size(), &left, nullptr) > 0) {
      std::copy(all.begin(), all.end() - 1, more.begin());
      drain();
    }
  }
  word_->exchange(kAwake, std::memory_order_acq_rel);
}

void Doorbell::drain() const {
  std::array<char, 64> bytes;
  while (read(read_end_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
  }
}

}  // namespace mixnet::ep
