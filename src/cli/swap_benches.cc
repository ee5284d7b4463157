#include <algorithm>
#include <cmath>
#include <numeric>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "core/random.h"
#include "plan/swap.h"

namespace mixnet::cli {
namespace {

using plan::BalancedStep;
using plan::StepBalancer;
using plan::StepShape;
using plan::SwapRule;

std::size_t size_of(int count) { return static_cast<std::size_t>(count); }

double max_to_mean(const StepShape& shape, std::span<const int64_t> tokens) {
  std::vector<int64_t> loads(size_of(shape.gpus));
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    loads[s / size_of(shape.slots_per_gpu)] += tokens[s];
  }
  const int64_t total = std::accumulate(loads.begin(), loads.end(), int64_t{0});
  const int64_t most = *std::max_element(loads.begin(), loads.end());
  return total == 0 ? 1 : static_cast<double>(most) * shape.gpus / static_cast<double>(total);
}

// --- How long a decision takes
// --------------------------------------------------------------------

// The rule for one host without replicas, written as it reads: the tokens of the heaviest GPU after
// it. No check of replicas, no list of swaps: this is the least that a plain loop does.
int64_t plain_decision(const StepShape& shape, std::vector<int64_t>& tokens) {
  const std::size_t slots = size_of(shape.slots_per_gpu);
  std::vector<int64_t> loads(size_of(shape.gpus));
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    loads[s / slots] += tokens[s];
  }
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&loads](std::size_t a, std::size_t b) { return loads[a] > loads[b]; });
  for (std::size_t k = 0; k < order.size() / 2; ++k) {
    const std::size_t heavy = order[k];
    const std::size_t light = order[order.size() - 1 - k];
    int64_t least = loads[heavy];
    int64_t best = 0;
    for (std::size_t i = heavy * slots; i < (heavy + 1) * slots; ++i) {
      for (std::size_t j = light * slots; j < (light + 1) * slots; ++j) {
        const int64_t moved = tokens[i] - tokens[j];
        const int64_t larger = std::max(loads[heavy] - moved, loads[light] + moved);
        if (larger < least) {
          least = larger;
          best = moved;
        }
      }
    }
    loads[heavy] -= best;
    loads[light] += best;
  }
  return *std::max_element(loads.begin(), loads.end());
}

Result<BenchFigure> run_decisions() {
  const StepShape shape{8, 32, 8, 256};
  constexpr int kSteps = 200;
  constexpr int kRepeats = 100;
  std::vector<int> expert(size_of(shape.experts));
  std::iota(expert.begin(), expert.end(), 0);
  RandomStream random(1, "swap bench");
  std::vector<std::vector<int64_t>> steps(kSteps, std::vector<int64_t>(expert.size()));
  for (std::vector<int64_t>& step : steps) {
    for (int64_t& tokens : step) {
      tokens = static_cast<int64_t>(20 * random.log_normal(0, 1));
    }
  }
  StepBalancer balancer(shape, {});
  int64_t heaviest = 0;
  std::size_t swaps = 0;
  const double start_s = process_usage().cpu_s;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (const std::vector<int64_t>& step : steps) {
      const BalancedStep done = balancer.balance(expert, step);
      heaviest += done.heaviest_after;
      swaps += done.swaps.size();
    }
  }
  const double middle_s = process_usage().cpu_s;
  int64_t reference = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (std::vector<int64_t>& step : steps) {
      reference += plain_decision(shape, step);
    }
  }
  const double end_s = process_usage().cpu_s;
  if (heaviest != reference) {
    return Error{"the balancer and the plain loop disagree", "swap-8x32"};
  }
  constexpr double kDecisions = kSteps * kRepeats;
  BenchFigure figure;
  figure.cpu_s = (middle_s - start_s) / kDecisions;
  figure.reference_cpu_s = (end_s - middle_s) / kDecisions;
  figure.against = "a plain loop over all pairs of slots, without replicas";
  figure.details = {{"gpus", shape.gpus},
                    {"slots_per_gpu", shape.slots_per_gpu},
                    {"decisions", static_cast<int>(kDecisions)},
                    {"budget_s", 5e-6},
                    {"swaps_per_decision", static_cast<double>(swaps) / kDecisions}};
  return figure;
}

// --- What swaps do to the noise of one step
// -------------------------------------------------------

// 60 experts, 4 of them per token, on 12 GPUs in hosts of 4, as in the measured trace of decode
// steps that this mimics.
struct Sampling {
  int tokens = 0;         // of one step
  double sigma = 0;       // of the log-normal popularity of experts
  int slots_per_gpu = 5;  // 6: one replica per GPU
};

constexpr int kSwappedExperts = 60;
constexpr int kTopK = 4;
constexpr int kGpus = 12;
constexpr int kGpusPerHost = 4;
constexpr int kSampledSteps = 400;

std::vector<double> popularity_of(double sigma, RandomStream& random) {
  std::vector<double> popularity(kSwappedExperts);
  for (double& p : popularity) {
    p = random.log_normal(0, sigma);
  }
  return popularity;
}

// Tokens of every expert: every token draws different experts, one after another.
std::vector<int64_t> draw_step(const std::vector<double>& popularity, int tokens,
                               RandomStream& random) {
  std::vector<int64_t> counts(popularity.size());
  for (int t = 0; t < tokens; ++t) {
    std::vector<double> left = popularity;
    double total = std::accumulate(left.begin(), left.end(), 0.0);
    for (int k = 0; k < kTopK; ++k) {
      double point = random.uniform() * total;
      std::size_t e = 0;
      while (e + 1 < left.size() && (left[e] == 0 || point >= left[e])) {
        point -= left[e++];
      }
      ++counts[e];
      total -= left[e];
      left[e] = 0;
    }
  }
  return counts;
}

// Five experts per GPU in turn. A sixth slot repeats the most popular expert of the next GPU of the
// host, so that replicas stay in the host and form a ring.
std::vector<int> place(const Sampling& sampling, const std::vector<double>& popularity) {
  constexpr int kOwn = kSwappedExperts / kGpus;
  std::vector<int> expert;
  for (int g = 0; g < kGpus; ++g) {
    for (int k = 0; k < kOwn; ++k) {
      expert.push_back(g * kOwn + k);
    }
    if (sampling.slots_per_gpu > kOwn) {
      const int next = g / kGpusPerHost * kGpusPerHost + (g + 1) % kGpusPerHost;
      const auto first = popularity.begin() + std::ptrdiff_t{next} * kOwn;
      expert.push_back(
          static_cast<int>(std::max_element(first, first + kOwn) - popularity.begin()));
    }
  }
  return expert;
}

struct Spread {
  double mean = 0;
  double p90 = 0;
};

Spread spread_of(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  const double sum = std::accumulate(ratios.begin(), ratios.end(), 0.0);
  return {sum / static_cast<double>(ratios.size()), ratios[ratios.size() * 9 / 10]};
}

Result<BenchFigure> run_sampling(Sampling sampling) {
  const StepShape shape{kGpus, sampling.slots_per_gpu, kGpusPerHost, kSwappedExperts};
  RandomStream random(1, "step sampling");
  struct Variant {
    const char* name;
    SwapRule rule;
    std::vector<double> ratios;
  };
  std::vector<Variant> variants = {{"before", {1, 1, 0, false}, {}},
                                   {"one_round", {1, 1, 1, false}, {}},
                                   {"two_swaps_per_pair", {1, 2, 1, false}, {}},
                                   {"four_rounds", {1, 1, 4, false}, {}},
                                   {"spilled", {1, 1, 0, true}, {}},
                                   {"spilled_one_round", {1, 1, 1, true}, {}}};
  double host_bound = 0;  // the mean of the host with the most tokens: no swap inside helps
  const double before_s = process_usage().cpu_s;
  for (int step = 0; step < kSampledSteps; ++step) {
    const std::vector<double> popularity = popularity_of(sampling.sigma, random);
    const std::vector<int> expert = place(sampling, popularity);
    const std::vector<int64_t> counts = draw_step(popularity, sampling.tokens, random);
    std::vector<int64_t> tokens(expert.size());
    for (Variant& variant : variants) {
      StepBalancer balancer(shape, variant.rule);
      balancer.split(expert, counts, tokens);
      variant.ratios.push_back(max_to_mean(shape, balancer.balance(expert, tokens).slot_tokens));
    }
    const StepShape hosts{kGpus / kGpusPerHost, kGpusPerHost * sampling.slots_per_gpu, 1,
                          kSwappedExperts};
    host_bound += max_to_mean(hosts, tokens) / kSampledSteps;
  }
  BenchFigure figure;
  figure.cpu_s = (process_usage().cpu_s - before_s) / kSampledSteps;
  figure.against = "imbalance, see --json";
  figure.details = {{"tokens", sampling.tokens},
                    {"sigma", sampling.sigma},
                    {"slots", kGpus * sampling.slots_per_gpu},
                    {"steps", kSampledSteps},
                    {"host_bound_mean", host_bound}};
  for (Variant& variant : variants) {
    const Spread spread = spread_of(std::move(variant.ratios));
    figure.details[variant.name] = {{"mean", spread.mean}, {"p90", spread.p90}};
  }
  return figure;
}

}  // namespace

std::vector<BenchCase> swap_benches() {
  std::vector<BenchCase> benches = {
      {"swap-8x32", "one decision on per-step swaps: 8 GPUs of 32 experts", run_decisions}};
  struct Row {
    const char* name;
    Sampling sampling;
  };
  for (const Row& row : {Row{"swap-tokens-25", {25, 0.2, 5}}, Row{"swap-tokens-200", {200, 0.2, 5}},
                         Row{"swap-tokens-25-replicas", {25, 0.2, 6}},
                         Row{"swap-tokens-200-replicas", {200, 0.2, 6}},
                         Row{"swap-tokens-200-skewed", {200, 1.0, 6}}}) {
    const Sampling sampling = row.sampling;
    benches.push_back({row.name, "largest load to mean of sampled steps, with and without swaps",
                       [sampling] { return run_sampling(sampling); }});
  }
  return benches;
}

}  // namespace mixnet::cli
