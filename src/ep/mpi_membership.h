#pragma once

#include "core/result.h"
#include "ep/environment.h"
#include "net/address.h"

namespace mixnet::ep {

// Who this process is in MPI_COMM_WORLD, after MPI_Init(). `store` counts at rank 0 alone: where
// its TcpStoreServer listens, such as port() of one that was started at port 0; an empty host
// stands for the name of its machine. All ranks get it, so that nobody has to choose a port in
// advance. To be called by all ranks. Part of the library mixnet_ep_mpi, which is built where MPI
// is installed.
Result<Membership> membership_from_mpi(const net::HostPort& store);

}  // namespace mixnet::ep
