#pragma once

#include <memory>
#include <string>

#include "ocs/region_report.h"
#include "ocs/tl1_session.h"

namespace prometheus {
class Registry;
}

namespace mixnet::daemon {

// What Prometheus scrapes; docs/daemon.md lists the names. Any thread may read the registry while
// one thread reports.
class RegionMetrics {
 public:
  // Every metric carries the label region="NAME".
  explicit RegionMetrics(const std::string& region);
  ~RegionMetrics();
  RegionMetrics(const RegionMetrics&) = delete;
  RegionMetrics& operator=(const RegionMetrics&) = delete;
  RegionMetrics(RegionMetrics&&) = delete;
  RegionMetrics& operator=(RegionMetrics&&) = delete;

  void count(const ocs::ApplyReport& report);
  void show(const ocs::Topology& topology);
  // Counters only grow: what `session` counted since the last call is added, and a new session
  // starts from 0.
  void count(const ocs::SessionCounters& session);

  std::shared_ptr<prometheus::Registry> registry() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mixnet::daemon
