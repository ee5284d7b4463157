#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "ep/fabric_contact.h"
#include "ep/fabric_handle.h"
#include "ep/transport.h"

namespace mixnet::ep {

// What became of one operation, or a signal that came in.
struct FabricCompletion {
  void* slot = nullptr;  // context of the operation; null for a signal that took no receive
  bool failed = false;
  bool signal = false;
  uint64_t bytes = 0;
  uint64_t data = 0;  // of a signal
};

// What became of a connection.
struct FabricConnectionEvent {
  enum class Kind : uint8_t { kNone, kRequest, kConnected, kClosed };
  Kind kind = Kind::kNone;
  void* context = nullptr;        // of the endpoint; kConnected, kClosed
  FabricHandle<fi_info> request;  // kRequest
  std::vector<std::byte> data;    // kRequest: what the dialer sent along
};

// What is under way through a NIC, and what went out.
struct FabricTally {
  uint64_t unfinished = 0;         // writes, signals and messages that are queued or in flight
  uint64_t unfinished_writes = 0;  // sources of writes that may still be read
  uint64_t sent_bytes = 0;         // payload of writes, as handed over
};

// One network interface: its libfabric domain, listener, event queue, completion queue and the
// registered window. What leaves through its endpoints leaves through this interface.
class FabricNic {
 public:
  struct Options {
    std::string name;      // source address, interface or libfabric domain
    std::string provider;  // of libfabric
    Window window;
    int peers = 0;  // how many endpoints it may get
    // As if the provider asked for registered sources of writes.
    bool register_sources = false;
  };
  // What the provider lets us do.
  struct Limits {
    std::size_t sends = 0;     // in flight per endpoint
    std::size_t receives = 0;  // posted per endpoint
    uint64_t largest_write = 0;
    bool signals_take_receives = false;  // FI_RX_CQ_DATA: a signal uses up a posted receive
    bool register_sources = false;       // FI_MR_LOCAL
  };

  static Result<std::unique_ptr<FabricNic>> open(const Options& options);
  ~FabricNic();
  FabricNic(const FabricNic&) = delete;
  FabricNic& operator=(const FabricNic&) = delete;
  FabricNic(FabricNic&&) = delete;
  FabricNic& operator=(FabricNic&&) = delete;

  const std::string& name() const { return options_.name; }
  const Limits& limits() const { return limits_; }
  const RailContact& contact() const { return contact_; }
  uint32_t address_format() const;
  FabricTally& tally() { return tally_; }

  // The descriptor to use for memory within the window.
  bool in_window(ConstAddress from, uint64_t bytes) const;
  void* window_descriptor() const;
  // Memory for messages both ways, and memory that writes come from.
  Result<FabricHandle<fid_mr>> register_buffers(std::span<std::byte> buffers);
  Result<FabricHandle<fid_mr>> register_source(ConstAddress from, uint64_t bytes);
  static void* descriptor(fid_mr* memory);

  // An endpoint that can be posted to, not yet connected. `request`: what it answers, or null for
  // one that dials `to`.
  Result<FabricHandle<fid_ep>> endpoint(fi_info* request, const RailContact* to, void* context);
  void reject(fi_info* request);

  // Into at most as many; 0: nothing is left.
  std::size_t read(std::span<FabricCompletion> into);
  FabricConnectionEvent next_event();

  // Descriptors that become readable when there is something to read; only after may_sleep().
  std::vector<int> wait_descriptors() const;
  // False: something is waiting, or may be; read() and next_event() first.
  bool may_sleep();

 private:
  explicit FabricNic(Options options);

  Status find();
  Status set_limits();
  Status open_domain();
  Status listen();
  Status register_window();
  Error failure(const char* what, int64_t code) const;
  Result<FabricHandle<fid_mr>> register_memory(const void* data, uint64_t bytes, uint64_t access);

  Options options_;
  Limits limits_;
  RailContact contact_;
  FabricTally tally_;
  uint64_t next_key_ = 1;  // where keys are ours to choose
  // Opened in this order, closed in the reverse one.
  FabricHandle<fi_info> info_;
  FabricHandle<fid_fabric> fabric_;
  FabricHandle<fid_eq> events_;
  FabricHandle<fid_domain> domain_;
  FabricHandle<fid_cq> completions_;
  FabricHandle<fid_mr> window_;
  FabricHandle<fid_pep> listener_;
};

}  // namespace mixnet::ep
