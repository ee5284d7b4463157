#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "plan/predict.h"
#include "plan/slsqp_reference.h"
#include "scenario/generator.h"

namespace mixnet::cli {
namespace {

constexpr int kWindow = 16;
constexpr double kReferenceSeconds = 60;
constexpr int kMostForReference = 16;  // beyond, SLSQP's dense algebra needs hours

// Loads [iteration][layer 0 or 1] of a generated trace: log-normal, sigma 1, drift 5 %.
Result<std::vector<std::vector<double>>> drifting_loads(int experts, int64_t iterations) {
  scenario::GeneratorOptions options;
  options.iterations = iterations;
  options.layers = 2;
  options.experts = experts;
  options.tokens = 1'000'000;
  const Result<scenario::RoutingTrace> trace = scenario::generate_trace(options);
  if (!trace) {
    return trace.error();
  }
  std::vector<std::vector<double>> loads;
  for (int64_t i = 0; i < iterations; ++i) {
    for (int64_t l = 0; l < 2; ++l) {
      const auto row = trace->view().row(i, l, 0);
      loads.push_back(plan::normalized_load(std::vector<double>(row.begin(), row.end())));
    }
  }
  return loads;
}

double median_seconds(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Median CPU time of a fit after one new sample; the process clock is coarse, so repeats add up.
Result<BenchFigure> run_fit(int experts, int slides) {
  const Result<std::vector<std::vector<double>>> loads = drifting_loads(experts, kWindow + slides);
  if (!loads) {
    return loads.error();
  }
  const std::vector<std::vector<double>>& load = *loads;
  plan::TransitionFit fit(experts, kWindow);
  for (std::size_t t = 0; t < kWindow; ++t) {
    fit.add(load[2 * t], load[2 * t + 1]);
  }
  std::vector<double> cold;
  for (int repeat = 0; repeat < 3; ++repeat) {
    fit.reset();
    const double before = process_usage().cpu_s;
    fit.fit();
    cold.push_back(process_usage().cpu_s - before);
  }
  std::vector<double> warm;
  std::vector<double> steps;
  int uncertified = 0;
  for (std::size_t t = kWindow; t < load.size() / 2; ++t) {
    fit.add(load[2 * t], load[2 * t + 1]);
    const double before = process_usage().cpu_s;
    const plan::FitReport report = fit.fit();
    warm.push_back(process_usage().cpu_s - before);
    steps.push_back(report.steps);
    uncertified += report.certified ? 0 : 1;
  }
  BenchFigure figure;
  figure.cpu_s = median_seconds(warm);
  figure.against = "NLopt SLSQP, cold, analytic gradient, this machine";
  figure.details = {{"cold_cpu_s", median_seconds(cold)},
                    {"warm_worst_cpu_s", *std::max_element(warm.begin(), warm.end())},
                    {"steps", median_seconds(steps)},
                    {"uncertified", uncertified},
                    {"samples", kWindow},
                    {"gap_tolerance", plan::FitOptions{}.gap_tolerance}};
  if (experts > kMostForReference) {
    return figure;
  }
  Matrix<double> x(kWindow, static_cast<std::size_t>(experts));
  Matrix<double> y = x;
  for (std::size_t t = 0; t < kWindow; ++t) {
    const std::size_t newest = load.size() / 2 - 1 - t;
    std::copy(load[2 * newest].begin(), load[2 * newest].end(), x.row(t).begin());
    std::copy(load[2 * newest + 1].begin(), load[2 * newest + 1].end(), y.row(t).begin());
  }
  const double before = process_usage().cpu_s;
  const plan::ReferenceFit reference =
      plan::slsqp_fit(x, y, plan::FitOptions{}.decay, kReferenceSeconds);
  figure.reference_cpu_s = process_usage().cpu_s - before;
  figure.reference_unfinished = !reference.finished;
  const double ours = plan::fit_objective(fit.transition(), x, y, plan::FitOptions{}.decay);
  figure.details["objective"] = ours;
  figure.details["reference_objective"] = reference.objective;
  return figure;
}

}  // namespace

std::vector<BenchCase> predict_benches() {
  std::vector<BenchCase> cases;
  for (const auto& [experts, slides] :
       std::vector<std::pair<int, int>>{{8, 400}, {16, 200}, {64, 40}, {256, 9}}) {
    cases.push_back(
        {"predict-" + std::to_string(experts),
         "fit of a load transition, warm, 16 samples, " + std::to_string(experts) + " experts",
         [experts = experts, slides = slides] { return run_fit(experts, slides); }});
  }
  return cases;
}

}  // namespace mixnet::cli
