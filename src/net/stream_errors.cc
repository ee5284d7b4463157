#include "net/stream_errors.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "net/stream.h"

namespace mixnet::net {

std::string queue_full_text() {
  return fmt::format("more than {} MiB were waiting to be sent", kMaxQueuedBytes >> 20);
}

Error closed(std::string_view peer, std::string_view what) {
  return Error{fmt::format("{}: {}", peer, what), ""};
}

Error no_connection_within(std::string_view peer, Duration deadline) {
  return closed(peer, fmt::format("no connection within {}", duration_text(deadline)));
}

std::string duration_text(Duration duration) {
  using std::chrono::duration_cast;
  const auto milliseconds = duration_cast<std::chrono::milliseconds>(duration);
  if (milliseconds >= std::chrono::seconds(1)) {
    return fmt::format("{} s", static_cast<double>(milliseconds.count()) / 1000);
  }
  return fmt::format("{} ms", milliseconds.count());
}

std::string errno_text(int code) {
  switch (code) {
    case ECONNREFUSED:
      return std::string(kRefusedText);
    case ECONNRESET:
    case EPIPE:
      return std::string(kResetText);
    default:
      return std::generic_category().message(code);
  }
}

}  // namespace mixnet::net
