#include "ocs/alarm_book.h"

namespace mixnet::ocs {

void AlarmBook::raise(AlarmKind kind, const std::string& subject, const std::string& message,
                      Instant now) {
  if (alarms_.size() >= kMostAlarms && alarms_.count({kind, subject}) == 0) {
    return;  // a switch that invents alarms; what stands says enough
  }
  const auto [found, inserted] =
      alarms_.try_emplace({kind, subject}, Alarm{kind, subject, message, now});
  if (inserted) {
    raised_.push_back(found->second);
    changed_ = true;
  } else if (found->second.message != message) {
    found->second.message = message;
    changed_ = true;
  }
}

void AlarmBook::clear(AlarmKind kind, const std::string& subject) {
  const auto found = alarms_.find({kind, subject});
  if (found != alarms_.end()) {
    changed_ = true;
    cleared_.push_back(std::move(found->second));
    alarms_.erase(found);
  }
}

void AlarmBook::replace(AlarmKind kind, const std::map<std::string, std::string>& alarms,
                        Instant now) {
  for (const Alarm& alarm : all()) {
    if (alarm.kind == kind && alarms.count(alarm.subject) == 0) {
      clear(kind, alarm.subject);
    }
  }
  for (const auto& [subject, message] : alarms) {
    raise(kind, subject, message, now);
  }
}

std::vector<Alarm> AlarmBook::all() const {
  std::vector<Alarm> all;
  for (const auto& [key, alarm] : alarms_) {
    all.push_back(alarm);
  }
  return all;
}

}  // namespace mixnet::ocs
