#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "net/ssh_stream.h"
#include "net/unique_fd.h"

struct ssh_session_struct;
struct ssh_channel_struct;

namespace mixnet::net {

// The client's side of one SSH session over a connected socket. Never blocks: each call does what
// can be done now.
class SshSession {
 public:
  SshSession(const SshOptions& options, UniqueFd socket);
  ~SshSession();
  SshSession(const SshSession&) = delete;
  SshSession& operator=(const SshSession&) = delete;
  SshSession(SshSession&&) = delete;
  SshSession& operator=(SshSession&&) = delete;

  int socket() const { return socket_.get(); }
  // Bytes wait for the socket to take them.
  bool writing() const;

  // Towards an open shell: true when it is there, false when it waits for the server.
  Result<bool> log_in();
  // What log_in() waits for: "the password to be accepted".
  std::string_view waits_for() const;

  // How many of the bytes were taken.
  Result<std::size_t> write_some(std::string_view bytes);
  // How many bytes came, 0: none yet; none: the server has closed the shell.
  Result<std::optional<std::size_t>> read_some(char* buffer, std::size_t size);

 private:
  enum class Step { kKeyExchange, kMethods, kPassword, kPrompt, kChannel, kShell, kReady };
  struct FreeSession {
    void operator()(ssh_session_struct* session) const;
  };
  struct FreeChannel {
    void operator()(ssh_channel_struct* channel) const;
  };

  // Does one step; true: it is done, and step_ is the next one.
  Result<bool> advance();
  Result<bool> exchange_keys();
  Status check_host_key();
  Result<bool> ask_for_methods();
  Result<bool> give_password();
  Result<bool> answer_prompt();
  Result<bool> judge(int authenticated);
  Result<bool> open_channel();
  Result<bool> request_shell();
  Error failure(std::string_view what) const;
  Error protocol_failure() const;

  const SshOptions& options_;
  UniqueFd socket_;  // libssh uses it and leaves closing it to us
  std::unique_ptr<ssh_session_struct, FreeSession> session_;
  std::unique_ptr<ssh_channel_struct, FreeChannel> channel_;
  Step step_ = Step::kKeyExchange;
  int prompts_ = 0;  // rounds of questions that were answered
};

}  // namespace mixnet::net
