#pragma once

#include <string>
#include <string_view>

#include "core/instant.h"
#include "core/result.h"

// The words in which every kind of stream reports its end.
namespace mixnet::net {

inline constexpr std::string_view kClosedByPeerText = "closed by the peer";
inline constexpr std::string_view kResetText = "connection reset";
inline constexpr std::string_view kRefusedText = "connection refused";
// The queue of Stream::send() is full.
std::string queue_full_text();

// "PEER: WHAT".
Error closed(std::string_view peer, std::string_view what);
// "10.0.0.5:3082: no connection within 2 s".
Error no_connection_within(std::string_view peer, Duration deadline);
// "2 s", "250 ms".
std::string duration_text(Duration duration);
// What the system says of an errno, in the words above where there are some.
std::string errno_text(int code);

}  // namespace mixnet::net
