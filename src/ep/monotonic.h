#pragma once

#include <chrono>

#include "core/instant.h"

namespace mixnet::ep {

// The clock of every wait in this module: CLOCK_MONOTONIC, the same for all processes of a host.
inline Instant monotonic_now() {
  return Instant(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace mixnet::ep
