#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "net/address.h"

namespace mixnet::ep {

// Who this process is among the ranks of a job, as its launcher says.
struct Membership {
  int rank = 0;
  int ranks = 1;
  // Equal for ranks that share a host and for no others; any text.
  std::string host;
  // Where rank 0 serves the store by which the ranks meet.
  net::HostPort store;
};

// The value of an environment variable, empty if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const char* name)>;
EnvironmentLookup process_environment();
// What this machine calls itself, for the launchers that do not number hosts.
std::string machine_name();

// Reads the variables of torchrun (RANK, WORLD_SIZE, GROUP_RANK or LOCAL_RANK and LOCAL_WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT) or of mpirun (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE); without
// either, this process is the only rank. Our own go first:
//   MIXNET_STORE  HOST:PORT of the store at rank 0
//   MIXNET_PORT   its port; otherwise MASTER_PORT + 1, since torchrun or torch.distributed itself
//                 listens at MASTER_PORT
//   MIXNET_HOSTS  ranks per host, such as 4,4, or the number of hosts, such as 2: takes ranks of
//   one
//                 machine for ranks of several hosts
// Errors name the variable and what to set it to.
Result<Membership> read_membership(const EnvironmentLookup& lookup, std::string_view machine);

}  // namespace mixnet::ep
