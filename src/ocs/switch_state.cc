#include "ocs/switch_state.h"

#include <algorithm>

#include "core/check.h"

namespace mixnet::ocs {
namespace {

constexpr double kLaunchDbm = -3;
constexpr double kLossDb = 1.5;
constexpr double kMonitorSpreadDb = 0.1;
constexpr double kNoiseDb = 0.02;

}  // namespace

std::vector<EmulatedNic> default_nics(SwitchSize size) {
  const int32_t half = size.ports() / 2;
  const int32_t count = size.egress == 0 ? half : std::min(size.ingress, size.egress);
  const int32_t first_rx = size.egress == 0 ? half : size.ingress;
  std::vector<EmulatedNic> nics;
  for (int32_t k = 1; k <= count; ++k) {
    nics.push_back(EmulatedNic{PortId(k), PortId(first_rx + k)});
  }
  return nics;
}

SwitchState::SwitchState(SwitchSize size, const std::vector<EmulatedNic>& nics, RelinkModel relink,
                         uint64_t seed)
    : size_(size),
      relink_(relink),
      relink_random_(seed, "emulator relink"),
      power_random_(seed, "emulator power"),
      ports_(static_cast<std::size_t>(size.ports()) + 1) {
  for (Port& port : ports_) {
    port.offset_db = kMonitorSpreadDb * (2 * power_random_.uniform() - 1);
  }
  for (const EmulatedNic& nic : nics) {
    CHECK(size.has(nic.tx) && size.has(nic.rx), "a NIC at a port that the switch does not have");
    at(nic.tx).has_transmitter = true;
  }
}

bool SwitchState::connect(Patch patch, Instant now, Instant settled) {
  CHECK(patch.ingress != patch.egress, "a port joined to itself");
  if (partner(patch.ingress) == patch.egress) {
    return true;  // the mirrors are there already
  }
  if (at(patch.ingress).stuck || at(patch.egress).stuck) {
    return false;
  }
  for (const PortId port : {patch.ingress, patch.egress}) {
    if (const auto other = partner(port); other && at(*other).stuck) {
      return false;
    }
  }
  disconnect(patch.ingress, now);
  disconnect(patch.egress, now);
  at(patch.ingress).partner = patch.egress;
  at(patch.egress).partner = patch.ingress;
  at(patch.ingress).settled = settled;
  at(patch.egress).settled = settled;
  refresh_pair(patch.ingress, now);
  return true;
}

bool SwitchState::disconnect(PortId port, Instant now) {
  const auto other = partner(port);
  if (!other || at(port).stuck || at(*other).stuck) {
    return false;
  }
  at(port).partner.reset();
  at(*other).partner.reset();
  refresh(port, now);
  refresh(*other, now);
  return true;
}

void SwitchState::disconnect_all(Instant now) {
  for (int32_t port = 1; port <= size_.ports(); ++port) {
    disconnect(PortId(port), now);
  }
}

std::optional<PortId> SwitchState::partner(PortId port) const { return at(port).partner; }

std::vector<Patch> SwitchState::patches() const {
  std::vector<Patch> patches;
  for (int32_t port = 1; port <= size_.ports(); ++port) {
    const auto other = partner(PortId(port));
    if (other && other->value > port) {
      patches.push_back(Patch{PortId(port), *other});
    }
  }
  return patches;
}

void SwitchState::set_shutter(PortId port, bool open, Instant now) {
  at(port).shutter_open = open;
  refresh_pair(port, now);
}

void SwitchState::set_fibre(PortId port, bool plugged, Instant now) {
  at(port).plugged = plugged;
  refresh_pair(port, now);
}

bool SwitchState::receives_light(const Port& port) const {
  if (!port.partner || !port.shutter_open) {
    return false;
  }
  const Port& source = at(*port.partner);
  return source.has_transmitter && source.plugged && source.shutter_open;
}

void SwitchState::refresh_pair(PortId port, Instant now) {
  refresh(port, now);
  if (const auto other = partner(port)) {
    refresh(*other, now);
  }
}

void SwitchState::refresh(PortId port, Instant now) {
  Port& receiver = at(port);
  // Behind a pulled fibre the NIC is dark, whatever leaves the switch.
  if (!receives_light(receiver) || !receiver.plugged) {
    receiver.lit_since.reset();
  } else if (!receiver.lit_since) {
    receiver.lit_since = std::max(now, receiver.settled);
    receiver.carrier_since = *receiver.lit_since + draw_relink(relink_, relink_random_);
  }
}

bool SwitchState::light_at(PortId port, Instant now) const {
  return receives_light(at(port)) && now >= at(port).settled;
}

bool SwitchState::carrier(PortId port, Instant now) const {
  return at(port).lit_since && now >= at(port).carrier_since;
}

double SwitchState::read_power(PortId port, Instant now) {
  const Port& here = at(port);
  double dbm = kDarkDbm;
  if (here.forced_dbm) {
    dbm = *here.forced_dbm;
  } else if (here.has_transmitter) {
    dbm = here.plugged ? kLaunchDbm : kDarkDbm;
  } else if (light_at(port, now)) {
    const double launched = at(*here.partner).forced_dbm.value_or(kLaunchDbm);
    dbm = launched - kLossDb - here.attenuation.level_db;
  }
  if (dbm <= kDarkDbm) {
    return kDarkDbm;
  }
  return std::max(kDarkDbm, dbm + here.offset_db + kNoiseDb * power_random_.normal());
}

std::optional<Instant> SwitchState::next_change(Instant now) const {
  std::optional<Instant> next;
  for (const Port& port : ports_) {
    if (!port.lit_since) {
      continue;
    }
    for (const Instant change : {*port.lit_since, port.carrier_since}) {
      if (change > now && (!next || change < *next)) {
        next = change;
      }
    }
  }
  return next;
}

}  // namespace mixnet::ocs
