#pragma once

// How an expert-parallel token travels from the GPU it is on to the experts it picked, and back.
namespace mixnet {

enum class Transport {
  kDirect,       // mode 0: every copy that leaves a GPU goes through a NIC, also inside a host
  kNvlink,       // mode 1: NVLink inside a host, one network copy per destination expert
  kRelay,        // mode 2: one network copy per remote host, to the GPU of the same index there,
                 // which forwards it over NVLink
  kRelayCopies,  // mode 2 without de-redundancy: relayed likewise, one copy per destination expert
};

inline constexpr Transport kTransports[] = {Transport::kNvlink, Transport::kDirect,
                                            Transport::kRelay, Transport::kRelayCopies};

// The mode as published: 0, 1 or 2.
constexpr int transport_mode(Transport transport) {
  switch (transport) {
    case Transport::kDirect:
      return 0;
    case Transport::kNvlink:
      return 1;
    default:
      return 2;
  }
}

constexpr const char* transport_name(Transport transport) {
  switch (transport) {
    case Transport::kDirect:
      return "direct";
    case Transport::kNvlink:
      return "nvlink";
    case Transport::kRelay:
      return "relay";
    default:
      return "relay-copies";
  }
}

}  // namespace mixnet
