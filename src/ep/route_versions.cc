#include "ep/route_versions.h"

#include <iterator>
#include <utility>

#include "core/check.h"

namespace mixnet::ep {
namespace {

int64_t newest_of_all(const std::vector<std::vector<HeldRoutes>>& held) {
  std::map<int64_t, std::size_t> holders;
  std::size_t ranks = 0;
  for (const auto& versions : held) {
    ranks += versions.empty() ? 0 : 1;
    for (const HeldRoutes& routes : versions) {
      ++holders[routes.version];
    }
  }
  for (auto version = holders.rbegin(); version != holders.rend(); ++version) {
    if (version->second == ranks) {
      return version->first;
    }
  }
  CHECK(false, "all ranks hold the routes that they used last");
  return 0;
}

}  // namespace

void RouteVersions::hand_in(int64_t version, RouteTable table) {
  if (version <= newest()) {
    return;
  }
  const int64_t fingerprint = table.fingerprint();
  tables_.emplace(version, Entry{std::move(table), fingerprint});
  if (tables_.size() > kMost) {
    tables_.erase(std::next(tables_.begin()));
  }
}

std::vector<HeldRoutes> RouteVersions::held() const {
  std::vector<HeldRoutes> held;
  for (const auto& [version, entry] : tables_) {
    held.push_back(HeldRoutes{version, entry.fingerprint});
  }
  return held;
}

void RouteVersions::forget_before(int64_t version) {
  CHECK(tables_.count(version) > 0, "what is used is held");
  tables_.erase(tables_.begin(), tables_.find(version));
}

RouteChoice choose_routes(const std::vector<std::vector<HeldRoutes>>& held) {
  struct First {
    std::size_t rank = 0;
    int64_t fingerprint = 0;
  };
  RouteChoice choice{newest_of_all(held), {}};
  std::map<int64_t, First> known;
  for (std::size_t rank = 0; rank < held.size(); ++rank) {
    for (const HeldRoutes& routes : held[rank]) {
      const First& first =
          known.emplace(routes.version, First{rank, routes.fingerprint}).first->second;
      if (routes.version >= choice.version && routes.fingerprint != first.fingerprint) {
        choice.conflict = "routes of version " + std::to_string(routes.version) + " on rank " +
                          std::to_string(rank) + " are not those on rank " +
                          std::to_string(first.rank);
        return choice;
      }
    }
  }
  return choice;
}

}  // namespace mixnet::ep
