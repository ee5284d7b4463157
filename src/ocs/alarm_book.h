#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ocs/region_report.h"

namespace mixnet::ocs {

// The alarms that stand, one per kind and subject, and what changed since it was last asked.
class AlarmBook {
 public:
  static constexpr std::size_t kMostAlarms = 1'000;

  // Raises the alarm, or renews the message of one that stands.
  void raise(AlarmKind kind, const std::string& subject, const std::string& message, Instant now);
  void clear(AlarmKind kind, const std::string& subject);
  // Exactly these stand for `kind` from now on: subject -> message.
  void replace(AlarmKind kind, const std::map<std::string, std::string>& alarms, Instant now);

  std::vector<Alarm> all() const;  // in order of (kind, subject)

  // Since the last take_changed()?
  bool take_changed() { return std::exchange(changed_, false); }
  std::vector<Alarm> take_raised() { return std::exchange(raised_, {}); }
  std::vector<Alarm> take_cleared() { return std::exchange(cleared_, {}); }

 private:
  using Key = std::pair<AlarmKind, std::string>;
  std::map<Key, Alarm> alarms_;
  bool changed_ = false;
  std::vector<Alarm> raised_;
  std::vector<Alarm> cleared_;
};

}  // namespace mixnet::ocs
