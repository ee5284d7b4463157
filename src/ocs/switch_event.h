#pragma once

#include <string>
#include <string_view>

#include "ocs/tl1_message.h"

namespace mixnet::ocs {

// What an autonomous message says.
struct SwitchEvent {
  enum class Kind {
    kAlarm,    // REPT ALM: stands until it is cleared
    kCleared,  // the same with the code CL
    kStarted,  // REPT INITZN: the switch started anew
    kEvent,    // anything else
  };
  Kind kind = Kind::kEvent;
  std::string subject;  // "<aid> <condition>" of an alarm
  std::string text;     // all of it in one line
};

SwitchEvent read_event(const Autonomous& message);

// A line of REPT ALM or RTRV-ALM: kAlarm or kCleared.
SwitchEvent read_alarm(std::string_view line);

}  // namespace mixnet::ocs
