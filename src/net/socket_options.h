#pragma once

namespace mixnet::net {

// Bytes go out at once, and a peer that is gone without a word is noticed within half a minute.
void set_tcp_options(int socket);

}  // namespace mixnet::net
