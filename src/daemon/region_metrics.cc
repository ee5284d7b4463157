#include "daemon/region_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <utility>

namespace mixnet::daemon {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Registry;

// A switch takes 20 to 100 ms; above that something is wrong, and how wrong is of interest.
Histogram::BucketBoundaries switch_buckets() {
  return {0.02, 0.03, 0.04, 0.045, 0.05, 0.06, 0.07, 0.08, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10};
}

constexpr ocs::PairOutcome kOutcomes[] = {ocs::PairOutcome::kVerified, ocs::PairOutcome::kRefused,
                                          ocs::PairOutcome::kUnknown, ocs::PairOutcome::kConflict,
                                          ocs::PairOutcome::kDark};

constexpr ocs::AlarmKind kAlarmKinds[] = {
    ocs::AlarmKind::kSession,     ocs::AlarmKind::kLogin,       ocs::AlarmKind::kForeignPatch,
    ocs::AlarmKind::kOtherWriter, ocs::AlarmKind::kHalfCircuit, ocs::AlarmKind::kDark,
    ocs::AlarmKind::kShutter,     ocs::AlarmKind::kQuarantine,  ocs::AlarmKind::kSwitch,
    ocs::AlarmKind::kEventsLost,  ocs::AlarmKind::kJournal};

void grow(Counter& counter, uint64_t& before, uint64_t now) {
  counter.Increment(static_cast<double>(now >= before ? now - before : now));
  before = now;
}

}  // namespace

class RegionMetrics::Impl {
 public:
  explicit Impl(const std::string& region) : labels_{{"region", region}} {
    for (const ocs::PairOutcome outcome : kOutcomes) {
      outcomes_[outcome] = &outcome_family_.Add({{"outcome", std::string(name_of(outcome))}});
    }
    for (const ocs::AlarmKind kind : kAlarmKinds) {
      alarms_[kind] = &alarm_family_.Add({{"kind", std::string(name_of(kind))}});
    }
  }

  void count(const ocs::ApplyReport& report) {
    transactions_.Increment();
    if (report.switching > Duration::zero()) {
      switch_seconds_.Observe(seconds_of(report.switching));
    }
    for (const ocs::CircuitReport& circuit : report.circuits) {
      outcomes_.at(circuit.outcome)->Increment();
    }
  }

  void show(const ocs::Topology& topology) {
    if (topology.connected && !was_connected_) {
      sessions_.Increment();
    }
    was_connected_ = topology.connected;
    connected_.Set(topology.connected ? 1 : 0);
    settled_.Set(topology.settled ? 1 : 0);
    int intended = 0;
    int configured = 0;
    int operational = 0;
    for (const ocs::CircuitState& circuit : topology.circuits) {
      intended += circuit.intended ? 1 : 0;
      configured += circuit.configured ? 1 : 0;
      operational += circuit.operational ? 1 : 0;
    }
    intended_.Set(intended);
    configured_.Set(configured);
    operational_.Set(operational);
    quarantined_.Set(static_cast<double>(topology.quarantined.size()));
    show_alarms(topology);
    show_power(topology);
  }

  void count(const ocs::SessionCounters& now) {
    grow(late_answers_, session_.late_answers, now.late_answers);
    grow(foreign_answers_, session_.foreign_answers, now.foreign_answers);
    grow(protocol_errors_, session_.protocol_errors, now.protocol_errors);
    grow(atag_gaps_, session_.atag_gaps, now.atag_gaps);
    grow(keep_alives_, session_.keep_alives, now.keep_alives);
  }

  std::shared_ptr<Registry> registry() const { return registry_; }

 private:
  Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Labels(labels_).Register(*registry_);
  }
  Family<Gauge>& gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Labels(labels_).Register(*registry_);
  }

  void show_alarms(const ocs::Topology& topology) {
    std::map<ocs::AlarmKind, int> counts;
    for (const ocs::Alarm& alarm : topology.alarms) {
      ++counts[alarm.kind];
    }
    for (const auto& [kind, gauge] : alarms_) {
      gauge->Set(counts[kind]);
    }
  }

  // A port without a reading has no sample: 0 dBm would be a strong light.
  void show_power(const ocs::Topology& topology) {
    for (const ocs::PortState& port : topology.ports) {
      Gauge*& gauge = power_[port.port];
      if (port.dbm.has_value()) {
        if (gauge == nullptr) {
          gauge = &power_family_.Add({{"port", std::to_string(port.port.value)}});
        }
        gauge->Set(*port.dbm);
      } else if (gauge != nullptr) {
        power_family_.Remove(std::exchange(gauge, nullptr));
      }
    }
  }

  prometheus::Labels labels_;
  std::shared_ptr<Registry> registry_ = std::make_shared<Registry>();

  Histogram& switch_seconds_ =
      prometheus::BuildHistogram()
          .Name("mixnet_switch_seconds")
          .Help("Time between sending patch commands and their completion, by transaction")
          .Labels(labels_)
          .Register(*registry_)
          .Add({}, switch_buckets());
  Counter& transactions_ =
      counters("mixnet_transactions_total", "Transactions that ended in a report").Add({});
  Family<Counter>& outcome_family_ =
      counters("mixnet_circuit_outcomes_total", "Circuits reported, by outcome");
  Counter& sessions_ = counters("mixnet_sessions_total", "Sessions with the switch begun").Add({});
  Counter& late_answers_ =
      counters("mixnet_late_answers_total", "Answers to a command that was given up").Add({});
  Counter& foreign_answers_ =
      counters("mixnet_foreign_answers_total", "Answers to a command that was never sent").Add({});
  Counter& protocol_errors_ =
      counters("mixnet_protocol_errors_total", "Bytes of the switch that are no TL1").Add({});
  Counter& atag_gaps_ =
      counters("mixnet_atag_gaps_total", "Times that reports of the switch were lost").Add({});
  Counter& keep_alives_ = counters("mixnet_keep_alives_total", "Keep-alive commands sent").Add({});

  Family<Gauge>& power_family_ =
      gauges("mixnet_port_power_dbm", "Optical power at a port, in dBm, as it was read last");
  Family<Gauge>& alarm_family_ = gauges("mixnet_alarms", "Alarms that stand, by kind");
  Gauge& connected_ = gauges("mixnet_connected", "1: there is a session with the switch").Add({});
  Gauge& settled_ =
      gauges("mixnet_settled", "1: the outcome of the last transaction is known").Add({});
  Family<Gauge>& circuit_family_ = gauges("mixnet_circuits", "Circuits, by state");
  Gauge& intended_ = circuit_family_.Add({{"state", "intended"}});
  Gauge& configured_ = circuit_family_.Add({{"state", "configured"}});
  Gauge& operational_ = circuit_family_.Add({{"state", "operational"}});
  Gauge& quarantined_ = gauges("mixnet_quarantined_nics", "NICs that are not used").Add({});

  std::map<ocs::PairOutcome, Counter*> outcomes_;
  std::map<ocs::AlarmKind, Gauge*> alarms_;
  std::map<ocs::PortId, Gauge*> power_;
  ocs::SessionCounters session_;
  bool was_connected_ = false;
};

RegionMetrics::RegionMetrics(const std::string& region) : impl_(std::make_unique<Impl>(region)) {}
RegionMetrics::~RegionMetrics() = default;

void RegionMetrics::count(const ocs::ApplyReport& report) { impl_->count(report); }
void RegionMetrics::show(const ocs::Topology& topology) { impl_->show(topology); }
void RegionMetrics::count(const ocs::SessionCounters& session) { impl_->count(session); }
std::shared_ptr<Registry> RegionMetrics::registry() const { return impl_->registry(); }

}  // namespace mixnet::daemon
