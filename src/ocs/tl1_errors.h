#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ocs/tl1_message.h"

// Why a switch said DENY.
namespace mixnet::ocs {

// By the first letter of a code, so that unknown codes have a class too.
enum class ErrorClass {
  kInput,      // I: the command is wrong; sending it again changes nothing
  kPrivilege,  // P: not logged in, or not allowed
  kStatus,     // S: the switch is in no state for it
  kEquipment,  // E: a fault of a port or card
  kOther,
};

struct Denial {
  std::vector<std::string> codes;  // "IDNV"; MERR stands for several
  std::string text;                // what the switch said beside them; lines joined by "; "

  bool has(std::string_view code) const;
  // "IDNV (data not valid): Invalid OXC port: 1000"
  std::string describe() const;
};

// The codes and texts in the lines of a DENY. Either may be missing.
Denial parse_denial(const std::vector<TextLine>& lines);

ErrorClass class_of(std::string_view code);

// May the same command succeed a little later? (Busy, out of resources, data not ready.)
bool is_worth_repeating(std::string_view code);

// The same of a whole denial; also if the session has to log in anew first.
bool is_worth_repeating(const Denial& denial);

// In a few words; empty for a code that is not known.
std::string_view meaning_of(std::string_view code);

}  // namespace mixnet::ocs
