#include "cli/trace_demand.h"

namespace mixnet::cli {

DemandMatrix step_demand(const RoutingView& trace, int64_t iteration, int64_t layer) {
  DemandMatrix demand(static_cast<std::size_t>(trace.sources),
                      static_cast<std::size_t>(trace.experts));
  for (int64_t s = 0; s < trace.sources; ++s) {
    const auto counts = trace.row(iteration, layer, s);
    for (std::size_t e = 0; e < counts.size(); ++e) {
      demand(static_cast<std::size_t>(s), e) = counts[e];
    }
  }
  return demand;
}

DemandMatrix between_servers(const DemandMatrix& demand, int servers) {
  const auto n = static_cast<std::size_t>(servers);
  DemandMatrix sums(n, n);
  for (std::size_t s = 0; s < demand.rows(); ++s) {
    for (std::size_t e = 0; e < demand.cols(); ++e) {
      sums(s * n / demand.rows(), e * n / demand.cols()) += demand(s, e);
    }
  }
  return sums;
}

}  // namespace mixnet::cli
