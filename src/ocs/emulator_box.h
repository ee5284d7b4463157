#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "core/random.h"
#include "ocs/emulated_switch.h"
#include "ocs/emulator_wire.h"
#include "ocs/switch_state.h"

// The inside of the emulated switch, shared by its commands, its faults and its sessions. Nobody
// else includes this.
namespace mixnet::ocs {

struct EmulatorEvent {
  std::string alarm_code = "A";
  std::string verb = "REPT EVT";
  std::string about;      // a port, or "SYSTEM"
  std::string condition;  // "PORTDISABLE"
  std::string text;       // "Port 1 disabled"
};

// What a command comes to.
struct Reply {
  enum class Then { kNothing, kClose, kReboot };

  Completion completion = Completion::kCompleted;
  std::vector<TextLine> lines;
  Duration takes{0};  // until it is sent
  std::vector<EmulatorEvent> events;
  Then then = Then::kNothing;
};

Reply denial(std::string code, std::string text);
Reply done();
TextLine quoted(std::string text);

struct EmulatorSession {
  struct Pending {
    std::string ctag;
    Reply reply;
    Instant due;
    std::optional<Instant> acknowledge_at;
  };

  std::string input;  // a command that has not ended yet
  bool in_quotes = false;
  std::deque<std::string> queue;  // commands behind the pending one
  std::optional<Pending> pending;
  std::string output;
  std::string user;  // empty: not logged in
  UserGroup group = UserGroup::kView;
  Instant last_used;
  bool reports = true;
  bool silent = false;                   // half-open: takes bytes, answers nothing
  std::optional<std::size_t> cut_after;  // so many more bytes, then the connection is cut
  bool close = false;
};

enum class DropCommand { kNo, kBefore, kAfter };

// Faults that wait for the next command.
struct ArmedFaults {
  int busy = 0;
  std::optional<Reply> deny_write;
  std::optional<std::size_t> partial;
  DropCommand drop = DropCommand::kNo;
  std::optional<std::size_t> cut_next_connection;
};

struct PortSettings {
  std::string label;
  double wavelength_nm = 1550;
};

struct DelayedPatches {
  Instant when;
  std::vector<Patch> patches;
};

struct EmulatorBox {
  explicit EmulatorBox(EmulatorOptions from);

  int64_t unix_time(Instant now) const;
  Header header(Instant now) const { return header_at(options.knobs, options.sid, unix_time(now)); }
  // Settles at once or after a draw, and counts. Returns when all have settled.
  Instant make_patches(const std::vector<Patch>& patches, Instant now);
  bool remove_patch(PortId port, Instant now);
  // To every session that hears reports, but for `except`.
  void report(const EmulatorEvent& event, Instant now, const EmulatorSession* except = nullptr);
  std::string write(const EmulatorEvent& event, Instant now);
  bool hears(const EmulatorSession& session) const;
  void send(EmulatorSession& session, std::string_view bytes);
  void reboot(Instant now);
  void finish_reboot(Instant now);

  EmulatorOptions options;
  SwitchState state;
  RandomStream switching_random;
  std::vector<PortSettings> ports;  // by number
  std::map<uint64_t, EmulatorSession> sessions;
  uint64_t last_session = 0;
  ArmedFaults faults;
  std::vector<EmulatorEvent> alarms;
  std::vector<DelayedPatches> delayed;
  std::array<int32_t, 2> idle_timeout{};  // of administrators, of everybody else
  bool reports = true;                    // the box as a whole
  uint32_t last_atag = 0;
  int64_t clock_offset_s = 0;
  std::optional<Instant> reboot_ends;
  std::vector<Patch> restored_after_reboot;
  Instant last_now;
  EmulatorCounters counters;
};

enum class Right { kAnybody, kLoggedIn, kRead, kWrite, kAdministrate };

struct EmulatedCommand {
  std::string_view verb;
  Right right;  // kAnybody: needs no login
  Reply (*run)(EmulatorBox&, EmulatorSession&, const ReceivedCommand&, Instant now);
};
std::span<const EmulatedCommand> patch_commands();
std::span<const EmulatedCommand> port_commands();
std::span<const EmulatedCommand> system_commands();
std::span<const EmulatedCommand> user_commands();

// One line of the person at the switch.
Result<std::string> run_fault(EmulatorBox& box, std::string_view line, Instant now);

// One port of an AID: without a number it is none of this switch.
struct NamedPort {
  std::optional<PortId> port;
  std::string text;
};
std::vector<NamedPort> named_ports(const AidList& list, SwitchSize size);
// The ports of a whole AID; every port for none or ALL. Sets `refusal` when one is bad.
std::vector<PortId> ports_of(const ReceivedCommand& received, SwitchSize size,
                             std::optional<Reply>& refusal);
Reply bad_port(std::string_view text);

// The parameters of the third block, for commands that know only `keys`.
struct NamedValues {
  std::map<std::string, std::string> values;  // by upper-case key
  std::optional<Reply> refusal;
};
NamedValues named_values(const ReceivedCommand& received,
                         const std::vector<std::string_view>& keys);
// The n-th parameter of a block, empty if it is not there.
std::string value_at(const ReceivedCommand& received, std::size_t block, std::size_t n);
std::string upper(std::string_view text);

}  // namespace mixnet::ocs
