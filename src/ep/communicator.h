#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "core/instant.h"
#include "core/result.h"
#include "ep/all_to_all.h"
#include "ep/collectives.h"
#include "ep/combine.h"
#include "ep/dispatch.h"
#include "ep/exchange.h"
#include "ep/point_to_point.h"
#include "ep/rank_map.h"
#include "ep/store.h"
#include "ep/transport.h"
#include "ep/worker.h"

// The runtime as its users see it: dispatch, combine and collectives among the processes of a job.
//
// Every call is made by all ranks that are not lost, in the same order. Calls wait for each other
// as long as Patience says; a rank that falls silent is marked in lost(), the same set on all
// survivors after every call, and the call is done without it. An error is given by all ranks
// alike, and the communicator can be used afterwards, unless the error says that this rank itself
// was lost.
namespace mixnet::ep {

struct CommunicatorOptions {
  Patience patience;
  // Addresses for what peers write here: of this much memory only what is touched is used.
  uint64_t window_bytes = uint64_t{16} << 30;
  // NICs of this rank by rail, as addresses or interfaces. Empty: on one host none is needed; on
  // several, MIXNET_NICS ("eth0,eth1"), or else the interface that leads to rank 0.
  std::vector<std::string> nics;
  std::string provider = "tcp";                 // of libfabric: "verbs" for RDMA
  std::string name = "mixnet";                  // of this communicator, when a job opens several
  Duration opening = std::chrono::seconds(60);  // deadline for all ranks to come
};

// Memory of this rank's window, for rows that are handed to combine() without a copy.
struct WindowBuffer {
  WindowBlock block;
  Address memory;
};

class Communicator {
 public:
  // As torchrun or mpirun started this process, or the variables MIXNET_*; see environment.h.
  // Errors name the variable, or the ranks that did not come.
  static Result<std::unique_ptr<Communicator>> from_environment(const CommunicatorOptions& options);
  // Ranks that meet in a store of their own; `store` is not needed afterwards.
  static Result<std::unique_ptr<Communicator>> open(const RankMap& ranks, int rank, Store& store,
                                                    const CommunicatorOptions& options);
  // Over any transport, for tests.
  Communicator(std::shared_ptr<Transport> transport, const Patience& patience);
  ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&&) = delete;
  Communicator& operator=(Communicator&&) = delete;

  int rank() const { return state_.endpoint.self(); }
  const RankMap& ranks() const { return state_.endpoint.transport.ranks(); }
  int rails() const { return state_.endpoint.transport.rails(); }
  // Not while a call that was started is running, as of what follows.
  const RankSet& lost() const { return state_.endpoint.lost; }
  const Traffic& traffic() const { return state_.traffic; }
  void set_patience(const Patience& patience) { state_.patience = patience; }

  // Error: the window has no such room.
  Result<WindowBuffer> allocate(uint64_t bytes);

  // See dispatch.h and combine.h for shapes and errors. What `input` points to stays as it is until
  // the call returns or the future is ready.
  Result<Dispatched> dispatch(const DispatchInput& input, const DispatchOptions& options);
  Result<Dispatched> dispatch_again(const DispatchInput& input,
                                    std::shared_ptr<const DispatchHandle> handle);
  Result<Combined> combine(const CombineInput& input, std::shared_ptr<const DispatchHandle> handle,
                           Address out);
  std::future<Result<Dispatched>> start_dispatch(const DispatchInput& input,
                                                 const DispatchOptions& options);
  std::future<Result<Combined>> start_combine(const CombineInput& input,
                                              std::shared_ptr<const DispatchHandle> handle,
                                              Address out);

  // See all_to_all.h.
  Result<Received> all_to_all(const std::vector<Parcel>& parcels);

  // See collectives.h. The memory of what was started belongs to the call until the future is
  // ready.
  Status barrier();
  Status broadcast(Address data, uint64_t bytes, int root);
  Status all_gather(ConstAddress in, uint64_t bytes, Address out);
  Result<std::vector<uint64_t>> all_gather_v(const GatherInput& input, Address out,
                                             uint64_t capacity);
  Status reduce_scatter(ConstAddress in, int64_t elements_per_rank, DataType type, Address out);
  Status all_reduce(Address data, int64_t elements, DataType type);
  std::future<Status> start_all_gather(ConstAddress in, uint64_t bytes, Address out);
  std::future<Status> start_reduce_scatter(ConstAddress in, int64_t elements_per_rank,
                                           DataType type, Address out);
  std::future<Status> start_all_reduce(Address data, int64_t elements, DataType type);

  // See point_to_point.h. They wait for what this rank started before, as every call does.
  Status send(const Outgoing& outgoing);
  Status receive(const Incoming& incoming);
  Status send_receive(const Outgoing& outgoing, const Incoming& incoming);

  // Ways between hosts for modes with relays, of `version`, a number that grows. Every rank hands
  // it in when it gets it; the first dispatch for which all have it uses it, those before use what
  // they used. Error: the table does not fit these ranks and NICs.
  Status set_routes(int64_t version, const RouteTable& routes);

  // From the next call on, on all ranks, `rank` is lost: what an operator does to a slow one.
  void exclude(int rank);
  // The survivors as a communicator of their own, numbered without gaps. All of them call it after
  // the same call. This one is not used any more; its results may be.
  std::unique_ptr<Communicator> shrink();

 private:
  std::shared_ptr<Transport> transport_;
  HostCopyEngine copies_;
  ExchangeState state_;
  Worker worker_;  // uses the above: ends first
};

}  // namespace mixnet::ep
