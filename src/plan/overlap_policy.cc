#include "plan/overlap_policy.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "plan/transport_copies.h"

namespace mixnet::plan {
namespace {

// By how much the second loses, per layer; what it loses and what it gains.
struct Difference {
  double us = 0;
  std::string loss;
  std::string gain;
};

std::vector<Difference> differences(const PolicyEntry& best, const PolicyEntry& second) {
  const LayerPrediction& a = best.time;
  const LayerPrediction& b = second.time;
  const bool splits_batch =
      second.choice.overlap == Overlap::kTwoBatch && best.choice.overlap != Overlap::kTwoBatch;
  return {{(b.exposed() - a.exposed()).us(), "it waits {:.1f} us longer for the network",
           "the {:.1f} us that it waits less for the network"},
          {(b.compute - a.compute).us(),
           splits_batch ? "two half batches compute {:.1f} us longer than the whole one"
                        : "its smaller kernels compute {:.1f} us longer",
           "the {:.1f} us that it computes less"},
          {(b.kernels - a.kernels).us(), "dispatch and combine hold the GPU {:.1f} us longer",
           "the {:.1f} us that dispatch and combine hold the GPU less"}};
}

std::string reason(const PolicyEntry& best, const PolicyEntry& second) {
  const double slower = second.time.step.seconds() / best.time.step.seconds() - 1;
  std::vector<Difference> terms = differences(best, second);
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Difference& x, const Difference& y) { return x.us > y.us; });
  const Difference& loss = terms.front();
  const Difference& gain = terms.back();
  constexpr double kWorthSaying = 0.05;  // us
  if (loss.us < kWorthSaying) {
    return fmt::format("{} is as fast to {:.2f} %", choice_text(second.choice),
                       100 * std::max(0.0, slower));
  }
  std::string text =
      fmt::format("{} is {:.1f} % slower: per layer ", choice_text(second.choice), 100 * slower);
  text += fmt::format(fmt::runtime(loss.loss), loss.us);
  if (gain.us < -kWorthSaying) {
    text += ", against ";
    text += fmt::format(fmt::runtime(gain.gain), -gain.us);
  }
  return text;
}

// Fastest first. What is as fast as the fastest to a millionth (sums of rounded picoseconds differ)
// gives way to the simplest, which comes in first.
void sort_entries(std::vector<PolicyEntry>& entries) {
  const auto faster = [](const PolicyEntry& x, const PolicyEntry& y) {
    return x.time.step < y.time.step;
  };
  const int64_t fastest = std::min_element(entries.begin(), entries.end(), faster)->time.step.ps();
  const auto best = std::find_if(entries.begin(), entries.end(), [&](const PolicyEntry& e) {
    return e.time.step.ps() <= fastest + fastest / 1'000'000;
  });
  std::rotate(entries.begin(), best, best + 1);
  std::stable_sort(entries.begin() + 1, entries.end(), faster);
}

}  // namespace

std::string choice_text(const OverlapChoice& choice) {
  std::string text =
      fmt::format("mode {}{}, {}", transport_mode(choice.transport),
                  choice.transport == Transport::kRelayCopies ? " without de-redundancy" : "",
                  choice.overlap == Overlap::kNone ? "no overlap" : overlap_name(choice.overlap));
  if (choice.overlap == Overlap::kPerExpert) {
    text += fmt::format(" x {}", choice.groups);
  }
  return text;
}

Deployment with_resolved_skew(Deployment d) {
  if (d.imbalance.has_value()) {
    d.skew = hot_expert_skew(expert_spread(d), *d.imbalance);
    d.imbalance.reset();
  }
  return d;
}

std::vector<PolicyRow> overlap_policy(const Deployment& given) {
  const Deployment d = with_resolved_skew(given);
  std::vector<PolicyRow> rows;
  for (const int batch : d.batches) {
    PolicyRow row;
    row.batch = batch;
    for (const OverlapChoice& choice : overlap_choices(d, batch)) {
      row.entries.push_back({choice, predict_layer(d, choice, batch)});
    }
    CHECK(row.entries.size() >= 2, "two transports at least");
    sort_entries(row.entries);
    row.why = reason(row.best(), row.runner_up());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace mixnet::plan
