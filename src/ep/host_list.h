#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/environment.h"
#include "ep/rank_map.h"
#include "ep/store.h"

namespace mixnet::ep {

// "4,4,2": numbers >= 1. Empty when it is anything else.
std::vector<int> parse_host_sizes(std::string_view text);

// What every rank knows of its own host alone, put together by rank 0 through `store`. Ranks of a
// host have to follow each other. Errors name the ranks that did not come.
Result<RankMap> agree_on_hosts(Store& store, const std::string& prefix, const Membership& member,
                               Instant until);

}  // namespace mixnet::ep
