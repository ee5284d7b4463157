#pragma once

#include "core/result.h"
#include "ep/rank_map.h"
#include "ep/routes.h"
#include "plan/route.h"

// Joins plan to ep: the ways that plan/route.h found between servers, as those that dispatch and
// combine take between ranks. Rank first_of(s) + g of host s is GPU g of server s; rail r of a rank
// is the r-th of the NICs beside its GPU.
namespace mixnet::cli {

// Rails that every rank has to have: the most NICs beside one GPU. A GPU without a NIC is named by
// no way that leads through one.
int exchange_rails(const plan::ServerLayout& layout);

// What leaves through an electrical NIC comes in at the GPU beside the NIC of the same number. A
// relay hands over inside its host where a circuit comes in beside another GPU than the next one
// leaves from. Pairs of servers without demand are not named: ep has its own way for them. Errors:
// a host that has other than the layout's GPUs, a server that is no host.
Result<ep::RouteTable> exchange_routes(const plan::RouteTable& table,
                                       const plan::ServerLayout& layout, const ep::RankMap& ranks);

}  // namespace mixnet::cli
