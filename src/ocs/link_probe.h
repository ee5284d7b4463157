#pragma once

#include "ocs/region.h"

namespace mixnet::ocs {

// Whether a NIC sees a usable signal. Asked often and from the loop: an answer may not block.
class LinkProbe {
 public:
  enum class Carrier {
    kUp,
    kDown,
    kNotObserved,  // nobody here can see this NIC
  };
  virtual ~LinkProbe() = default;
  virtual Carrier carrier(NicId nic) = 0;
};

// For a region whose NICs cannot be seen from here.
class NoLinkProbe final : public LinkProbe {
 public:
  Carrier carrier(NicId /*nic*/) override { return Carrier::kNotObserved; }
};

}  // namespace mixnet::ocs
