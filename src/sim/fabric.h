#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/study.h"
#include "core/wiring.h"
#include "sim/fluid_network.h"
#include "sim/placement.h"

// A fabric turns messages between ranks into flows over its links. It has no state of its own that
// changes during a run: circuits come with the request.
namespace mixnet::sim {

struct Message {
  int src_rank = 0;
  int dst_rank = 0;
  Bytes bytes;  // payload
};

// How a set of messages travels: as flows in the fluid network, or in a fixed time that no other
// traffic changes. `latency` is added after the last byte.
struct TransferPlan {
  std::vector<FlowClass> flows;
  std::optional<SimTime> fixed;
  SimTime latency;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  // Capacity of every link, indexed by LinkId.
  virtual const std::vector<BitRate>& links() const = 0;
  // Messages of one kind that start together.
  virtual TransferPlan route(std::span<const Message> messages) const = 0;
  // An all-to-all of `region` whose server-level shares are given; only fabrics with circuits.
  virtual TransferPlan route_circuits(int region, std::span<const Message> messages,
                                      const Wiring& wiring, double bytes_per_unit) const;
  virtual bool has_circuits() const { return false; }
};

// Directed capacity shares of a direct-connect topology between two servers, chosen by the caller
// (plan/topology): link indices are positions in `links`.
struct DirectConnect {
  struct Link {
    int src = 0;
    int dst = 0;
    int count = 1;  // parallel NIC pairs
  };
  struct Share {
    int link = 0;
    double fraction = 1;
  };
  std::vector<Link> links;  // directed: a duplex link stands twice
  // Shares of (src server, dst server); pairs in ascending order.
  struct Route {
    int src = 0;
    int dst = 0;
    int hops = 1;
    std::vector<Share> shares;
  };
  std::vector<Route> routes;
};

std::unique_ptr<Fabric> make_ideal(const Study& study, const Placement& placement);
// Fat-trees (oversubscribed or not) and rails whose NICs serve the ranks beside them.
std::unique_ptr<Fabric> make_pinned_tree(const Study& study, const FabricSpec& spec,
                                         const Placement& placement);
std::unique_ptr<Fabric> make_pinned_rails(const Study& study, const FabricSpec& spec,
                                          const Placement& placement);
// The same with all NICs of a server pooled.
std::unique_ptr<Fabric> make_pooled_tree(const Study& study, const FabricSpec& spec,
                                         const Placement& placement);
std::unique_ptr<Fabric> make_pooled_rails(const Study& study, const FabricSpec& spec,
                                          const Placement& placement);
std::unique_ptr<Fabric> make_topoopt(const Study& study, const Placement& placement,
                                     DirectConnect topology);
std::unique_ptr<Fabric> make_mixnet(const Study& study, const FabricSpec& spec,
                                    const Placement& placement);

}  // namespace mixnet::sim
