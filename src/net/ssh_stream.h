#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/address.h"
#include "net/asio_loop.h"
#include "net/stream.h"

namespace mixnet::net {

struct SshOptions {
  HostPort host_port;
  std::string user;
  // Asked while logging in; what it returns is wiped after use.
  std::function<std::string()> password;
  // A file in the format of OpenSSH. A host whose key is not in it is refused.
  std::string known_hosts;
};

// Streams over the shell of an SSH server, as `ssh USER@HOST -p PORT` without a terminal, logged in
// by password or by its prompt. Nothing but the options is consulted: no file and no agent of the
// user who runs this.
class SshDialer final : public Dialer {
 public:
  SshDialer(AsioLoop& loop, SshOptions options);

  // The deadline covers everything up to the shell. A refused host key is shown by its fingerprint,
  // with what to type to accept it.
  std::unique_ptr<Stream> dial(StreamEvents& events, Duration deadline) override;
  std::string peer() const override { return options_.host_port.text(); }

 private:
  AsioLoop& loop_;
  SshOptions options_;
};

}  // namespace mixnet::net
