#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "core/check.h"

namespace mixnet::cli {
namespace {

constexpr int kBarWidth = 20;
constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::milliseconds kLogInterval{5000};
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

std::string progress_text(const std::string& label, int64_t done, int64_t total, double elapsed_s) {
  CHECK(total > 0 && done >= 0 && done <= total, "progress is a part of the work");
  const double share = static_cast<double>(done) / static_cast<double>(total);
  return share_text(label, share, fmt::format("{} of {}", done, total), elapsed_s);
}

std::string share_text(const std::string& label, double share, const std::string& counts,
                       double elapsed_s) {
  CHECK(share >= 0 && share <= 1, "progress is a part of the work");
  const int filled = static_cast<int>(share * kBarWidth);
  std::string text = fmt::format("{} [{:#<{}}{:-<{}}] {} %, {}", label, "", filled, "",
                                 kBarWidth - filled, static_cast<int>(share * 100), counts);
  if (share > 0 && share < 1) {
    text += fmt::format(", {:.0f} s left", elapsed_s * (1 - share) / share);
  }
  return text;
}

Progress::Progress(std::string label, std::FILE* out)
    : label_(std::move(label)),
      out_(out),
      terminal_(isatty(fileno(out)) != 0),
      start_(Clock::now()),
      next_(terminal_ ? start_ : start_ + kLogInterval) {}

Progress::~Progress() {
  if (shown_) {
    std::fputs(kEraseLine, out_);
    std::fflush(out_);
  }
}

void Progress::update(int64_t done, int64_t total) {
  CHECK(total > 0, "there is work");
  update_share(static_cast<double>(done) / static_cast<double>(total),
               fmt::format("{} of {}", done, total));
}

void Progress::update_share(double share, const std::string& counts) {
  const Clock::time_point now = Clock::now();
  if (now < next_) {
    return;
  }
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  const std::string text = share_text(label_, share, counts, elapsed_s);
  if (terminal_) {
    std::fputs((kEraseLine + text).c_str(), out_);
    shown_ = true;
    next_ = now + kTerminalInterval;
  } else {
    std::fputs((text + '\n').c_str(), out_);
    next_ = now + kLogInterval;
  }
  std::fflush(out_);
}

}  // namespace mixnet::cli
