#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ocs/emulator_knobs.h"
#include "ocs/secret.h"
#include "ocs/switch_ports.h"
#include "ocs/switch_state.h"

// An optical switch of the Polatis family as its TL1 clients see it, without I/O: bytes and the
// time go in, bytes come out. What is known of the hardware is imitated to the letter; what is not
// is a knob. The owner of the connections
//   * calls open(), then feed() with what arrives and tick() at next_deadline();
//   * sends take_output() of every connection after each of these calls, and after control();
//   * drops a connection when wants_close(), and calls closed() whenever one is gone.
namespace mixnet::ocs {

enum class UserGroup { kAdmin, kUser, kView };

struct EmulatedUser {
  std::string name;
  Secret password{""};  // empty: logs in without one
  UserGroup group = UserGroup::kAdmin;
};

struct SwitchLabels {
  std::string vendor = "Polatis";
  std::string model;  // empty: named after the size
  std::string type = "OCS";
  std::string version = "6.5.1.7";
  std::string serial = "1532";
};

struct EmulatorOptions {
  SwitchSize size{48, 48};
  std::string sid = "PolatisOXC";  // empty: none, printed as "( nil )"
  SwitchLabels labels;
  // Empty: admin with the password root, as the switch is shipped.
  std::vector<EmulatedUser> users;
  // Empty: default_nics().
  std::vector<EmulatedNic> nics;
  EmulatorKnobs knobs;
  uint64_t seed = 1;
  // Unix time at the origin of Instant, in seconds.
  int64_t unix_time_at_zero = 1'767'225'600;
};

struct EmulatorCounters {
  uint64_t connections = 0;
  uint64_t refused_connections = 0;
  uint64_t logins = 0;
  uint64_t commands = 0;
  uint64_t denied = 0;
  uint64_t patches_made = 0;
  uint64_t patches_removed = 0;
  uint64_t events = 0;
  uint64_t reboots = 0;
};

struct EmulatorBox;

class EmulatedSwitch {
 public:
  using Connection = uint64_t;

  // CHECK: a size within kMaxPorts, NICs at ports that it has.
  explicit EmulatedSwitch(EmulatorOptions options);
  ~EmulatedSwitch();
  EmulatedSwitch(EmulatedSwitch&&) noexcept;
  EmulatedSwitch& operator=(EmulatedSwitch&&) noexcept;
  EmulatedSwitch(const EmulatedSwitch&) = delete;
  EmulatedSwitch& operator=(const EmulatedSwitch&) = delete;

  Connection open(Instant now);
  void closed(Connection connection, Instant now);
  void feed(Connection connection, std::string_view bytes, Instant now);
  // Does what is due.
  void tick(Instant now);
  // When to call tick() at the latest.
  std::optional<Instant> next_deadline() const;
  std::string take_output(Connection connection);
  // Logged out, refused, rebooted, or cut by a fault.
  bool wants_close(Connection connection) const;

  // Carries out one line of the person at the switch: pulls a fibre, sticks a mirror, ... ; "help"
  // lists all. Returns what to show. The error says what may be typed.
  Result<std::string> control(std::string_view line, Instant now);

  // The truth, which no client sees.
  SwitchSize size() const;
  const std::vector<EmulatedNic>& nics() const;
  std::vector<Patch> patches() const;
  // Does light leave the switch here: patched, mirrors settled, shutters open, fibre lit?
  bool light_at(PortId egress, Instant now) const;
  // Has the NIC that receives here had light for the time it needs?
  bool carrier(PortId rx, Instant now) const;
  const EmulatorCounters& counters() const;

 private:
  std::unique_ptr<EmulatorBox> box_;
};

// What control() understands, one line per command.
std::string describe_faults();

}  // namespace mixnet::ocs
