#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/circuit_book.h"
#include "sim/surviving_ports.h"

namespace mixnet::sim {

// Decides for a region whose servers have these NICs left.
using WiringAfterFailures = std::function<WiringPolicy(const std::vector<ServerPorts>&)>;

// The book of every region: one for all that are whole, one of its own for each that has lost
// something.
class CircuitBooks {
 public:
  struct Policies {
    CircuitBook::Policies whole;
    WiringAfterFailures after;  // needed if some region is not whole
  };
  CircuitBooks(const Study& study, const FabricSpec& spec, const Placement& placement,
               const Policies& policies, DemandTable& demand);

  CircuitBook& of(int region);

 private:
  CircuitBook whole_;
  std::map<int, std::unique_ptr<CircuitBook>> broken_;
};

}  // namespace mixnet::sim
