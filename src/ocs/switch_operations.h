#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "ocs/switch_ports.h"
#include "ocs/tl1_message.h"

// What a controller asks of a switch of the Polatis family: commands out of typed values, typed
// values out of the text lines of a COMPLD answer. The commands carry no CTAG: the session gives
// them one. Errors of the parse functions quote the offending line.
namespace mixnet::ocs {

// All patches in one command: far faster than one by one, since the mirrors move together.
// The i-th ingress port is joined to the i-th egress port.
Command connect_command(const PatchSet& patches);
// Names every ingress port; never a range, never none.
Command disconnect_command(const PatchSet& patches);

// The reply has a line "1,49" per patch, in either order. Lines of unconnected ports ("5,0", "5,")
// are passed over. Errors: a port the switch does not have, ports that cannot be joined, a port
// with two partners.
Command read_patches_command(const PortSet& ports);
Command read_all_patches_command();
Result<std::vector<Patch>> parse_patches(const std::vector<TextLine>& lines, SwitchSize size);

struct PortPower {
  PortId port;
  std::optional<double> dbm;  // none: no reading
};
// Ascending by port. Depends on the wavelength that the port is set to.
Command read_power_command(const PortSet& ports);
Result<std::vector<PortPower>> parse_power(const std::vector<TextLine>& lines, SwitchSize size);

// A closed shutter leaves a patch listed but dark.
struct PortShutter {
  PortId port;
  bool open = true;
};
Command read_shutters_command(const PortSet& ports);
Command open_shutters_command(const PortSet& ports);
Command close_shutters_command(const PortSet& ports);
Result<std::vector<PortShutter>> parse_shutters(const std::vector<TextLine>& lines,
                                                SwitchSize size);

// Those that stand: switch_event.h reads the lines.
Command read_alarms_command();

Command read_size_command();
Result<SwitchSize> parse_size(const std::vector<TextLine>& lines);

struct SwitchIdentity {
  std::string vendor;
  std::string model;
  std::string type;
  std::string version;  // of the firmware
};
Command read_identity_command();
Result<SwitchIdentity> parse_identity(const std::vector<TextLine>& lines);

Command read_serial_number_command();
Result<std::string> parse_serial_number(const std::vector<TextLine>& lines);

}  // namespace mixnet::ocs
