#include "ep/mpi_membership.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mixnet::ep {
namespace {

// What rank 0 sends to all.
struct StoreMessage {
  std::array<char, 256> host{};  // ends with a zero
  uint16_t port = 0;
};

}  // namespace

Result<Membership> membership_from_mpi(const net::HostPort& store) {
  int running = 0;
  if (MPI_Initialized(&running) != MPI_SUCCESS || running == 0) {
    return Error{"MPI is not running: call MPI_Init() first", {}};
  }
  Membership member;
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  if (MPI_Comm_rank(MPI_COMM_WORLD, &member.rank) != MPI_SUCCESS ||
      MPI_Comm_size(MPI_COMM_WORLD, &member.ranks) != MPI_SUCCESS ||
      MPI_Get_processor_name(name.data(), &length) != MPI_SUCCESS) {
    return Error{"MPI does not say which rank this is", {}};
  }
  member.host.assign(name.data(), static_cast<std::size_t>(length));
  const std::string& host = store.host.empty() ? member.host : store.host;
  StoreMessage message;
  std::copy_n(host.begin(), std::min(host.size(), message.host.size() - 1), message.host.begin());
  message.port = store.port;
  if (MPI_Bcast(&message, sizeof message, MPI_BYTE, 0, MPI_COMM_WORLD) != MPI_SUCCESS) {
    return Error{"rank 0 could not tell by MPI where its store is", {}};
  }
  message.host.back() = 0;
  member.store = {message.host.data(), message.port};
  return member;
}

}  // namespace mixnet::ep
