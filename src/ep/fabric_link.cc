#include "ep/fabric_link.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mixnet::ep {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::chrono::milliseconds kFirstRedial = 20ms;
constexpr std::chrono::milliseconds kLastRedial = 1000ms;
constexpr std::size_t kMessageSends = 8;
// Of receives that only signals take: they put nothing there.
constexpr std::size_t kSignalBuffer = 64;

static_assert(sizeof(FabricSlot::reserved) >= sizeof(fi_context2));
static_assert(offsetof(FabricSlot, reserved) == 0);

}  // namespace

FabricLink::FabricLink(FabricNic& nic, Options options)
    : nic_(nic), options_(std::move(options)), dial_at_(Clock::now()), redial_(kFirstRedial) {
  if (options_.largest_message > 0) {
    buffer_bytes_ = static_cast<std::size_t>(options_.largest_message);
    receive_buffers_ = nic_.limits().receives;
  } else if (nic_.limits().signals_take_receives) {
    buffer_bytes_ = kSignalBuffer;
    receive_buffers_ = 1;  // shared by all receives
  }
}

FabricLink::~FabricLink() { close(); }

// ---- connecting ----

void FabricLink::add_receives(Lane& lane) {
  const FabricNic::Limits& limits = nic_.limits();
  lane.receives = std::vector<FabricSlot>(receive_buffers_ > 0 ? limits.receives : 0);
  for (std::size_t i = 0; i < lane.receives.size(); ++i) {
    lane.receives[i].link = this;
    lane.receives[i].buffer = static_cast<uint32_t>(std::min(i, receive_buffers_ - 1));
  }
  if (options_.largest_message > 0) {
    for (std::size_t i = 0; i < kMessageSends; ++i) {
      lane.free_buffers.push_back(static_cast<uint32_t>(receive_buffers_ + i));
    }
  }
}

Status FabricLink::open_lane(fi_info* request) {
  auto lane = std::make_unique<Lane>();
  add_receives(*lane);
  lane->buffers.resize((receive_buffers_ + lane->free_buffers.size()) * buffer_bytes_);
  if (!lane->buffers.empty()) {
    auto memory = nic_.register_buffers(lane->buffers);
    if (!memory) {
      return memory.error();
    }
    lane->memory = std::move(*memory);
  }
  auto endpoint = nic_.endpoint(request, &options_.contact, this);
  if (!endpoint) {
    return endpoint.error();
  }
  lane->endpoint = std::move(*endpoint);
  lane_ = std::move(lane);
  state_ = State::kConnecting;
  for (FabricSlot& slot : lane_->receives) {
    if (const int64_t code = post_receive(slot); code != 0) {
      return Error{fabric_error(code), ""};
    }
  }
  return {};
}

void FabricLink::attempt_failed() {
  retire_lane();
  state_ = State::kIdle;
  dial_at_ = Clock::now() + redial_;
  redial_ = std::min(2 * redial_, kLastRedial);
}

void FabricLink::dial(const RailRequest& request) {
  CHECK(state_ == State::kIdle, "a link is dialled once at a time");
  const std::vector<std::byte> data = encode(request);
  if (!open_lane(nullptr) || fi_connect(lane_->endpoint.get(), options_.contact.address.data(),
                                        data.data(), data.size()) != 0) {
    attempt_failed();
  }
}

void FabricLink::answer(fi_info* request) {
  CHECK(state_ == State::kIdle, "one attempt at a time");
  if (!open_lane(request)) {
    if (lane_ == nullptr) {
      nic_.reject(request);  // otherwise the endpoint has taken it over
    }
    attempt_failed();
  } else if (fi_accept(lane_->endpoint.get(), nullptr, 0) != 0) {
    attempt_failed();
  }
}

void FabricLink::connected() {
  if (state_ != State::kConnecting) {
    return;
  }
  state_ = State::kOpen;
  lane_->sends = std::vector<FabricSlot>(nic_.limits().sends);
  for (FabricSlot& slot : lane_->sends) {
    slot.link = this;
    lane_->free_sends.push_back(&slot);
  }
}

void FabricLink::lost() {
  if (state_ == State::kConnecting) {
    attempt_failed();
  } else if (state_ == State::kOpen) {
    state_ = State::kClosing;
  }
}

void FabricLink::retire_lane() {
  if (lane_ == nullptr) {
    return;
  }
  lane_->endpoint.reset();
  lane_->memory.reset();
  lane_->buffers = {};
  for (auto* slots : {&lane_->receives, &lane_->sends}) {
    for (FabricSlot& slot : *slots) {
      slot.link = nullptr;
      slot.source.reset();
    }
  }
  retired_.push_back(std::move(lane_));
}

void FabricLink::close() {
  if (state_ == State::kClosed) {
    return;
  }
  state_ = State::kClosed;
  if (lane_ != nullptr) {
    // Tells the peer, which would have to guess otherwise.
    static_cast<void>(fi_shutdown(lane_->endpoint.get(), 0));
  }
  retire_lane();
  queue_.clear();
  nic_.tally().unfinished -= std::exchange(unfinished_, 0);
  nic_.tally().unfinished_writes -= std::exchange(unfinished_writes_, 0);
}

// ---- sending ----

void FabricLink::add(Item item) {
  if (state_ != State::kOpen) {
    return;
  }
  ++unfinished_;
  ++nic_.tally().unfinished;
  if (item.is_write) {
    ++unfinished_writes_;
    ++nic_.tally().unfinished_writes;
  }
  queue_.push_back(std::move(item));
}

void FabricLink::write(const RemoteWrite& write) {
  Item item;
  item.from = write.from;
  item.bytes = write.bytes;
  item.offset = write.offset;
  item.is_write = true;
  add(std::move(item));
}

void FabricLink::signal(uint32_t immediate) {
  if (!queue_.empty() && queue_.back().is_write && !queue_.back().has_signal) {
    queue_.back().has_signal = true;
    queue_.back().immediate = immediate;
    return;
  }
  Item item;
  item.has_signal = true;
  item.immediate = immediate;
  add(std::move(item));
}

void FabricLink::post(std::span<const std::byte> message) {
  CHECK(message.size() <= options_.largest_message, "messages have a bound");
  Item item;
  item.is_message = true;
  item.message.assign(message.begin(), message.end());
  add(std::move(item));
}

bool FabricLink::push(bool hold) {
  while (state_ == State::kOpen && !queue_.empty()) {
    if (hold && queue_.size() == 1 && queue_.front().is_write && !queue_.front().has_signal) {
      return false;
    }
    if (lane_->free_sends.empty() || !submit(queue_.front())) {
      return state_ != State::kOpen;
    }
  }
  return true;
}

bool FabricLink::submit(Item& item) {
  FabricSlot& slot = *lane_->free_sends.back();
  const bool done = item.is_message ? submit_message(item, slot) : submit_write(item, slot);
  if (!done) {
    return false;
  }
  lane_->free_sends.pop_back();
  if (slot.ends) {
    queue_.pop_front();
  }
  return true;
}

// False: again later, or never when the connection turned out to be gone.
bool FabricLink::accepted(int64_t code) {
  if (code != 0 && code != -FI_EAGAIN) {
    lost();
  }
  return code == 0;
}

bool FabricLink::submit_message(Item& item, FabricSlot& slot) {
  if (lane_->free_buffers.empty()) {
    return false;
  }
  const uint32_t index = lane_->free_buffers.back();
  std::copy(item.message.begin(), item.message.end(), buffer(index));
  slot.use = FabricSlot::Use::kMessage;
  slot.buffer = index;
  slot.ends = true;
  slot.ends_write = false;
  const iovec from{buffer(index), item.message.size()};
  void* descriptor = FabricNic::descriptor(lane_->memory.get());
  fi_msg message{};
  message.msg_iov = &from;
  message.desc = &descriptor;
  message.iov_count = item.message.empty() ? 0 : 1;  // some NICs take a length of 0 for 2 GiB
  message.context = &slot;
  if (!accepted(fi_sendmsg(lane_->endpoint.get(), &message, 0))) {
    return false;
  }
  lane_->free_buffers.pop_back();
  return true;
}

bool FabricLink::find_descriptor(Item& item, void** descriptor) {
  if (item.bytes == 0 || !nic_.limits().register_sources) {
    return true;
  }
  if (nic_.in_window(item.from, item.bytes)) {
    *descriptor = nic_.window_descriptor();
    return true;
  }
  if (item.source == nullptr) {
    auto memory = nic_.register_source(item.from, item.bytes);
    if (!memory) {
      lost();
      return false;
    }
    item.source = std::move(*memory);
  }
  *descriptor = FabricNic::descriptor(item.source.get());
  return true;
}

bool FabricLink::submit_write(Item& item, FabricSlot& slot) {
  void* descriptor = nullptr;
  if (!find_descriptor(item, &descriptor)) {
    return false;
  }
  const uint64_t bytes = std::min(item.bytes, nic_.limits().largest_write);
  const bool ends = bytes == item.bytes;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): iovec serves reading and writing
  iovec from{const_cast<std::byte*>(item.from.data), static_cast<std::size_t>(bytes)};
  const fi_rma_iov to{options_.contact.base + item.offset, static_cast<std::size_t>(bytes),
                      options_.contact.key};
  fi_msg_rma message{};
  message.msg_iov = &from;
  message.desc = &descriptor;
  message.iov_count = bytes > 0 ? 1 : 0;  // as above
  message.rma_iov = &to;
  message.rma_iov_count = 1;
  message.context = &slot;
  const bool signals = ends && item.has_signal;
  if (signals) {
    // The upper half is lost where data has 32 bits; the receive tells the sender then.
    message.data =
        nic_.limits().signals_take_receives ? 0 : static_cast<uint64_t>(options_.rank) << 32U;
    message.data |= item.immediate;
  }
  slot.use = FabricSlot::Use::kWrite;
  slot.ends = ends;
  slot.ends_write = ends && item.is_write;
  if (!accepted(fi_writemsg(lane_->endpoint.get(), &message,
                            signals ? FI_REMOTE_CQ_DATA : uint64_t{0}))) {
    return false;
  }
  nic_.tally().sent_bytes += bytes;
  if (ends) {
    slot.source = std::move(item.source);
  }
  item.from = item.from + bytes;
  item.offset += bytes;
  item.bytes -= bytes;
  return true;
}

void FabricLink::sent(FabricSlot& slot, bool failed) {
  slot.source.reset();
  if (slot.use == FabricSlot::Use::kMessage) {
    lane_->free_buffers.push_back(slot.buffer);
  }
  lane_->free_sends.push_back(&slot);
  if (failed) {
    lost();
    return;  // close() settles the accounts
  }
  if (slot.ends) {
    --unfinished_;
    --nic_.tally().unfinished;
  }
  if (slot.ends_write) {
    --unfinished_writes_;
    --nic_.tally().unfinished_writes;
  }
}

// ---- receiving ----

int64_t FabricLink::post_receive(FabricSlot& slot) {
  return fi_recv(lane_->endpoint.get(), buffer(slot.buffer), buffer_bytes_,
                 FabricNic::descriptor(lane_->memory.get()), FI_ADDR_UNSPEC, &slot);
}

Event FabricLink::signalled(uint64_t data) const {
  Event event;
  event.kind = Event::Kind::kSignal;
  event.peer = options_.peer;
  event.rail = options_.rail;
  event.immediate = static_cast<uint32_t>(data);
  return event;
}

std::optional<Event> FabricLink::received(FabricSlot& slot, const FabricCompletion& completion) {
  if (completion.failed) {
    lost();
    return std::nullopt;
  }
  Event event;
  if (completion.signal) {
    event = signalled(completion.data);
  } else {
    event.kind = Event::Kind::kMessage;
    event.peer = options_.peer;
    const std::byte* const bytes = buffer(slot.buffer);
    event.message.assign(bytes, bytes + std::min<uint64_t>(completion.bytes, buffer_bytes_));
  }
  // As many fit as the provider said; it refuses only when the connection is gone.
  if (state_ == State::kOpen && post_receive(slot) != 0) {
    lost();
  }
  return event;
}

}  // namespace mixnet::ep
