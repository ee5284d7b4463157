#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/loop.h"
#include "net/stream.h"
#include "ocs/emulated_switch.h"

namespace mixnet::ocs {

// Gives an emulated switch its clock and its clients.
class EmulatorLink final : public net::StreamAcceptor {
 public:
  // `loop` and `emulated` outlive the link. `on_settled`, if there is one, is called after
  // everything that may have changed the switch, and before its answers are sent: who has one may
  // look at what the call does.
  EmulatorLink(net::Loop& loop, EmulatedSwitch& emulated, std::function<void()> on_settled);
  ~EmulatorLink() override;
  EmulatorLink(const EmulatorLink&) = delete;
  EmulatorLink& operator=(const EmulatorLink&) = delete;

  net::StreamEvents& accept(std::unique_ptr<net::Stream> stream, const std::string& peer) override;
  // Does what is due and hands on what came of it; also to be called after control().
  void settle();

 private:
  class Client;

  net::Loop& loop_;
  EmulatedSwitch& emulated_;
  std::function<void()> on_settled_;
  net::TimerId timer_ = 0;
  std::map<const Client*, std::unique_ptr<Client>> clients_;
};

}  // namespace mixnet::ocs
