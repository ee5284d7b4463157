#pragma once

#include <string>
#include <vector>

#include "ocs/link_probe.h"
#include "ocs/region.h"

namespace mixnet::ocs {

// Reads the carrier of NICs of this machine from <root>/class/net/<interface>/carrier. The file is
// opened for every answer, which costs a few microseconds: it may be replaced, as by an interface
// that goes and comes back.
class SysfsLinkProbe final : public LinkProbe {
 public:
  // `visible`: the NICs that are in this machine; of the others nothing is observed.
  SysfsLinkProbe(const Region& region, const std::vector<NicId>& visible,
                 const std::string& root = "/sys");

  // kNotObserved also when there is no such interface; kDown when it is switched off.
  Carrier carrier(NicId nic) override;

 private:
  std::vector<std::string> files_;  // by NIC; empty: not visible
};

}  // namespace mixnet::ocs
