#include "sim/fluid_network.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/index.h"
#include "sim/event_heap.h"
#include "sim/flow_templates.h"
#include "sim/fluid_engine.h"

namespace mixnet::sim {
namespace {

constexpr double kBitPicosecondsPerByteSecond = 8e12;

double bytes_per_ps(BitRate rate) {
  CHECK(rate.bps() >= 0, "a capacity is not negative");
  return static_cast<double>(rate.bps()) / kBitPicosecondsPerByteSecond;
}

std::vector<double> bytes_per_ps(const std::vector<BitRate>& rates) {
  std::vector<double> result;
  result.reserve(rates.size());
  for (const BitRate rate : rates) {
    result.push_back(bytes_per_ps(rate));
  }
  return result;
}

}  // namespace

// A template whose links are free runs *alone*: it is not in the engine, only its completion is
// known, from a run in the rehearsal engine. As soon as something touches one of its links, it
// *joins* the engine in the state that a second rehearsal up to that instant gives. The engines are
// equal and insensitive to the starting time, so the state is exactly what it would have been had
// it been in the engine from the start.
class FluidNetwork::Impl {
 public:
  explicit Impl(std::vector<double> capacity)
      : alone_on_(capacity.size(), -1), engine_(capacity), rehearsal_(std::move(capacity)) {}

  std::size_t links() const { return alone_on_.size(); }
  TemplateStore& templates() { return templates_; }

  TransferId start(TemplateId id, int64_t now);
  TransferId start(const std::vector<FlowClass>& flows, int64_t now);
  TransferId start(std::span<const LinkShare> path, int64_t bytes, int64_t now);
  int64_t next_ps();
  int64_t duration_ps(TemplateId id);
  void advance(int64_t now, std::vector<TransferId>& completed);

 private:
  // A transfer that runs alone.
  struct Alone {
    TransferId id;
    TemplateId flows;
    int64_t start_ps;
    int64_t first_key;
  };

  void move_to(int64_t now);
  void collect();
  bool links_are_free(const FlowShape& shape) const;
  void run_alone(TransferId id, TemplateId flows, int64_t now);
  void join(int32_t alone);
  void join_on(int32_t link);
  int32_t leave(int32_t alone);
  static void add_flows(FluidEngine& engine, int32_t transfer, int64_t first_key,
                        const FlowShape& shape, std::span<const int64_t> bytes);

  TemplateStore templates_;
  std::vector<Alone> alone_;
  std::vector<int32_t> free_alone_;
  std::vector<int32_t> alone_on_;  // per link: who runs alone on it, or -1
  EventHeap alone_ends_;
  FluidEngine engine_;
  FluidEngine rehearsal_;
  std::vector<TransferId> finished_;  // completed at the engine's now, not yet reported
  std::vector<Hop> path_;             // scratch
  TransferId next_id_ = 0;
  int64_t next_key_ = 0;  // starting order of flows
};

void FluidNetwork::Impl::add_flows(FluidEngine& engine, int32_t transfer, int64_t first_key,
                                   const FlowShape& shape, std::span<const int64_t> bytes) {
  for (std::size_t f = 0; f < shape.flows(); ++f) {
    engine.add_flow(transfer, first_key + static_cast<int64_t>(f),
                    FlowSpec{shape.path(f), bytes[f]});
  }
}

void FluidNetwork::Impl::collect() {
  std::vector<int64_t>& completed = engine_.completed();
  finished_.insert(finished_.end(), completed.begin(), completed.end());
  completed.clear();
}

void FluidNetwork::Impl::move_to(int64_t now) {
  CHECK(finished_.empty() || now == engine_.now_ps(), "advance() to a completion before moving on");
  engine_.advance(now);
  collect();
  while (!alone_ends_.empty() && alone_ends_.top_time() <= now) {
    CHECK(alone_ends_.top_time() == now, "advance() to a completion before moving on");
    finished_.push_back(alone_[at(leave(alone_ends_.top_id()))].id);
  }
}

bool FluidNetwork::Impl::links_are_free(const FlowShape& shape) const {
  return std::none_of(shape.links.begin(), shape.links.end(), [this](int32_t link) {
    return alone_on_[at(link)] >= 0 || engine_.occupied(link);
  });
}

// Solves the template alone, once.
int64_t FluidNetwork::Impl::duration_ps(TemplateId id) {
  FlowTemplate& flows = templates_.at(id);
  if (!flows.duration_ps.has_value()) {
    const FlowShape& shape = templates_.shape(flows);
    const auto count = static_cast<int32_t>(shape.flows());
    add_flows(rehearsal_, rehearsal_.open_transfer(0, count), 0, shape, flows.bytes);
    int64_t next = rehearsal_.next_event_ps();
    while (rehearsal_.completed().empty() && next != kNeverPs) {
      rehearsal_.advance(next);
      next = rehearsal_.completed().empty() ? rehearsal_.next_event_ps() : next;
    }
    flows.duration_ps = next;
    rehearsal_.reset();
  }
  return *flows.duration_ps;
}

void FluidNetwork::Impl::run_alone(TransferId id, TemplateId flows, int64_t now) {
  const int64_t duration = duration_ps(flows);
  auto slot = static_cast<int32_t>(alone_.size());
  if (free_alone_.empty()) {
    alone_.push_back(Alone{});
  } else {
    slot = free_alone_.back();
    free_alone_.pop_back();
  }
  alone_[at(slot)] = Alone{id, flows, now, next_key_};
  const FlowTemplate& flow_template = templates_.at(flows);
  for (const int32_t link : templates_.shape(flow_template).links) {
    alone_on_[at(link)] = slot;
  }
  alone_ends_.set(slot, duration < kNeverPs - now ? now + duration : kNeverPs);
}

int32_t FluidNetwork::Impl::leave(int32_t alone) {
  for (const int32_t link : templates_.shape(templates_.at(alone_[at(alone)].flows)).links) {
    alone_on_[at(link)] = -1;
  }
  alone_ends_.erase(alone);
  free_alone_.push_back(alone);
  return alone;
}

void FluidNetwork::Impl::join(int32_t alone) {
  const Alone run = alone_[at(leave(alone))];
  const FlowTemplate& flows = templates_.at(run.flows);
  const FlowShape& shape = templates_.shape(flows);
  const auto count = static_cast<int32_t>(shape.flows());
  const int32_t transfer = engine_.open_transfer(run.id, count);
  const int64_t elapsed = engine_.now_ps() - run.start_ps;
  if (elapsed == 0) {
    add_flows(engine_, transfer, run.first_key, shape, flows.bytes);
    return;
  }
  add_flows(rehearsal_, rehearsal_.open_transfer(0, count), 0, shape, flows.bytes);
  rehearsal_.advance(elapsed);
  rehearsal_.hand_over(engine_, transfer, run.start_ps, run.first_key);
}

void FluidNetwork::Impl::join_on(int32_t link) {
  CHECK(link >= 0 && at(link) < links(), "an unknown link");
  if (alone_on_[at(link)] >= 0) {
    join(alone_on_[at(link)]);
  }
}

TransferId FluidNetwork::Impl::start(TemplateId id, int64_t now) {
  move_to(now);
  const FlowTemplate& flows = templates_.at(id);
  const FlowShape& shape = templates_.shape(flows);
  if (links_are_free(shape)) {
    run_alone(next_id_, id, now);
  } else {
    for (const int32_t link : shape.links) {
      join_on(link);
    }
    const int32_t transfer = engine_.open_transfer(next_id_, static_cast<int32_t>(shape.flows()));
    add_flows(engine_, transfer, next_key_, shape, flows.bytes);
    collect();
  }
  next_key_ += static_cast<int64_t>(shape.flows());
  return next_id_++;
}

TransferId FluidNetwork::Impl::start(const std::vector<FlowClass>& flows, int64_t now) {
  move_to(now);
  const FlowShape shape = shape_of(flows, links());
  for (const int32_t link : shape.links) {
    join_on(link);
  }
  const int32_t transfer = engine_.open_transfer(next_id_, static_cast<int32_t>(flows.size()));
  for (std::size_t f = 0; f < flows.size(); ++f) {
    engine_.add_flow(transfer, next_key_++, FlowSpec{shape.path(f), flows[f].bytes.count()});
  }
  collect();
  return next_id_++;
}

TransferId FluidNetwork::Impl::start(std::span<const LinkShare> path, int64_t bytes, int64_t now) {
  CHECK(bytes >= 0, "a size is not negative");
  move_to(now);
  path_.clear();
  for (const LinkShare& share : path) {
    CHECK(share.fraction > 0, "a flow loads every link of its path");
    join_on(share.link.value);
    path_.push_back(Hop{share.link.value, share.fraction});
  }
  engine_.add_flow(engine_.open_transfer(next_id_, 1), next_key_++, FlowSpec{path_, bytes});
  collect();
  return next_id_++;
}

int64_t FluidNetwork::Impl::next_ps() {
  if (!finished_.empty()) {
    return engine_.now_ps();
  }
  const int64_t next = engine_.next_event_ps();
  return alone_ends_.empty() ? next : std::min(next, alone_ends_.top_time());
}

void FluidNetwork::Impl::advance(int64_t now, std::vector<TransferId>& completed) {
  move_to(now);
  std::sort(finished_.begin(), finished_.end());
  completed.insert(completed.end(), finished_.begin(), finished_.end());
  finished_.clear();
}

FluidNetwork::FluidNetwork(const std::vector<BitRate>& capacity)
    : impl_(std::make_unique<Impl>(bytes_per_ps(capacity))) {}
FluidNetwork::~FluidNetwork() = default;
FluidNetwork::FluidNetwork(FluidNetwork&&) noexcept = default;
FluidNetwork& FluidNetwork::operator=(FluidNetwork&&) noexcept = default;

TemplateId FluidNetwork::define(const std::vector<FlowClass>& flows) {
  return impl_->templates().define(flows, impl_->links());
}

std::optional<SimTime> FluidNetwork::alone(TemplateId flows) {
  const int64_t took = impl_->duration_ps(flows);
  return took == kNeverPs ? std::nullopt : std::optional<SimTime>(SimTime::from_ps(took));
}

TransferId FluidNetwork::start(TemplateId flows, SimTime now) {
  return impl_->start(flows, now.ps());
}

TransferId FluidNetwork::start(const std::vector<FlowClass>& flows, SimTime now) {
  return impl_->start(flows, now.ps());
}

TransferId FluidNetwork::start(std::span<const LinkShare> path, Bytes bytes, SimTime now) {
  return impl_->start(path, bytes.count(), now.ps());
}

std::optional<SimTime> FluidNetwork::next_completion() const {
  const int64_t next = impl_->next_ps();
  return next == kNeverPs ? std::nullopt : std::optional<SimTime>(SimTime::from_ps(next));
}

void FluidNetwork::advance(SimTime now, std::vector<TransferId>& completed) {
  impl_->advance(now.ps(), completed);
}

}  // namespace mixnet::sim
