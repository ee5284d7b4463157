#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ocs/switch_latency.h"

// What nobody has verified against the hardware, and what else a test wants to vary, as settings of
// the emulated switch. A controller must work under every one of them.
namespace mixnet::ocs {

enum class BusyPort { kOverwrite, kDeny };
enum class BadPair { kAtomic, kPrefix, kPartial };
enum class CompletedWhen { kBefore, kAfter };
enum class Leniency { kDeny, kAccept };
enum class Unconnected { kOmitted, kZero, kEmpty };
enum class InhibitScope { kSession, kBox };
enum class IdleUnit { kMinutes, kSeconds };
enum class Continuation { kMore, kRetrieve, kRepeat };
enum class DateStyle { kShort, kLong };
enum class LineEnd { kCrLf, kLf };
enum class Prompt { kNone, kLess, kGreater };
enum class WordCase { kUpper, kLower };
enum class EventOrder { kBefore, kAfter, kBetween };
enum class BootMode { kDark, kRestore };
enum class Monitors { kAll, kIngress, kEgress, kNone };

struct EmulatorKnobs {
  BusyPort busy_port = BusyPort::kOverwrite;
  std::string busy_code = "SNVS";
  BadPair bad_pair = BadPair::kAtomic;
  CompletedWhen completed = CompletedWhen::kAfter;
  Leniency unequal_lists = Leniency::kDeny;
  Leniency duplicate_ports = Leniency::kDeny;
  Leniency same_side = Leniency::kDeny;
  std::string list_code = "IDNV";
  int32_t max_command_bytes = 8192;
  int32_t max_pairs = 0;  // 0: no limit
  Unconnected unconnected = Unconnected::kOmitted;
  InhibitScope inhibit_scope = InhibitScope::kBox;
  bool reports = true;  // autonomous messages before anybody says so
  std::string not_logged_in_code = "PLNA";
  int32_t max_sessions = 10;
  IdleUnit idle_unit = IdleUnit::kMinutes;
  int32_t idle_timeout = 15;  // 0: never
  bool view_reads = true;
  Continuation continuation = Continuation::kMore;
  int32_t page_lines = 0;  // 0: one page
  DateStyle date = DateStyle::kShort;
  LineEnd line_end = LineEnd::kCrLf;
  int32_t leading_blanks = 3;
  bool quotes = true;  // around text lines
  bool echo = false;
  Prompt prompt = Prompt::kNone;
  std::string banner;
  WordCase word_case = WordCase::kUpper;
  bool acknowledge = true;
  Prompt acknowledge_end = Prompt::kLess;
  Duration acknowledge_after = std::chrono::seconds(2);
  bool patch_events = false;
  EventOrder event_order = EventOrder::kBefore;
  bool telnet = false;
  bool delay = false;

  BootMode boot = BootMode::kRestore;
  Duration reboot_time = std::chrono::seconds(60);
  Monitors monitors = Monitors::kAll;
  SwitchingModel switching;
  RelinkModel relink;
};

struct Knob {
  std::string name;
  int unknown = 0;     // number of the open question about the hardware, 1 to 14; 0: none
  std::string values;  // "overwrite|deny"
  std::string help;
  std::function<bool(EmulatorKnobs&, std::string_view)> set;  // false: no such value
  std::function<std::string(const EmulatorKnobs&)> get;       // as set() takes it
};

// Every knob, once.
const std::vector<Knob>& emulator_knobs();

// "busy_port=deny". The error says which names or values there are.
Status set_knob(EmulatorKnobs& knobs, std::string_view assignment);

// One line per knob: name, values, default, what it does.
std::string describe_knobs();

}  // namespace mixnet::ocs
