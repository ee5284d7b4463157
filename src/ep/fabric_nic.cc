#include "ep/fabric_nic.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "core/index.h"

namespace mixnet::ep {
namespace {

// Deep enough to keep a NIC busy with 4 KiB writes over a round trip of tens of microseconds, small
// enough for the completion queue of a thousand peers.
constexpr std::size_t kMaxSends = 128;
constexpr std::size_t kMessageReceives = 16;
constexpr std::size_t kSignalReceives = 64;
constexpr std::size_t kBatch = 16;
constexpr std::size_t kRequestBytes = 256;
constexpr uint64_t kOrder = FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_SAW | FI_ORDER_SAS;

// IPv4 address of an interface, or empty when there is none of that name.
std::string address_of_interface(const std::string& name) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    return {};
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET && name == one->ifa_name) {
      sockaddr_in address{};
      std::memcpy(&address, one->ifa_addr, sizeof(address));
      std::array<char, INET_ADDRSTRLEN> text{};
      inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
      return text.data();
    }
  }
  return {};
}

bool is_address(const std::string& name) {
  std::array<std::byte, sizeof(in6_addr)> unused{};
  return inet_pton(AF_INET, name.c_str(), unused.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), unused.data()) == 1;
}

FabricHandle<fi_info> hints_for(const std::string& provider) {
  FabricHandle<fi_info> hints(fi_allocinfo());
  CHECK(hints != nullptr, "out of memory");
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->ep_attr->type = FI_EP_MSG;
  hints->tx_attr->msg_order = kOrder;
  hints->rx_attr->msg_order = kOrder;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  // One thread at a time, and it keeps reading: no locks, no threads of the provider's own.
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  return hints;
}

// Gives every page memory of its own, as FI_MR_ALLOCATED demands.
void touch_pages(const Window& window) {
  constexpr uint64_t kPage = 4096;
  for (uint64_t offset = 0; offset < window.bytes; offset += kPage) {
    volatile std::byte* page = window.base.data + offset;
    *page = *page;
  }
}

template <typename Object>
int wait_descriptor(Object* object) {
  int descriptor = -1;
  const int failed = fi_control(&object->fid, FI_GETWAIT, &descriptor);
  CHECK(failed == 0, "queues were opened with a descriptor to wait for");
  return descriptor;
}

}  // namespace

FabricNic::FabricNic(Options options) : options_(std::move(options)) {}
FabricNic::~FabricNic() = default;

Error FabricNic::failure(const char* what, int64_t code) const {
  return Error{fmt::format("network interface \"{}\", provider \"{}\": {}: {}", options_.name,
                           options_.provider, what, fabric_error(code)),
               ""};
}

Result<std::unique_ptr<FabricNic>> FabricNic::open(const Options& options) {
  CHECK(options.window.base && options.window.bytes > 0, "peers write into a window");
  std::unique_ptr<FabricNic> nic(new FabricNic(options));
  using Step = Status (FabricNic::*)();
  for (const Step step : {&FabricNic::find, &FabricNic::open_domain, &FabricNic::register_window,
                          &FabricNic::listen}) {
    if (Status status = (nic.get()->*step)(); !status) {
      return status.error();
    }
  }
  return nic;
}

Status FabricNic::find() {
  const FabricHandle<fi_info> hints = hints_for(options_.provider);
  std::string address = options_.name;
  if (!is_address(address)) {
    address = address_of_interface(address);
  }
  fi_info* list = nullptr;
  const int code = fi_getinfo(FI_VERSION(1, 17), address.empty() ? nullptr : address.c_str(),
                              nullptr, address.empty() ? 0 : FI_SOURCE, hints.get(), &list);
  if (code != 0) {
    return failure("the provider cannot use it", code);
  }
  const FabricHandle<fi_info> found(list);
  const fi_info* chosen = list;
  while (address.empty() && chosen != nullptr && options_.name != chosen->domain_attr->name) {
    chosen = chosen->next;
  }
  if (chosen == nullptr) {
    return failure("no address, interface or domain of this machine", FI_ENODEV);
  }
  info_.reset(fi_dupinfo(chosen));
  CHECK(info_ != nullptr, "out of memory");
  return set_limits();
}

Status FabricNic::set_limits() {
  const fi_domain_attr& domain = *info_->domain_attr;
  const fi_ep_attr& endpoint = *info_->ep_attr;
  limits_.signals_take_receives = ((info_->mode | info_->rx_attr->mode) & FI_RX_CQ_DATA) != 0;
  limits_.register_sources = options_.register_sources || (domain.mr_mode & FI_MR_LOCAL) != 0;
  limits_.sends = std::clamp<std::size_t>(info_->tx_attr->size, 1, kMaxSends);
  limits_.receives = std::clamp<std::size_t>(
      info_->rx_attr->size, 1, limits_.signals_take_receives ? kSignalReceives : kMessageReceives);
  limits_.largest_write = endpoint.max_msg_size;
  if (endpoint.max_order_waw_size > 0) {
    limits_.largest_write = std::min<uint64_t>(limits_.largest_write, endpoint.max_order_waw_size);
  }
  // A signal says who sent it through the receive that it took, or in the upper half of its data.
  if (domain.cq_data_size < 4 || (domain.cq_data_size < 8 && !limits_.signals_take_receives)) {
    return Error{fmt::format("provider \"{}\" cannot carry signals: its writes carry {} bytes of "
                             "data and do not say who sent them",
                             options_.provider, domain.cq_data_size),
                 ""};
  }
  return {};
}

Status FabricNic::open_domain() {
  fid_fabric* fabric = nullptr;
  if (const int code = fi_fabric(info_->fabric_attr, &fabric, nullptr); code != 0) {
    return failure("opening its fabric", code);
  }
  fabric_.reset(fabric);
  fi_eq_attr event_attributes{};
  event_attributes.size = 4 * (at(options_.peers) + 1);
  event_attributes.wait_obj = FI_WAIT_FD;
  fid_eq* events = nullptr;
  if (const int code = fi_eq_open(fabric, &event_attributes, &events, nullptr); code != 0) {
    return failure("opening an event queue", code);
  }
  events_.reset(events);
  fid_domain* domain = nullptr;
  if (const int code = fi_domain(fabric, info_.get(), &domain, nullptr); code != 0) {
    return failure("opening its domain", code);
  }
  domain_.reset(domain);
  fi_cq_attr attributes{};
  // Nothing stops a provider from overrunning a smaller one.
  attributes.size = (limits_.sends + limits_.receives) * (at(options_.peers) + 1);
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  if (const int code = fi_cq_open(domain, &attributes, &completions, nullptr); code != 0) {
    return failure("opening a completion queue", code);
  }
  completions_.reset(completions);
  return {};
}

Result<FabricHandle<fid_mr>> FabricNic::register_memory(const void* data, uint64_t bytes,
                                                        uint64_t access) {
  fid_mr* memory = nullptr;
  const int code =
      fi_mr_reg(domain_.get(), data, bytes, access, 0, next_key_++, 0, &memory, nullptr);
  if (code != 0) {
    return failure("registering memory", code);
  }
  return FabricHandle<fid_mr>(memory);
}

Result<FabricHandle<fid_mr>> FabricNic::register_buffers(std::span<std::byte> buffers) {
  return register_memory(buffers.data(), buffers.size(), FI_SEND | FI_RECV);
}

// May be read-only.
Result<FabricHandle<fid_mr>> FabricNic::register_source(ConstAddress from, uint64_t bytes) {
  return register_memory(from.data, bytes, FI_WRITE);
}

void* FabricNic::descriptor(fid_mr* memory) { return fi_mr_desc(memory); }

Status FabricNic::register_window() {
  const int mode = info_->domain_attr->mr_mode;
  const Window& window = options_.window;
  if ((mode & FI_MR_ALLOCATED) != 0) {
    touch_pages(window);
  }
  auto memory =
      register_memory(window.base.data, window.bytes, FI_SEND | FI_WRITE | FI_REMOTE_WRITE);
  if (!memory) {
    return memory.error();
  }
  window_ = std::move(*memory);
  contact_.base = (mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<uint64_t>(window.base.data) : 0;
  contact_.key = fi_mr_key(window_.get());
  return {};
}

Status FabricNic::listen() {
  fid_pep* listener = nullptr;
  if (const int code = fi_passive_ep(fabric_.get(), info_.get(), &listener, nullptr); code != 0) {
    return failure("listening", code);
  }
  listener_.reset(listener);
  if (const int code = fi_pep_bind(listener, &events_->fid, 0); code != 0) {
    return failure("listening", code);
  }
  if (const int code = fi_listen(listener); code != 0) {
    return failure("listening", code);
  }
  std::size_t bytes = 256;
  contact_.address.resize(bytes);
  if (const int code = fi_getname(&listener->fid, contact_.address.data(), &bytes); code != 0) {
    return failure("asking where it listens", code);
  }
  contact_.address.resize(bytes);
  return {};
}

uint32_t FabricNic::address_format() const { return info_->addr_format; }

bool FabricNic::in_window(ConstAddress from, uint64_t bytes) const {
  const std::byte* const begin = options_.window.base.data;
  return from.data >= begin && from.data + bytes <= begin + options_.window.bytes;
}

void* FabricNic::window_descriptor() const { return fi_mr_desc(window_.get()); }

Result<FabricHandle<fid_ep>> FabricNic::endpoint(fi_info* request, const RailContact* to,
                                                 void* context) {
  FabricHandle<fi_info> dialing;
  if (request == nullptr) {
    dialing.reset(fi_dupinfo(info_.get()));
    CHECK(dialing != nullptr && to != nullptr, "dialing somewhere");
    dialing->dest_addr = std::malloc(to->address.size());
    CHECK(dialing->dest_addr != nullptr, "out of memory");
    std::memcpy(dialing->dest_addr, to->address.data(), to->address.size());
    dialing->dest_addrlen = to->address.size();
  }
  fid_ep* opened = nullptr;
  fi_info* const info = request != nullptr ? request : dialing.get();
  if (const int code = fi_endpoint(domain_.get(), info, &opened, context); code != 0) {
    return failure("opening an endpoint", code);
  }
  FabricHandle<fid_ep> endpoint(opened);
  int64_t code = fi_ep_bind(opened, &events_->fid, 0);
  if (code == 0) {
    code = fi_ep_bind(opened, &completions_->fid, FI_TRANSMIT | FI_RECV);
  }
  if (code == 0) {
    code = fi_enable(opened);
  }
  if (code != 0) {
    return failure("enabling an endpoint", code);
  }
  return endpoint;
}

void FabricNic::reject(fi_info* request) {
  static_cast<void>(fi_reject(listener_.get(), request->handle, nullptr, 0));
}

std::size_t FabricNic::read(std::span<FabricCompletion> into) {
  std::array<fi_cq_data_entry, kBatch> entries;
  const ssize_t count =
      fi_cq_read(completions_.get(), entries.data(), std::min(kBatch, into.size()));
  if (count == -FI_EAVAIL) {
    fi_cq_err_entry error{};
    if (fi_cq_readerr(completions_.get(), &error, 0) <= 0) {
      return 0;
    }
    into[0] = FabricCompletion{error.op_context, true, false, 0, 0};
    return 1;
  }
  for (ssize_t i = 0; i < count; ++i) {
    const fi_cq_data_entry& entry = entries[static_cast<std::size_t>(i)];
    // Providers that take no receive for a signal report a context without meaning.
    const bool signal = (entry.flags & FI_REMOTE_CQ_DATA) != 0;
    void* const slot = signal && !limits_.signals_take_receives ? nullptr : entry.op_context;
    into[static_cast<std::size_t>(i)] =
        FabricCompletion{slot, false, signal, entry.len, signal ? entry.data : 0};
  }
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

FabricConnectionEvent FabricNic::next_event() {
  FabricConnectionEvent event;
  alignas(fi_eq_cm_entry) std::array<std::byte, sizeof(fi_eq_cm_entry) + kRequestBytes> buffer{};
  uint32_t what = 0;
  const ssize_t bytes = fi_eq_read(events_.get(), &what, buffer.data(), buffer.size(), 0);
  if (bytes == -FI_EAVAIL) {
    fi_eq_err_entry error{};
    if (fi_eq_readerr(events_.get(), &error, 0) > 0) {
      event.kind = FabricConnectionEvent::Kind::kClosed;
      event.context = error.context;
      if (event.context == nullptr && error.fid != nullptr) {
        event.context = error.fid->context;
      }
    }
    return event;
  }
  fi_eq_cm_entry entry{};
  if (bytes < static_cast<ssize_t>(sizeof(entry))) {
    return event;
  }
  std::memcpy(&entry, buffer.data(), sizeof(entry));
  if (what == FI_CONNREQ) {
    event.kind = FabricConnectionEvent::Kind::kRequest;
    event.request.reset(entry.info);
    event.data.assign(buffer.begin() + sizeof(entry), buffer.begin() + bytes);
  } else if (what == FI_CONNECTED || what == FI_SHUTDOWN) {
    event.kind = what == FI_CONNECTED ? FabricConnectionEvent::Kind::kConnected
                                      : FabricConnectionEvent::Kind::kClosed;
    event.context = entry.fid->context;
  }
  return event;
}

std::vector<int> FabricNic::wait_descriptors() const {
  return {wait_descriptor(completions_.get()), wait_descriptor(events_.get())};
}

bool FabricNic::may_sleep() {
  std::array<fid*, 2> queues{&completions_->fid, &events_->fid};
  return fi_trywait(fabric_.get(), queues.data(), static_cast<int>(queues.size())) == FI_SUCCESS;
}

}  // namespace mixnet::ep
