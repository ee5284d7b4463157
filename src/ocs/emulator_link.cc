#include "ocs/emulator_link.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace mixnet::ocs {

class EmulatorLink::Client final : public net::StreamEvents {
 public:
  Client(EmulatorLink& link, std::unique_ptr<net::Stream> stream)
      : link_(link), stream_(std::move(stream)) {}

  void on_open() override {
    connection_ = link_.emulated_.open(link_.loop_.now());
    link_.settle();
  }
  void on_bytes(std::string_view bytes) override {
    link_.emulated_.feed(*connection_, bytes, link_.loop_.now());
    link_.settle();
  }
  void on_closed(const Error& /*why*/) override {
    EmulatorLink& link = link_;
    if (connection_) {
      link.emulated_.closed(*connection_, link.loop_.now());
    }
    link.clients_.erase(this);  // destroys this
    link.settle();
  }

  // Sends what the switch wrote. True: the connection is over.
  bool flush() {
    if (!connection_) {
      return false;
    }
    const std::string output = link_.emulated_.take_output(*connection_);
    if (!output.empty()) {
      stream_->send(output);
    }
    if (!link_.emulated_.wants_close(*connection_)) {
      return false;
    }
    stream_->close();
    link_.emulated_.closed(*connection_, link_.loop_.now());
    return true;
  }

 private:
  EmulatorLink& link_;
  std::unique_ptr<net::Stream> stream_;
  std::optional<EmulatedSwitch::Connection> connection_;
};

EmulatorLink::EmulatorLink(net::Loop& loop, EmulatedSwitch& emulated,
                           std::function<void()> on_settled)
    : loop_(loop), emulated_(emulated), on_settled_(std::move(on_settled)) {}

EmulatorLink::~EmulatorLink() { loop_.cancel(timer_); }

net::StreamEvents& EmulatorLink::accept(std::unique_ptr<net::Stream> stream,
                                        const std::string& /*peer*/) {
  auto client = std::make_unique<Client>(*this, std::move(stream));
  Client& events = *client;
  clients_.emplace(&events, std::move(client));
  return events;
}

void EmulatorLink::settle() {
  const Instant now = loop_.now();
  emulated_.tick(now);
  if (on_settled_) {
    on_settled_();
  }
  std::erase_if(clients_, [](const auto& client) { return client.second->flush(); });
  loop_.cancel(timer_);
  timer_ = 0;
  if (const std::optional<Instant> next = emulated_.next_deadline()) {
    timer_ = loop_.call_at(std::max(*next, now), [this] {
      timer_ = 0;
      settle();
    });
  }
}

}  // namespace mixnet::ocs
