#pragma once

#include <cstdint>

#include "core/cluster.h"
#include "core/moe_model.h"

// Where the ranks of a job stand. A rank is one expert-parallel rank: `tp` GPUs of one server that
// behave alike (every tensor-parallel GPU sends the same bytes to its counterpart), so the
// simulation counts ranks, each with its share of the server's NICs. Ranks are numbered stage by
// stage, within a stage copy by copy, within a copy by expert rank, and fill the servers in that
// order: an expert-parallel group is contiguous.
namespace mixnet::sim {

class Placement {
 public:
  // The layout fills the cluster, tp divides the GPUs of a server, and the expert ranks of a group
  // fill whole servers or an equal share of one (checked by the scenario reader).
  Placement(const Parallelism& layout, const Cluster& cluster);

  int ranks() const { return layout_.pp * layout_.dp * layout_.ep; }
  int servers() const { return servers_; }
  int ranks_per_server() const { return ranks_per_server_; }
  int regions() const { return layout_.pp * layout_.dp; }
  int expert_ranks() const { return layout_.ep; }
  int copies() const { return layout_.dp; }
  int stages() const { return layout_.pp; }
  int gpus_per_rank() const { return layout_.tp; }

  // A region is one expert-parallel group: copy `copy` of stage `stage`.
  int region(int stage, int copy) const { return stage * layout_.dp + copy; }
  int stage_of(int region) const { return region / layout_.dp; }
  int copy_of(int region) const { return region % layout_.dp; }
  int rank(int region, int expert_rank) const { return region * layout_.ep + expert_rank; }

  int server_of(int rank) const { return rank / ranks_per_server_; }
  int slot_of(int rank) const { return rank % ranks_per_server_; }
  int first_server(int region) const { return server_of(rank(region, 0)); }
  // Servers that hold ranks of one region.
  int region_servers() const {
    return layout_.ep <= ranks_per_server_ ? 1 : layout_.ep / ranks_per_server_;
  }
  // Index within its region of the server that holds this expert rank.
  int region_server(int expert_rank) const {
    return layout_.ep <= ranks_per_server_ ? 0 : expert_rank / ranks_per_server_;
  }

  // The NICs of a server form groups; the ranks of a group share its NICs and no others.
  int nic_groups() const { return nic_groups_; }
  int nics_per_group() const { return nics_per_group_; }
  int nic_group_of_slot(int slot) const { return slot * nic_groups_ / ranks_per_server_; }

 private:
  Parallelism layout_;
  int servers_;
  int ranks_per_server_;
  int nic_groups_;
  int nics_per_group_;
};

}  // namespace mixnet::sim
