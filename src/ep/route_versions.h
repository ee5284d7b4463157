#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ep/routes.h"

// Route tables come to ranks at different times, and some may miss one. Ranks use a table when all
// have it: each tells which versions it holds, and all draw the same conclusion.
namespace mixnet::ep {

// A version that a rank holds, and the fingerprint of its table.
struct HeldRoutes {
  int64_t version = 0;
  int64_t fingerprint = 0;
};

// The tables that a rank was given since the one that all use, which it has too.
class RouteVersions {
 public:
  // Of more than these, the oldest after the one in use is dropped.
  static constexpr std::size_t kMost = 8;

  // Versions grow; one that is not newer than the newest is ignored.
  void hand_in(int64_t version, RouteTable table);
  int64_t newest() const { return tables_.rbegin()->first; }
  // Ascending, at least one.
  std::vector<HeldRoutes> held() const;
  // A version that is held.
  const RouteTable& table(int64_t version) const { return tables_.at(version).table; }
  // Forgets tables before the one for `version`, which nobody will go back to.
  void forget_before(int64_t version);

 private:
  struct Entry {
    RouteTable table;
    int64_t fingerprint = 0;
  };
  std::map<int64_t, Entry> tables_{{0, Entry{{}, RouteTable().fingerprint()}}};
};

struct RouteChoice {
  int64_t version = 0;
  // Not empty: two ranks hold different tables under the version that is named, which is this one
  // or newer.
  std::string conflict;
};
// The newest version that all ranks hold. `held`: [rank], empty of lost ranks, and not of all.
RouteChoice choose_routes(const std::vector<std::vector<HeldRoutes>>& held);

}  // namespace mixnet::ep
