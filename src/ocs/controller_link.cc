#include "ocs/controller_link.h"

#include <algorithm>
#include <utility>

namespace mixnet::ocs {

ControllerLink::ControllerLink(net::Loop& loop, net::Dialer& dialer, RegionController& controller,
                               std::function<void(ControllerEvent&)> on_event)
    : loop_(loop), dialer_(dialer), controller_(controller), on_event_(std::move(on_event)) {
  wake(loop_.now());
}

ControllerLink::~ControllerLink() { loop_.cancel(timer_); }

Result<uint64_t> ControllerLink::apply(std::vector<Circuit> circuits) {
  Result<uint64_t> request = controller_.apply(std::move(circuits), loop_.now());
  serve();
  wake(loop_.now());
  return request;
}

Result<uint64_t> ControllerLink::verify() {
  Result<uint64_t> request = controller_.verify(loop_.now());
  serve();
  wake(loop_.now());
  return request;
}

void ControllerLink::stop(std::function<void()> stopped) {
  stopped_ = std::move(stopped);
  controller_.stop(loop_.now());
  if (stream_ && !connected_) {
    hang_up("stopped while connecting");
  }
  serve();
  wake(loop_.now());
}

void ControllerLink::on_open() {
  connected_ = true;
  controller_.connected(loop_.now());
  serve();
  hand_over();
}

void ControllerLink::on_bytes(std::string_view bytes) {
  controller_.feed(bytes, loop_.now());
  serve();
  hand_over();
}

void ControllerLink::on_closed(const Error& why) {
  hang_up(why.text());
  serve();
  hand_over();
}

void ControllerLink::hang_up(std::string_view why) {
  stream_->close();
  stream_.reset();
  connected_ = false;
  controller_.disconnected(why, loop_.now());
}

void ControllerLink::serve() {
  const std::string output = controller_.take_output();
  if (connected_ && !output.empty()) {
    stream_->send(output);
  }
  if (connected_ && controller_.wants_close()) {
    hang_up(dialer_.peer() + ": the session is over");
  }
  if (!stream_ && controller_.wants_connection(loop_.now())) {
    controller_.connecting();
    stream_ = dialer_.dial(*this, kConnectDeadline);
  }
  arm();
}

void ControllerLink::arm() {
  if (const auto next = controller_.next_deadline()) {
    wake(*next);
  }
}

// A timer that comes too early finds nothing due and sets the next one: most deadlines move before
// they pass.
void ControllerLink::wake(Instant when) {
  when = std::max(when, loop_.now());
  if (armed_ && *armed_ <= when) {
    return;
  }
  loop_.cancel(timer_);
  armed_ = when;
  timer_ = loop_.call_at(when, [this] { run(); });
}

void ControllerLink::run() {
  armed_.reset();
  controller_.tick(loop_.now());
  serve();
  hand_over();
}

void ControllerLink::hand_over() {
  for (ControllerEvent& event : controller_.take_events()) {
    on_event_(event);
  }
  if (stopped_ && !stream_ && controller_.stopped()) {
    std::exchange(stopped_, nullptr)();
  }
}

}  // namespace mixnet::ocs
