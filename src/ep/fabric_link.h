#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "ep/fabric_contact.h"
#include "ep/fabric_handle.h"
#include "ep/fabric_nic.h"
#include "ep/transport.h"

namespace mixnet::ep {

class FabricLink;

// The context of one operation in flight.
struct FabricSlot {
  enum class Use : uint8_t { kReceive, kWrite, kMessage };
  void* reserved[8] = {};      // for the provider (FI_CONTEXT2)
  FabricLink* link = nullptr;  // null: of a connection that is over, whatever becomes of it
  Use use = Use::kReceive;
  bool ends = false;            // the last piece of what was queued
  bool ends_write = false;      // ... which was a write with a source
  uint32_t buffer = 0;          // kReceive, kMessage
  FabricHandle<fid_mr> source;  // registered for this write alone
};

// The connection of this rank with one peer through one NIC: a FIFO of what has to go out, the
// operations in flight, posted receives. The NIC has to outlive it.
class FabricLink {
 public:
  enum class State : uint8_t {
    kIdle,        // to be dialled, or waiting to be
    kConnecting,  // dialled, or answered
    kOpen,
    kClosing,  // gone, but what arrived before may still be read
    kClosed,
  };
  using Clock = std::chrono::steady_clock;

  struct Options {
    int rank = 0;  // of this process
    int peer = 0;
    int rail = 0;
    uint64_t largest_message = 0;  // 0: carries no messages
    uint64_t window_bytes = 0;     // of the peer
    RailContact contact;           // of the peer
  };
  FabricLink(FabricNic& nic, Options options);
  ~FabricLink();
  FabricLink(const FabricLink&) = delete;
  FabricLink& operator=(const FabricLink&) = delete;
  FabricLink(FabricLink&&) = delete;
  FabricLink& operator=(FabricLink&&) = delete;

  int peer() const { return options_.peer; }
  int rail() const { return options_.rail; }
  FabricNic& nic() { return nic_; }
  State state() const { return state_; }
  bool alive() const { return state_ == State::kOpen || state_ == State::kClosing; }
  uint64_t window_bytes() const { return options_.window_bytes; }

  // Connecting. A failed attempt leaves it kIdle; then dial() again from `dial_at` on.
  Clock::time_point dial_at() const { return dial_at_; }
  void dial(const RailRequest& request);
  void answer(fi_info* request);
  void connected();
  // The endpoint is gone, or its attempt failed.
  void lost();

  // Queued behind everything else of this link; nothing is handed over before push(). Dropped when
  // the link is not open.
  void write(const RemoteWrite& write);
  void signal(uint32_t immediate);
  void post(std::span<const std::byte> message);
  // Hands over what the provider takes. With `hold`, the last write stays, so that a signal can
  // travel with it. True: nothing is left to hand over.
  bool push(bool hold);

  // Completions of slots of this link. received(): what came in, with its buffer posted again.
  void sent(FabricSlot& slot, bool failed);
  std::optional<Event> received(FabricSlot& slot, const FabricCompletion& completion);
  Event signalled(uint64_t data) const;

  // The end: nothing is read from a source afterwards.
  void close();

  // For its owner: whether it is on the list of links with something to hand over, of those that
  // are closing.
  bool is_busy = false;
  bool is_closing = false;

 private:
  struct Item {
    ConstAddress from;
    uint64_t bytes = 0;
    uint64_t offset = 0;
    bool is_message = false;
    bool is_write = false;
    bool has_signal = false;
    uint32_t immediate = 0;
    std::vector<std::byte> message;
    FabricHandle<fid_mr> source;
  };
  // One attempt to connect, and its operations.
  struct Lane {
    FabricHandle<fid_mr> memory;
    std::vector<std::byte> buffers;  // receives, then messages to send
    std::vector<FabricSlot> receives;
    std::vector<FabricSlot> sends;
    std::vector<FabricSlot*> free_sends;
    std::vector<uint32_t> free_buffers;
    FabricHandle<fid_ep> endpoint;  // goes before its memory
  };

  Status open_lane(fi_info* request);
  void add_receives(Lane& lane);
  int64_t post_receive(FabricSlot& slot);
  void attempt_failed();
  void add(Item item);
  bool submit(Item& item);
  bool submit_message(Item& item, FabricSlot& slot);
  bool submit_write(Item& item, FabricSlot& slot);
  bool find_descriptor(Item& item, void** descriptor);
  bool accepted(int64_t code);
  std::byte* buffer(uint32_t index) { return lane_->buffers.data() + index * buffer_bytes_; }
  void retire_lane();

  FabricNic& nic_;
  Options options_;
  std::size_t buffer_bytes_ = 0;
  std::size_t receive_buffers_ = 0;
  State state_ = State::kIdle;
  Clock::time_point dial_at_;
  std::chrono::milliseconds redial_;
  std::deque<Item> queue_;
  std::unique_ptr<Lane> lane_;
  // Their operations may still be reported.
  std::vector<std::unique_ptr<Lane>> retired_;
  // Of this link, within the tally of the NIC.
  uint64_t unfinished_ = 0;
  uint64_t unfinished_writes_ = 0;
};

}  // namespace mixnet::ep
