#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ocs/switch_ports.h"

// How ports and addresses are written in a region file.
namespace mixnet::daemon {

// "1-3,9": 1, 2, 3, 9. Nothing if it is not written like that, or a port is beyond kMaxPorts.
std::optional<std::vector<ocs::PortId>> parse_ports(std::string_view text);

// The host of "host:port", without the brackets of "[::1]:3082"; nothing if it is not of that form.
std::optional<std::string> host_of(std::string_view address);

// As written: names are not looked up.
bool is_loopback(std::string_view host);

// "unix:..." in, the path out; empty for a network address.
std::string_view unix_path(std::string_view grpc_address);

}  // namespace mixnet::daemon
