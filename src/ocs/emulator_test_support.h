#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ocs/emulated_switch.h"
#include "ocs/tl1_decoder.h"
#include "ocs/tl1_text.h"

// For the tests of the emulated switch: a client that speaks raw TL1, and a clock moved by hand.
namespace mixnet::ocs {

inline Instant at_ms(int64_t ms) { return Instant(std::chrono::milliseconds(ms)); }

class Bench {
 public:
  explicit Bench(EmulatorOptions options = small()) : emulated(std::move(options)) {}

  // 8x8, mirrors that need no time.
  static EmulatorOptions small() {
    EmulatorOptions options;
    options.size = SwitchSize{8, 8};
    options.users = {EmulatedUser{"admin", Secret("root"), UserGroup::kAdmin},
                     EmulatedUser{"user", Secret("pw"), UserGroup::kUser},
                     EmulatedUser{"view", Secret("pw"), UserGroup::kView},
                     EmulatedUser{"free", Secret(""), UserGroup::kUser}};
    options.knobs.switching.fixed = Duration(0);
    options.knobs.relink.fixed = Duration(0);
    return options;
  }
  static EmulatorOptions with(std::vector<std::string> knobs) {
    EmulatorOptions options = small();
    for (const std::string& knob : knobs) {
      CHECK(set_knob(options.knobs, knob).ok(), "a knob that does not exist");
    }
    return options;
  }

  EmulatedSwitch emulated;
  Instant now = at_ms(0);

  void wait(Duration duration) {
    now += duration;
    emulated.tick(now);
  }
  std::string control(std::string_view line) {
    const auto shown = emulated.control(line, now);
    return shown ? *shown : "refused: " + shown.error().message;
  }
};

class Client {
 public:
  explicit Client(Bench& bench) : bench_(bench), connection_(bench.emulated.open(bench.now)) {}
  Client(Bench& bench, std::string_view user, std::string_view password) : Client(bench) {
    const std::string line =
        "ACT-USER::" + std::string(user) + ":1::" + std::string(password) + ";";
    CHECK(equal_ignoring_case(one(line), "COMPLD"), "cannot log in");
  }

  // The bytes that come back for these.
  std::string raw(std::string_view bytes) {
    bench_.emulated.feed(connection_, bytes, bench_.now);
    return bench_.emulated.take_output(connection_);
  }
  std::vector<Message> messages(std::string_view bytes) {
    std::vector<Message> out;
    decoder_.feed(raw(bytes), out);
    return out;
  }
  // "COMPLD 1,9 2,10", "DENY IDNV Invalid OXC port: 99": the first answer; "" for none.
  std::string one(std::string_view command) {
    for (const Message& message : messages(command)) {
      if (const auto* response = std::get_if<Response>(&message)) {
        return text_of(*response);
      }
    }
    return "";
  }
  static std::string text_of(const Response& response) {
    std::string text = response.completion_word;
    for (const TextLine& line : response.lines) {
      text += " " + line.text;
    }
    return text;
  }
  bool wants_close() const { return bench_.emulated.wants_close(connection_); }
  void close() { bench_.emulated.closed(connection_, bench_.now); }
  EmulatedSwitch::Connection connection() const { return connection_; }

 private:
  Bench& bench_;
  EmulatedSwitch::Connection connection_;
  Tl1Decoder decoder_;
};

}  // namespace mixnet::ocs
