#include "ep/mpi_membership.h"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <utility>

#include "ep/host_list.h"
#include "ep/monotonic.h"
#include "ep/tcp_store.h"

// Run by mpirun: every rank meets the others at the store of rank 0 and sees one host.
namespace {

using namespace mixnet;

int fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

int meet_by_mpi() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::unique_ptr<ep::TcpStoreServer> server;
  net::HostPort address{"127.0.0.1", 0};
  if (rank == 0) {
    auto started = ep::TcpStoreServer::start(address);
    if (!started) {
      return fail(started.error().message);
    }
    server = *std::move(started);
    address.port = server->port();
  }
  const auto member = ep::membership_from_mpi(address);
  if (!member || member->rank != rank || member->store.port == 0) {
    return fail(member ? "a wrong rank or store" : member.error().message);
  }
  ep::TcpStore store(member->store);
  const Instant until = ep::monotonic_now() + std::chrono::seconds(20);
  const auto map = ep::agree_on_hosts(store, "hosts/", *member, until);
  if (!map || *map != ep::RankMap({member->ranks})) {
    return fail(map ? "wrong hosts" : map.error().message);
  }
  const Status last = ep::meet_last(store, "last/", rank, member->ranks, until);
  return last ? 0 : fail(last.error().message);
}

}  // namespace

int main(int argc, char** argv) {
  if (ep::membership_from_mpi({}).ok()) {
    return fail("a membership before MPI_Init()");
  }
  MPI_Init(&argc, &argv);
  const int code = meet_by_mpi();
  MPI_Finalize();
  return code;
}
