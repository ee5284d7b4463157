#include "plan/predict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/random.h"

namespace mixnet::plan {
namespace {

std::unique_ptr<Predictor> make(const std::string& name, const PredictorOptions& options) {
  return make_predictor(name, options).value();
}

Matrix<double> loads_of(std::vector<std::vector<double>> rows) {
  Matrix<double> loads(rows.size(), rows[0].size());
  for (std::size_t l = 0; l < rows.size(); ++l) {
    std::copy(rows[l].begin(), rows[l].end(), loads.row(l).begin());
  }
  return loads;
}

// Two layers; the second is a fixed stochastic map of the first, times noise.
class MappedLoads {
 public:
  MappedLoads(std::size_t experts, double noise) : noise_(noise), map_(experts, experts) {
    for (std::size_t j = 0; j < experts; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < experts; ++i) {
        map_(i, j) = random_.log_normal(0, 2);
        sum += map_(i, j);
      }
      for (std::size_t i = 0; i < experts; ++i) {
        map_(i, j) /= sum;
      }
    }
  }

  Matrix<double> next() {
    Matrix<double> loads(2, map_.rows());
    for (double& x : loads.row(0)) {
      x = random_.log_normal(0, 1);
    }
    for (std::size_t i = 0; i < map_.rows(); ++i) {
      for (std::size_t j = 0; j < map_.cols(); ++j) {
        loads(1, i) += map_(i, j) * loads(0, j);
      }
      loads(1, i) *= random_.log_normal(0, noise_);
    }
    return loads;
  }

 private:
  RandomStream random_{7, "mapped"};
  double noise_;
  Matrix<double> map_;
};

// The load errors at layer 1, averaged over iterations 20 to 59.
double error_on_mapped(const std::string& name, double noise) {
  PredictorOptions options;
  options.layers = 2;
  options.experts = 6;
  const auto predictor = make(name, options);
  MappedLoads source(6, noise);
  double error = 0;
  for (int t = 0; t < 60; ++t) {
    const Matrix<double> loads = source.next();
    if (t >= 20) {
      error += load_error(predictor->predict(1, loads), normalized_load(loads.row(1))) / 40;
    }
    predictor->observe(loads);
  }
  return error;
}

TEST(Predictor, CopilotLearnsAMapBetweenLayers) {
  EXPECT_LT(error_on_mapped("copilot", 0), 0.1 * error_on_mapped("unchanged", 0));
  EXPECT_LT(error_on_mapped("copilot", 0.05), 0.6 * error_on_mapped("unchanged", 0.05));
  EXPECT_LT(error_on_mapped("best", 0.05), 1.1 * error_on_mapped("copilot", 0.05));
}

TEST(Predictor, PredictsFromThePastAlone) {
  PredictorOptions options;
  options.layers = 2;
  options.experts = 3;
  for (const std::string& name : predictor_names()) {
    const auto a = make(name, options);
    const auto b = make(name, options);
    RandomStream random(3, "past");
    for (int t = 0; t < 10; ++t) {
      Matrix<double> loads(2, 3);
      for (double& l : loads.cells()) {
        l = random.log_normal(0, 1);
      }
      Matrix<double> other = loads;  // differs where a predictor must not look
      for (double& l : other.row(1)) {
        l = 1 - random.uniform();
      }
      const std::vector<double> p = a->predict(1, loads);
      EXPECT_EQ(p, b->predict(1, other)) << name;
      EXPECT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12) << name;
      a->observe(loads);
      b->observe(loads);
    }
  }
}

TEST(Predictor, BeforeAnythingIsKnownAndWithoutTokens) {
  PredictorOptions options;
  options.layers = 2;
  options.experts = 4;
  const Matrix<double> nothing(2, 4);
  const Matrix<double> loads = loads_of({{1, 2, 3, 4}, {4, 0, 0, 0}});
  for (const std::string& name : predictor_names()) {
    const auto p = make(name, options);
    if (name == "random") {
      continue;
    }
    EXPECT_EQ(p->predict(0, nothing), std::vector<double>(4, 0.25)) << name;
    p->observe(nothing);
    EXPECT_EQ(p->predict(1, nothing), std::vector<double>(4, 0.25)) << name;
    p->observe(loads);
    p->observe(nothing);
    if (name != "uniform") {
      EXPECT_NEAR(p->predict(1, loads)[0], 1, 1e-12) << name;
    }
  }
}

TEST(Predictor, AverageAndUnchanged) {
  PredictorOptions options;
  options.experts = 2;
  options.memory = 0.75;
  const auto average = make("average", options);
  const auto unchanged = make("unchanged", options);
  for (const auto& load : {std::vector<double>{1, 0}, {0, 2}}) {
    average->observe(loads_of({load}));
    unchanged->observe(loads_of({load}));
  }
  EXPECT_EQ(average->predict(0, {}), (std::vector<double>{0.75, 0.25}));
  EXPECT_EQ(unchanged->predict(0, {}), (std::vector<double>{0, 1}));
}

TEST(Predictor, UnknownNameListsTheNames) {
  const auto made = make_predictor("copilto", {});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().text().find("copilot, best"), std::string::npos);
}

TEST(LoadError, IsTheMisplacedShare) {
  EXPECT_EQ(load_error(std::vector<double>{1, 0}, std::vector<double>{0, 1}), 1);
  EXPECT_EQ(load_error(std::vector<double>{0.75, 0.25}, std::vector<double>{0.5, 0.5}), 0.25);
}

TEST(TopKAccuracy, CountsCommonExperts) {
  const std::vector<double> actual = {0.4, 0.3, 0.2, 0.1};
  EXPECT_EQ(top_k_accuracy(std::vector<double>{0.1, 0.4, 0.3, 0.2}, actual, 2), 0.5);
  EXPECT_EQ(top_k_accuracy(std::vector<double>{0.1, 0.2, 0.3, 0.4}, actual, 2), 0);
  EXPECT_EQ(top_k_accuracy(std::vector<double>{0.25, 0.25, 0.25, 0.25}, actual, 1), 1);
  EXPECT_EQ(top_k_accuracy(actual, actual, 4), 1);
}

TEST(PredictedDemand, KeepsRowSumsAndAffinity) {
  DemandMatrix last(3, 2);
  last(0, 0) = 6;
  last(0, 1) = 2;
  last(1, 0) = 2;
  last(1, 1) = 6;  // source 2 has no history
  const DemandMatrix same = predicted_demand(last, std::vector<double>{0.5, 0.5}, 8);
  EXPECT_NEAR(same(0, 0), 6, 1e-12);
  EXPECT_NEAR(same(1, 1), 6, 1e-12);
  EXPECT_NEAR(same(2, 0), 4, 1e-12);
  const DemandMatrix moved = predicted_demand(last, std::vector<double>{0.25, 0.75}, 8);
  EXPECT_NEAR(moved(0, 0), 8 * (0.25 * 1.5) / (0.25 * 1.5 + 0.75 * 0.5), 1e-12);
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_NEAR(moved(s, 0) + moved(s, 1), 8, 1e-12);
  }
}

// Experts and sources without history, and predictions that contradict the history.
TEST(PredictedDemand, FollowsThePredictionWhereHistoryIsSilent) {
  DemandMatrix last(1, 2);
  last(0, 0) = 5;
  EXPECT_EQ(predicted_demand(last, std::vector<double>{0, 1}, 4)(0, 1), 4);
  EXPECT_EQ(predicted_demand(DemandMatrix(1, 2), std::vector<double>{0.25, 0.75}, 4)(0, 1), 3);
  DemandMatrix two(2, 2);
  two(0, 0) = 5;
  two(1, 1) = 5;
  const DemandMatrix demand = predicted_demand(two, std::vector<double>{0, 1}, 4);
  EXPECT_EQ(demand(0, 1), 4);  // source 0 never used expert 1
  EXPECT_EQ(demand(1, 1), 4);
}

}  // namespace
}  // namespace mixnet::plan
