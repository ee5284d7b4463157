#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "cli/region_access.h"
#include "daemon/region_calls.h"
#include "daemon/region_engine.h"

namespace mixnet::cli {
namespace {

namespace v1 = region::v1;
using daemon::RegionCalls;
using daemon::RegionEngine;

// The controller in this program, on this thread: the loop runs while something is waited for.
class DirectAccess final : public RegionAccess {
 public:
  DirectAccess(daemon::RegionConfig config, Duration timeout)
      : config_(std::move(config)), timeout_(timeout) {}
  ~DirectAccess() override { stop(); }
  DirectAccess(const DirectAccess&) = delete;
  DirectAccess& operator=(const DirectAccess&) = delete;
  DirectAccess(DirectAccess&&) = delete;
  DirectAccess& operator=(DirectAccess&&) = delete;

  // Logs in and reads everything.
  Status open(ocs::RegionLock lock);

  std::string way() const override {
    return "this program, for no mixnetd runs for region " + config_.name;
  }
  Result<v1::Topology> status() override { return engine_->topology(); }
  Result<v1::ApplyReply> apply(const v1::ApplyCircuitsRequest& request) override {
    v1::ApplyCircuitsRequest asked = request;
    asked.set_deadline_ms(deadline_ms());
    return call([&](v1::ApplyReply& reply, RegionCalls::Done done) {
      calls_->apply_circuits(asked, reply, std::move(done));
    });
  }
  Result<v1::ApplyReply> verify() override {
    v1::VerifyRequest asked;
    asked.set_deadline_ms(deadline_ms());
    return call([&](v1::ApplyReply& reply, RegionCalls::Done done) {
      calls_->verify(asked, reply, std::move(done));
    });
  }
  Result<v1::ApplyReply> report_demand(const DemandMatrix& demand) override {
    v1::ReportDemandRequest asked;
    asked.set_servers(static_cast<uint32_t>(demand.rows()));
    asked.mutable_demand()->Add(demand.cells().begin(), demand.cells().end());
    asked.set_deadline_ms(deadline_ms());
    return call([&](v1::ApplyReply& reply, RegionCalls::Done done) {
      calls_->report_demand(asked, reply, std::move(done));
    });
  }
  Status watch(const std::function<void(const v1::Topology&)>& change,
               std::optional<Duration> length) override;

 private:
  template <typename Start>
  Result<v1::ApplyReply> call(const Start& start);
  // Runs the loop until `end`, which is asked after every event and whenever somebody stops the
  // loop; at most for `most`.
  bool run_until(const std::function<bool()>& end, std::optional<Duration> most);
  uint32_t deadline_ms() const {
    return static_cast<uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(timeout_).count());
  }
  void stop();

  daemon::RegionConfig config_;
  Duration timeout_;
  std::unique_ptr<RegionEngine> engine_;
  std::unique_ptr<RegionCalls> calls_;
  std::function<void()> on_event_;
  bool interrupted_ = false;
};

Status DirectAccess::open(ocs::RegionLock lock) {
  Result<std::unique_ptr<RegionEngine>> engine =
      RegionEngine::open(config_, std::move(lock), [this](const ocs::ControllerEvent& /*event*/) {
        if (on_event_) {
          on_event_();
        }
      });
  if (!engine.ok()) {
    return engine.error();
  }
  engine_ = std::move(engine).value();
  calls_ = std::make_unique<RegionCalls>(engine_->host(), config_.allocator, config_.eps);
  const ocs::Topology& topology = engine_->controller().topology();
  std::optional<std::string> trouble;
  const bool ended = run_until(
      [&] {
        trouble = session_trouble(engine_->topology());
        return trouble.has_value() || (topology.connected && topology.read);
      },
      timeout_);
  if (ended && !trouble.has_value()) {
    return Status();
  }
  return Error{fmt::format("no mixnetd controls region {}, and the switch cannot be reached from "
                           "here: {}",
                           config_.name,
                           trouble.value_or(topology.connected ? "it was not read in time"
                                                               : "no session in time")),
               ""};
}

bool DirectAccess::run_until(const std::function<bool()>& end, std::optional<Duration> most) {
  net::AsioLoop& loop = engine_->loop();
  bool ended = end();
  bool late = false;
  on_event_ = [&] {
    ended = ended || end();
    if (ended) {
      loop.stop();
    }
  };
  net::TimerId timer = 0;
  if (most.has_value()) {
    timer = loop.call_at(loop.now() + *most, [&] {
      late = true;
      loop.stop();
    });
  }
  while (!ended && !late) {
    loop.run();
    ended = ended || end();
  }
  loop.cancel(timer);
  on_event_ = nullptr;
  return ended;
}

template <typename Start>
Result<v1::ApplyReply> DirectAccess::call(const Start& start) {
  v1::ApplyReply reply;
  std::optional<daemon::RequestFailure> failure;
  bool done = false;
  start(reply, [&](std::optional<daemon::RequestFailure> why) {
    failure = std::move(why);
    done = true;
    engine_->loop().stop();
  });
  run_until([&] { return done; }, std::nullopt);
  if (failure.has_value()) {
    return Error{failure->message, ""};
  }
  return reply;
}

Status DirectAccess::watch(const std::function<void(const v1::Topology&)>& change,
                           std::optional<Duration> length) {
  interrupted_ = false;
  // Stays in place when this returns: a second signal may come while the session ends.
  engine_->loop().on_signals({SIGINT, SIGTERM}, [this](int /*signal*/) {
    interrupted_ = true;
    engine_->loop().stop();
  });
  uint64_t shown = 0;
  const auto show = [&] {
    if (engine_->controller().topology().version != shown) {
      shown = engine_->controller().topology().version;
      change(engine_->topology());
    }
    return interrupted_;
  };
  run_until(show, length);
  return Status();
}

void DirectAccess::stop() {
  if (engine_ == nullptr) {
    return;
  }
  bool stopped = false;
  engine_->stop(config_.stop_deadline, [&](bool /*in_time*/) {
    stopped = true;
    engine_->loop().stop();
  });
  run_until([&] { return stopped; }, std::nullopt);
}

}  // namespace

Result<std::unique_ptr<RegionAccess>> control_region(const daemon::RegionConfig& config,
                                                     ocs::RegionLock lock,
                                                     const AccessOptions& options) {
  daemon::RegionConfig ours = config;
  ours.options.resume = options.intention == Intention::kChange;
  auto access = std::make_unique<DirectAccess>(std::move(ours), options.client.deadline);
  if (Status status = access->open(std::move(lock)); !status.ok()) {
    return status.error();
  }
  return std::unique_ptr<RegionAccess>(std::move(access));
}

}  // namespace mixnet::cli
