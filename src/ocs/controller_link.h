#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "net/loop.h"
#include "net/stream.h"
#include "ocs/region.h"
#include "ocs/region_controller.h"

namespace mixnet::ocs {

inline constexpr Duration kConnectDeadline = std::chrono::seconds(5);

// Gives a region controller its clock and its connection: dials when it wants one, feeds it, ticks
// it when it is due, and sends what it has to say in the same turn of the loop.
class ControllerLink final : private net::StreamEvents {
 public:
  // The others outlive the link. `on_event` is called by the loop, never within a call of the link;
  // it may call the link but not destroy it.
  ControllerLink(net::Loop& loop, net::Dialer& dialer, RegionController& controller,
                 std::function<void(ControllerEvent&)> on_event);
  // Drops the connection.
  ~ControllerLink() override;
  ControllerLink(const ControllerLink&) = delete;
  ControllerLink& operator=(const ControllerLink&) = delete;
  ControllerLink(ControllerLink&&) = delete;
  ControllerLink& operator=(ControllerLink&&) = delete;

  // As those of the controller.
  Result<uint64_t> apply(std::vector<Circuit> circuits);
  Result<uint64_t> verify();
  // `stopped` is called by the loop once the controller has stopped and logged out.
  void stop(std::function<void()> stopped);

  const RegionController& controller() const { return controller_; }
  bool connected() const { return connected_; }

 private:
  void on_open() override;
  void on_bytes(std::string_view bytes) override;
  void on_closed(const Error& why) override;

  // What is due after every call of the controller.
  void serve();
  void hang_up(std::string_view why);
  void arm();
  // Calls serve() and hand_over() soon, unless that is under way.
  void wake(Instant when);
  void run();
  void hand_over();

  net::Loop& loop_;
  net::Dialer& dialer_;
  RegionController& controller_;
  std::function<void(ControllerEvent&)> on_event_;
  std::function<void()> stopped_;
  std::unique_ptr<net::Stream> stream_;
  bool connected_ = false;
  net::TimerId timer_ = 0;
  std::optional<Instant> armed_;  // when the timer is due
};

}  // namespace mixnet::ocs
