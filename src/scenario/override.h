#pragma once

#include <string>

namespace mixnet::scenario {

// "table.key=value", to be set in a scenario, and where that was asked for: errors name the place.
struct Override {
  std::string entry;
  std::string place = "--set";  // or the name of a file
  int line = 1;                 // of that file
};

}  // namespace mixnet::scenario
