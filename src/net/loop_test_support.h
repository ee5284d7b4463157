#pragma once

#include <functional>

#include "net/asio_loop.h"

namespace mixnet::net {

// Runs the loop until `done` holds, asking after every call of `changed`; false after ten seconds,
// which only a defect takes.
class Until {
 public:
  explicit Until(AsioLoop& loop) : loop_(loop) {}

  // To be called whenever something may have changed.
  void changed() {
    if (done_ && done_()) {
      loop_.stop();
    }
  }

  bool run(std::function<bool()> done) {
    if (done()) {
      return true;
    }
    done_ = std::move(done);
    bool in_time = true;
    const TimerId limit = loop_.call_at(loop_.now() + std::chrono::seconds(10), [&] {
      in_time = false;
      loop_.stop();
    });
    loop_.run();
    loop_.cancel(limit);
    done_ = nullptr;
    return in_time;
  }

 private:
  AsioLoop& loop_;
  std::function<bool()> done_;
};

}  // namespace mixnet::net
