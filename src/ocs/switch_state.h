#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/random.h"
#include "ocs/switch_latency.h"
#include "ocs/switch_ports.h"

// The optics of an emulated switch: mirrors, shutters, attenuators, fibres, and the NICs behind
// them. No protocol. Light enters at a port with the tx fibre of a NIC and leaves at the port that
// its mirrors point to:
//
//   NIC tx -> fibre -> [monitor] port A -> shutter -> mirrors -> shutter -> port B -> fibre -> NIC
namespace mixnet::ocs {

struct EmulatedNic {
  PortId tx;
  PortId rx;
};

// NIC k of an NxN switch has tx = k and rx = N + k; any-to-any switches are cut in halves.
std::vector<EmulatedNic> default_nics(SwitchSize size);

enum class AttenuationMode { kNone, kAbsolute, kRelative, kConverged };

class SwitchState {
 public:
  SwitchState(SwitchSize size, const std::vector<EmulatedNic>& nics, RelinkModel relink,
              uint64_t seed);

  SwitchSize size() const { return size_; }

  // Points the mirrors of both ports at each other; they have settled at `settled`. What either was
  // joined to before loses its partner. Returns whether the ports are joined now: a stuck mirror
  // stays where it is, with whatever it is joined to.
  bool connect(Patch patch, Instant now, Instant settled);
  // Returns whether a patch went away.
  bool disconnect(PortId port, Instant now);
  void disconnect_all(Instant now);
  std::optional<PortId> partner(PortId port) const;
  std::vector<Patch> patches() const;  // ascending

  void set_shutter(PortId port, bool open, Instant now);
  bool shutter_open(PortId port) const { return at(port).shutter_open; }
  void set_fibre(PortId port, bool plugged, Instant now);
  bool fibre_plugged(PortId port) const { return at(port).plugged; }
  void set_stuck(PortId port, bool stuck) { at(port).stuck = stuck; }
  bool stuck(PortId port) const { return at(port).stuck; }
  void set_relink(const RelinkModel& model) { relink_ = model; }
  // What is launched into an ingress port, or read at an egress port; none: as usual.
  void set_power(PortId port, std::optional<double> dbm) { at(port).forced_dbm = dbm; }
  bool power_is_forced(PortId port) const { return at(port).forced_dbm.has_value(); }

  struct Attenuation {
    AttenuationMode mode = AttenuationMode::kNone;
    double level_db = 0;
  };
  void set_attenuation(PortId port, Attenuation attenuation) { at(port).attenuation = attenuation; }
  Attenuation attenuation(PortId port) const { return at(port).attenuation; }

  // Does light leave the switch at `port`?
  bool light_at(PortId port, Instant now) const;
  // Has the NIC whose rx fibre is at `port` had light for long enough?
  bool carrier(PortId port, Instant now) const;
  // In dBm, with a little noise; kDarkDbm without light.
  double read_power(PortId port, Instant now);
  static constexpr double kDarkDbm = -60;

  // The next instant after `now` at which light or a carrier comes up by itself.
  std::optional<Instant> next_change(Instant now) const;

 private:
  struct Port {
    std::optional<PortId> partner;
    Instant settled;  // of the mirrors, while there is a partner
    bool shutter_open = true;
    bool plugged = true;
    bool stuck = false;
    bool has_transmitter = false;
    std::optional<double> forced_dbm;
    Attenuation attenuation;
    double offset_db = 0;  // of its monitor
    // Since when light has left here without a break; may lie ahead while the mirrors move.
    std::optional<Instant> lit_since;
    Instant carrier_since;  // while lit_since
  };

  Port& at(PortId port) { return ports_[port.index()]; }
  const Port& at(PortId port) const { return ports_[port.index()]; }
  bool receives_light(const Port& port) const;
  // Sets lit_since after a change that concerns `port`.
  void refresh(PortId port, Instant now);
  void refresh_pair(PortId port, Instant now);

  SwitchSize size_;
  RelinkModel relink_;
  RandomStream relink_random_;
  RandomStream power_random_;
  std::vector<Port> ports_;  // by number; 0 is not used
};

}  // namespace mixnet::ocs
