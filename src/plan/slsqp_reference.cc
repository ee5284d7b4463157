#include "plan/slsqp_reference.h"

#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"

namespace mixnet::plan {
namespace {

struct Problem {
  const Matrix<double>* x;
  const Matrix<double>* y;
  std::vector<double> weights;
};

// Variables: P row-major. Fills the gradient if there is room for it.
double objective(unsigned n, const double* p, double* gradient, void* data) {
  const Problem& problem = *static_cast<const Problem*>(data);
  const std::size_t experts = problem.x->cols();
  if (gradient != nullptr) {
    std::fill(gradient, gradient + n, 0.0);
  }
  double sum = 0;
  for (std::size_t t = 0; t < problem.x->rows(); ++t) {
    for (std::size_t i = 0; i < experts; ++i) {
      double residual = (*problem.y)(t, i);
      for (std::size_t j = 0; j < experts; ++j) {
        residual -= p[i * experts + j] * (*problem.x)(t, j);
      }
      sum += problem.weights[t] * residual * residual;
      for (std::size_t j = 0; gradient != nullptr && j < experts; ++j) {
        gradient[i * experts + j] -= 2 * problem.weights[t] * residual * (*problem.x)(t, j);
      }
    }
  }
  return sum;
}

// Column sums minus 1.
void columns(unsigned m, double* result, unsigned n, const double* p, double* gradient,
             void* /*data*/) {
  for (unsigned j = 0; j < m; ++j) {
    result[j] = -1;
    for (unsigned v = j; v < n; v += m) {
      result[j] += p[v];
    }
    for (unsigned v = 0; gradient != nullptr && v < n; ++v) {
      gradient[j * n + v] = v % m == j ? 1 : 0;
    }
  }
}

Problem make_problem(const Matrix<double>& x, const Matrix<double>& y, double decay) {
  Problem problem{&x, &y, {}};
  double sum = 0;
  for (std::size_t t = 0; t < x.rows(); ++t) {
    problem.weights.push_back(std::pow(decay, static_cast<double>(t)));
    sum += problem.weights.back();
  }
  for (double& w : problem.weights) {
    w /= sum;
  }
  return problem;
}

}  // namespace

ReferenceFit slsqp_fit(const Matrix<double>& x, const Matrix<double>& y, double decay,
                       double seconds) {
  Problem problem = make_problem(x, y, decay);
  const std::size_t experts = x.cols();
  const unsigned variables = static_cast<unsigned>(experts * experts);
  std::vector<double> p(variables, 0.0);
  for (std::size_t v = 0; v < variables; ++v) {
    for (std::size_t t = 0; t < x.rows(); ++t) {
      p[v] += problem.weights[t] * y(t, v / experts);
    }
  }
  nlopt_opt solver = nlopt_create(NLOPT_LD_SLSQP, variables);
  const std::vector<double> tolerance(experts, 1e-12);
  nlopt_set_lower_bounds1(solver, 0);
  nlopt_set_upper_bounds1(solver, 1);
  nlopt_set_min_objective(solver, objective, &problem);
  nlopt_add_equality_mconstraint(solver, static_cast<unsigned>(experts), columns, nullptr,
                                 tolerance.data());
  nlopt_set_ftol_rel(solver, 1e-10);
  nlopt_set_maxtime(solver, seconds);
  double least = 0;
  const nlopt_result result = nlopt_optimize(solver, p.data(), &least);
  nlopt_destroy(solver);
  ReferenceFit fit;
  fit.finished = result != NLOPT_MAXTIME_REACHED;
  fit.transition = Matrix<double>(experts, experts);
  for (std::size_t j = 0; j < experts; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < experts; ++i) {
      fit.transition(i, j) = std::max(p[i * experts + j], 0.0);
      sum += fit.transition(i, j);
    }
    for (std::size_t i = 0; i < experts; ++i) {
      fit.transition(i, j) /= sum;
    }
  }
  fit.objective = fit_objective(fit.transition, x, y, decay);
  return fit;
}

double fit_objective(const Matrix<double>& transition, const Matrix<double>& x,
                     const Matrix<double>& y, double decay) {
  CHECK(transition.rows() == x.cols() && x.cols() == y.cols(), "sizes differ");
  Problem problem = make_problem(x, y, decay);
  const auto cells = transition.cells();
  return objective(static_cast<unsigned>(cells.size()), cells.data(), nullptr, &problem);
}

}  // namespace mixnet::plan
