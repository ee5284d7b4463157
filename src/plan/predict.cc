#include "plan/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "core/random.h"

namespace mixnet::plan {
namespace {

std::vector<double> uniform_load(std::size_t experts) {
  return std::vector<double>(experts, 1.0 / static_cast<double>(experts));
}

// Exponential average; memory 0 is "unchanged".
class Average : public Predictor {
 public:
  Average(const PredictorOptions& options, double memory)
      : memory_(memory),
        known_(static_cast<std::size_t>(options.layers),
               uniform_load(static_cast<std::size_t>(options.experts))),
        seen_(static_cast<std::size_t>(options.layers), false) {}

  std::vector<double> predict(int layer, const Matrix<double>& /*loads*/) override {
    return known_[static_cast<std::size_t>(layer)];
  }

  void observe(const Matrix<double>& loads) override {
    for (std::size_t l = 0; l < known_.size(); ++l) {
      const std::vector<double> load = normalized_load(loads.row(l));
      const double memory = seen_[l] ? memory_ : 0;
      for (std::size_t e = 0; e < load.size(); ++e) {
        known_[l][e] = memory * known_[l][e] + (1 - memory) * load[e];
        seen_[l] = true;
      }
    }
  }

 private:
  double memory_;
  std::vector<std::vector<double>> known_;
  std::vector<bool> seen_;
};

class Uniform : public Predictor {
 public:
  explicit Uniform(const PredictorOptions& options)
      : load_(uniform_load(static_cast<std::size_t>(options.experts))) {}

  std::vector<double> predict(int /*layer*/, const Matrix<double>& /*loads*/) override {
    return load_;
  }
  void observe(const Matrix<double>& /*loads*/) override {}

 private:
  std::vector<double> load_;
};

class Random : public Predictor {
 public:
  explicit Random(const PredictorOptions& options)
      : random_(options.seed, "plan/predict"),
        experts_(static_cast<std::size_t>(options.experts)) {}

  // Exponential variates over their sum are uniform on the simplex.
  std::vector<double> predict(int /*layer*/, const Matrix<double>& /*loads*/) override {
    std::vector<double> draws(experts_);
    for (double& d : draws) {
      d = -std::log1p(-random_.uniform()) + 1e-300;
    }
    return normalized_load(draws);
  }
  void observe(const Matrix<double>& /*loads*/) override {}

 private:
  RandomStream random_;
  std::size_t experts_;
};

class Copilot : public Predictor {
 public:
  explicit Copilot(const PredictorOptions& options) : unchanged_(options, 0) {
    for (int l = 0; l < options.layers; ++l) {
      fits_.emplace_back(options.experts, options.window, options.fit);
    }
  }

  std::vector<double> predict(int layer, const Matrix<double>& loads) override {
    const TransitionFit& fit = fits_[static_cast<std::size_t>(layer)];
    const std::vector<double> x = before(layer, loads);
    std::vector<double> load = unchanged_.predict(layer, loads);
    if (fit.samples() > 0 && !x.empty()) {
      fit.apply(x, load);
      load = normalized_load(load);  // rounding
    }
    return load;
  }

  void observe(const Matrix<double>& loads) override {
    for (std::size_t l = 0; l < fits_.size(); ++l) {
      const std::vector<double> x = before(static_cast<int>(l), loads);
      const std::vector<double> y = normalized_load(loads.row(l));
      if (!x.empty() && !y.empty()) {
        fits_[l].add(x, y);
        fits_[l].fit();
      }
    }
    unchanged_.observe(loads);
    if (!normalized_load(loads.row(0)).empty()) {
      first_seen_ = true;
    }
  }

 private:
  // The x of this layer and iteration; empty if there is none.
  std::vector<double> before(int layer, const Matrix<double>& loads) {
    if (layer > 0) {
      return normalized_load(loads.row(static_cast<std::size_t>(layer) - 1));
    }
    return first_seen_ ? unchanged_.predict(0, loads) : std::vector<double>{};
  }

  Average unchanged_;
  bool first_seen_ = false;
  std::vector<TransitionFit> fits_;
};

class Best : public Predictor {
 public:
  explicit Best(const PredictorOptions& options)
      : memory_(options.memory), layers_(static_cast<std::size_t>(options.layers)) {
    members_.push_back(std::make_unique<Average>(options, 0));
    members_.push_back(std::make_unique<Average>(options, options.memory));
    members_.push_back(std::make_unique<Uniform>(options));
    members_.push_back(std::make_unique<Copilot>(options));
    errors_ = Matrix<double>(layers_, members_.size());
  }

  std::vector<double> predict(int layer, const Matrix<double>& loads) override {
    const auto errors = errors_.row(static_cast<std::size_t>(layer));
    const auto best = std::min_element(errors.begin(), errors.end()) - errors.begin();
    return members_[static_cast<std::size_t>(best)]->predict(layer, loads);
  }

  void observe(const Matrix<double>& loads) override {
    for (std::size_t l = 0; l < layers_; ++l) {
      const std::vector<double> actual = normalized_load(loads.row(l));
      for (std::size_t m = 0; m < members_.size() && !actual.empty(); ++m) {
        const std::vector<double> guess = members_[m]->predict(static_cast<int>(l), loads);
        // Sums with the same weights: as good as averages for choosing.
        errors_(l, m) = memory_ * errors_(l, m) + (1 - memory_) * load_error(guess, actual);
      }
    }
    for (const auto& member : members_) {
      member->observe(loads);
    }
  }

 private:
  double memory_;
  std::size_t layers_;
  std::vector<std::unique_ptr<Predictor>> members_;
  Matrix<double> errors_;  // layers x members
};

// Indices of the k largest, ties by lower index, ascending.
std::vector<std::size_t> top(std::span<const double> load, int k) {
  std::vector<std::size_t> order(load.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&load](std::size_t a, std::size_t b) { return load[a] > load[b]; });
  order.resize(static_cast<std::size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

const std::vector<std::string>& predictor_names() {
  static const std::vector<std::string> names = {"unchanged", "average", "uniform",
                                                 "random",    "copilot", "best"};
  return names;
}

Result<std::unique_ptr<Predictor>> make_predictor(const std::string& name,
                                                  const PredictorOptions& options) {
  CHECK(options.layers >= 1 && options.experts >= 1, "a prediction needs a layer and an expert");
  CHECK(options.memory >= 0 && options.memory < 1, "memory is in [0, 1)");
  std::unique_ptr<Predictor> made;
  if (name == "unchanged") {
    made = std::make_unique<Average>(options, 0);
  } else if (name == "average") {
    made = std::make_unique<Average>(options, options.memory);
  } else if (name == "uniform") {
    made = std::make_unique<Uniform>(options);
  } else if (name == "random") {
    made = std::make_unique<Random>(options);
  } else if (name == "copilot") {
    made = std::make_unique<Copilot>(options);
  } else if (name == "best") {
    made = std::make_unique<Best>(options);
  } else {
    std::string list;
    for (const std::string& known : predictor_names()) {
      list += (list.empty() ? "" : ", ") + known;
    }
    return Error{"no predictor is called '" + name + "': use one of " + list, ""};
  }
  return made;
}

std::vector<double> normalized_load(std::span<const double> counts) {
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  std::vector<double> load;
  if (sum > 0) {
    load.assign(counts.begin(), counts.end());
    for (double& l : load) {
      l /= sum;
    }
  }
  return load;
}

double load_error(std::span<const double> predicted, std::span<const double> actual) {
  CHECK(predicted.size() == actual.size(), "loads of different numbers of experts");
  double distance = 0;
  for (std::size_t e = 0; e < actual.size(); ++e) {
    distance += std::abs(predicted[e] - actual[e]);
  }
  return distance / 2;
}

double top_k_accuracy(std::span<const double> predicted, std::span<const double> actual, int k) {
  CHECK(predicted.size() == actual.size(), "loads of different numbers of experts");
  CHECK(k >= 1 && static_cast<std::size_t>(k) <= actual.size(), "k is 1 to the number of experts");
  const std::vector<std::size_t> a = top(predicted, k);
  const std::vector<std::size_t> b = top(actual, k);
  std::vector<std::size_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / k;
}

DemandMatrix predicted_demand(const DemandMatrix& last, std::span<const double> load,
                              double row_sum) {
  CHECK(load.size() == last.cols(), "a load has one number per expert");
  std::vector<double> seen(last.cols(), 0.0);
  for (std::size_t s = 0; s < last.rows(); ++s) {
    for (std::size_t e = 0; e < last.cols(); ++e) {
      seen[e] += last(s, e);
    }
  }
  const double total = std::accumulate(seen.begin(), seen.end(), 0.0);
  DemandMatrix demand(last.rows(), last.cols());
  for (std::size_t s = 0; s < last.rows(); ++s) {
    const auto history = last.row(s);
    const double sent = std::accumulate(history.begin(), history.end(), 0.0);
    double sum = 0;
    for (std::size_t e = 0; e < last.cols(); ++e) {
      // In units of this source's share: its own affinity to the expert, 1 without history.
      const double affinity = sent > 0 && seen[e] > 0 ? (last(s, e) / sent) / (seen[e] / total) : 1;
      demand(s, e) = load[e] * affinity;
      sum += demand(s, e);
    }
    for (std::size_t e = 0; e < last.cols(); ++e) {
      // Sources that never used any of the experts that are predicted now follow the prediction.
      demand(s, e) = row_sum * (sum > 0 ? demand(s, e) / sum : load[e]);
    }
  }
  return demand;
}

}  // namespace mixnet::plan
