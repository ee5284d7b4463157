#pragma once

#include <map>
#include <string>

#include "core/result.h"

namespace mixnet::cli {

// A directory that looks like /sys to those who read carriers of network interfaces:
// DIR/class/net/<interface>/carrier holds "1" or "0" and a line end.
class SysfsTree {
 public:
  explicit SysfsTree(std::string directory) : directory_(std::move(directory)) {}

  // Readers see the old value or the new one, never none. An equal value is not written again.
  // `interface` is a file name.
  Status set_carrier(const std::string& interface, bool up);

 private:
  std::string directory_;
  std::map<std::string, bool> written_;
};

}  // namespace mixnet::cli
