#include "plan/predict_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "plan/predict_simplex.h"
#include "plan/slsqp_reference.h"

namespace mixnet::plan {
namespace {

constexpr double kDecay = 0.9;

struct Samples {
  Matrix<double> x;  // k x E, the newest first
  Matrix<double> y;
};

void normalize(std::span<double> v) {
  const double sum = std::accumulate(v.begin(), v.end(), 0.0);
  for (double& a : v) {
    a /= sum;
  }
}

enum class Kind { kIndependent, kMapped, kMappedExactly, kOneHot, kIdleExperts };
constexpr Kind kKinds[] = {Kind::kIndependent, Kind::kMapped, Kind::kMappedExactly, Kind::kOneHot,
                           Kind::kIdleExperts};

Samples make_samples(std::size_t experts, std::size_t k, Kind kind, uint64_t seed) {
  RandomStream random(seed, "fit-test");
  Samples s{Matrix<double>(k, experts), Matrix<double>(k, experts)};
  Matrix<double> map(experts, experts);  // row j: column j of the hidden P
  for (std::size_t j = 0; j < experts; ++j) {
    for (double& m : map.row(j)) {
      m = random.log_normal(0, 1.5);
    }
    normalize(map.row(j));
  }
  for (std::size_t t = 0; t < k; ++t) {
    for (std::size_t j = 0; j < experts; ++j) {
      const bool idle = kind == Kind::kIdleExperts && j % 2 == 1;
      s.x(t, j) = idle ? 0 : random.log_normal(0, 1);
      s.y(t, j) = idle ? 0 : random.log_normal(0, 1);
    }
    if (kind == Kind::kOneHot) {
      std::fill(s.x.row(t).begin(), s.x.row(t).end(), 0.0);
      s.x(t, random.below(experts)) = 1;
    }
    normalize(s.x.row(t));
    if (kind == Kind::kMapped || kind == Kind::kMappedExactly) {
      std::fill(s.y.row(t).begin(), s.y.row(t).end(), 0.0);
      for (std::size_t j = 0; j < experts; ++j) {
        for (std::size_t i = 0; i < experts; ++i) {
          s.y(t, i) += map(j, i) * s.x(t, j);
        }
      }
      for (double& y : s.y.row(t)) {
        y *= kind == Kind::kMapped ? random.log_normal(0, 0.2) : 1;
      }
    }
    normalize(s.y.row(t));
  }
  return s;
}

FitOptions tight() {
  FitOptions options;
  options.gap_tolerance = 1e-7;
  options.floor = 1e-8;
  options.decay = kDecay;
  options.most_steps = 400'000;
  return options;
}

void add_all(TransitionFit& fit, const Samples& s) {
  for (std::size_t t = s.x.rows(); t-- > 0;) {
    fit.add(s.x.row(t), s.y.row(t));
  }
}

void expect_stochastic(const Matrix<double>& p) {
  for (std::size_t j = 0; j < p.cols(); ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < p.rows(); ++i) {
      EXPECT_GE(p(i, j), 0);
      EXPECT_LE(p(i, j), 1 + 1e-12);
      sum += p(i, j);
    }
    EXPECT_NEAR(sum, 1, 1e-10);
  }
}

// Frank-Wolfe gap from its definition: the most that a linear model of f promises.
double frank_wolfe_gap(const Matrix<double>& p, const Samples& s) {
  const std::size_t experts = p.rows();
  double weight_sum = 0;
  for (std::size_t t = 0; t < s.x.rows(); ++t) {
    weight_sum += std::pow(kDecay, static_cast<double>(t));
  }
  Matrix<double> gradient(experts, experts);
  for (std::size_t t = 0; t < s.x.rows(); ++t) {
    const double weight = std::pow(kDecay, static_cast<double>(t)) / weight_sum;
    for (std::size_t i = 0; i < experts; ++i) {
      double residual = s.y(t, i);
      for (std::size_t j = 0; j < experts; ++j) {
        residual -= p(i, j) * s.x(t, j);
      }
      for (std::size_t j = 0; j < experts; ++j) {
        gradient(i, j) -= 2 * weight * residual * s.x(t, j);
      }
    }
  }
  double gap = 0;
  for (std::size_t j = 0; j < experts; ++j) {
    double least = gradient(0, j);
    for (std::size_t i = 0; i < experts; ++i) {
      least = std::min(least, gradient(i, j));
      gap += gradient(i, j) * p(i, j);
    }
    gap -= least;
  }
  return gap;
}

// With two experts P is two numbers: a grid that is refined around its best point.
TEST(TransitionFit, EqualsBruteForceForTwoExperts) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Samples s = make_samples(2, 1 + seed % 4, kKinds[seed % 5], seed);
    TransitionFit fit(2, 4, tight());
    add_all(fit, s);
    const FitReport report = fit.fit();
    double least = 1e9;
    double a0 = 0.5;
    double b0 = 0.5;
    for (double width = 0.5; width > 1e-7; width /= 4) {
      const double a_mid = a0;
      const double b_mid = b0;
      for (int m = -10; m <= 10; ++m) {
        for (int n = -10; n <= 10; ++n) {
          Matrix<double> p(2, 2);
          p(0, 0) = std::clamp(a_mid + width * m / 10, 0.0, 1.0);
          p(0, 1) = std::clamp(b_mid + width * n / 10, 0.0, 1.0);
          p(1, 0) = 1 - p(0, 0);
          p(1, 1) = 1 - p(0, 1);
          const double f = fit_objective(p, s.x, s.y, kDecay);
          if (f < least) {
            least = f;
            a0 = p(0, 0);
            b0 = p(0, 1);
          }
        }
      }
    }
    EXPECT_TRUE(report.certified) << seed;
    EXPECT_LE(report.objective, least + 1e-6 * least + 1e-8 * report.scale) << seed;
    EXPECT_LE(report.objective - report.gap, least + 1e-12) << "not a lower bound, seed " << seed;
  }
}

// Never worse than SLSQP by more than 1e-6, and the certificate holds against its answer.
TEST(TransitionFit, IsAtLeastAsGoodAsSlsqp) {
  for (const std::size_t experts : {2, 3, 4, 6, 8}) {
    for (const Kind kind : kKinds) {
      const std::size_t k = experts == 4 ? 2 : 10;
      const Samples s = make_samples(experts, k, kind, experts);
      TransitionFit fit(static_cast<int>(experts), static_cast<int>(k), tight());
      add_all(fit, s);
      const FitReport report = fit.fit();
      const ReferenceFit reference = slsqp_fit(s.x, s.y, kDecay, 5);
      const std::string what =
          "experts " + std::to_string(experts) + ", kind " + std::to_string(static_cast<int>(kind));
      EXPECT_TRUE(report.certified) << what;
      EXPECT_LE(report.objective, reference.objective * (1 + 1e-6) + 1e-8 * report.scale) << what;
      EXPECT_LE(report.objective - report.gap, reference.objective + 1e-12) << what;
      EXPECT_NEAR(fit_objective(fit.transition(), s.x, s.y, kDecay), report.objective, 1e-12);
      expect_stochastic(fit.transition());
    }
  }
}

// At every accuracy the reported gap covers the distance to a far more accurate answer, and an
// answer that is cut off says so.
TEST(TransitionFit, GapIsAtLeastTheTrueGap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::size_t experts = 3 + seed % 9;
    const Samples s = make_samples(experts, 6, kKinds[seed % 5], seed);
    TransitionFit exact(static_cast<int>(experts), 6, tight());
    add_all(exact, s);
    const FitReport best = exact.fit();
    const double least = best.objective;
    const double report_scale = best.scale;
    for (const int steps : {5, 10, 30, 100}) {
      FitOptions options = tight();
      options.most_steps = steps;
      TransitionFit fit(static_cast<int>(experts), 6, options);
      add_all(fit, s);
      const FitReport report = fit.fit();
      EXPECT_GE(report.gap, report.objective - least - 1e-9 * report.scale) << seed;
      EXPECT_LE(report.steps, steps);
      EXPECT_EQ(report.certified,
                report.gap <= std::max(1e-7 * report.objective, 1e-8 * report.scale + 1e-24));
      expect_stochastic(fit.transition());
    }
    // The textbook certificate of the exact answer agrees.
    EXPECT_LE(frank_wolfe_gap(exact.transition(), s), 1e-2 * std::max(report_scale, least)) << seed;
  }
}

TEST(TransitionFit, PermutedExpertsGivePermutedAnswers) {
  const std::size_t n = 7;
  const Samples s = make_samples(n, 20, Kind::kMapped, 3);  // k > E: P is unique
  Samples t{Matrix<double>(20, n), Matrix<double>(20, n)};
  for (std::size_t r = 0; r < 20; ++r) {
    for (std::size_t e = 0; e < n; ++e) {
      t.x(r, (3 * e + 2) % n) = s.x(r, e);
      t.y(r, (5 * e + 1) % n) = s.y(r, e);
    }
  }
  TransitionFit a(static_cast<int>(n), 20, tight());
  TransitionFit b(static_cast<int>(n), 20, tight());
  add_all(a, s);
  add_all(b, t);
  EXPECT_NEAR(a.fit().objective / b.fit().objective, 1, 1e-6);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      EXPECT_NEAR(a.transition()(i, j), b.transition()((5 * i + 1) % n, (3 * j + 2) % n), 5e-3);
    }
  }
}

TEST(TransitionFit, WarmAndColdReachTheSameOptimum) {
  const Samples s = make_samples(8, 40, Kind::kMapped, 5);
  TransitionFit warm(8, 10, tight());
  for (std::size_t t = 40; t-- > 0;) {
    warm.add(s.x.row(t), s.y.row(t));
    const FitReport w = warm.fit();
    TransitionFit cold(8, 10, tight());
    for (std::size_t u = std::min<std::size_t>(39, t + 9) + 1; u-- > t;) {
      cold.add(s.x.row(u), s.y.row(u));
    }
    const FitReport c = cold.fit();
    EXPECT_TRUE(w.certified) << t << " steps " << w.steps << " f " << w.objective << " gap "
                             << w.gap;
    EXPECT_TRUE(c.certified) << t << " steps " << c.steps << " f " << c.objective << " gap "
                             << c.gap;
    EXPECT_NEAR(w.objective, c.objective, 2e-7 * c.objective + 2e-8 * c.scale);
    EXPECT_EQ(warm.samples(), cold.samples());
  }
}

// One sample can be met exactly; a fit of the same samples again costs nothing; reset() forgets.
TEST(TransitionFit, OneSampleAndRepeatedFits) {
  const Samples s = make_samples(12, 1, Kind::kIndependent, 9);
  TransitionFit fit(12, 16);
  add_all(fit, s);
  EXPECT_NEAR(fit.fit().objective, 0, 1e-20);
  std::vector<double> out(12);
  fit.apply(s.x.row(0), out);
  for (std::size_t e = 0; e < 12; ++e) {
    EXPECT_NEAR(out[e], s.y(0, e), 1e-12);
  }
  const Samples more = make_samples(12, 16, Kind::kIndependent, 10);
  add_all(fit, more);
  const FitReport first = fit.fit();
  const FitReport again = fit.fit();
  EXPECT_GT(first.steps, 0);
  EXPECT_EQ(fit.samples(), 16);
  EXPECT_LE(again.steps, first.steps / 2);
  fit.reset();
  TransitionFit fresh(12, 16);
  add_all(fresh, more);
  EXPECT_EQ(fit.fit().objective, fresh.fit().objective);
  EXPECT_EQ(fit.transition(), fresh.transition());
}

TEST(TransitionFit, OneExpert) {
  TransitionFit fit(1, 4);
  const std::vector<double> one = {1};
  fit.add(one, one);
  EXPECT_TRUE(fit.fit().certified);
  EXPECT_EQ(fit.transition()(0, 0), 1);
}

TEST(SimplexThreshold, IsTheNearestPointFromAnyGuess) {
  RandomStream random(1, "simplex");
  for (int round = 0; round < 200; ++round) {
    std::vector<double> v(1 + random.below(40));
    for (double& a : v) {
      a = random.normal() * (round % 3 == 0 ? 0.01 : 3);
    }
    // Sorting finds tau: the largest m with v_m > (v_1 + ... + v_m - 1) / m.
    std::vector<double> sorted = v;
    std::sort(sorted.rbegin(), sorted.rend());
    double sum = 0;
    double tau = 0;
    for (std::size_t m = 0; m < sorted.size(); ++m) {
      sum += sorted[m];
      const double candidate = (sum - 1) / static_cast<double>(m + 1);
      tau = sorted[m] > candidate ? candidate : tau;
    }
    for (const double guess : {tau, tau - 5, tau + 1e-3, 100.0, -100.0, 0.0}) {
      EXPECT_NEAR(simplex_threshold(v, guess), tau, 1e-12) << round << " from " << guess;
    }
  }
}

}  // namespace
}  // namespace mixnet::plan
