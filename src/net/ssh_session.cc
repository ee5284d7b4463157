#include "net/ssh_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libssh/libssh.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "net/stream_errors.h"

namespace mixnet::net {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{32} << 10;
constexpr int kMaxPrompts = 4;

// A password for as long as it is needed.
class Password {
 public:
  explicit Password(const SshOptions& options) : text_(options.password()) {}
  ~Password() { ::explicit_bzero(text_.data(), text_.size()); }
  Password(const Password&) = delete;
  Password& operator=(const Password&) = delete;
  Password(Password&&) = delete;
  Password& operator=(Password&&) = delete;
  const char* text() const { return text_.c_str(); }

 private:
  std::string text_;
};

// "ssh-ed25519 SHA256:..." of the key that the server showed.
std::string fingerprint(ssh_session session) {
  ssh_key raw_key = nullptr;
  if (ssh_get_server_publickey(session, &raw_key) != SSH_OK) {
    return "an unreadable key";
  }
  const std::unique_ptr<ssh_key_struct, decltype(&ssh_key_free)> key(raw_key, &ssh_key_free);
  unsigned char* hash = nullptr;
  std::size_t size = 0;
  std::string text = ssh_key_type_to_char(ssh_key_type(raw_key));
  if (ssh_get_publickey_hash(raw_key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) == SSH_OK) {
    char* const printed = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
    text += fmt::format(" {}", printed);
    ssh_string_free_char(printed);
    ssh_clean_pubkey_hash(&hash);
  }
  return text;
}

void set_option(ssh_session session, ssh_options_e option, const void* value) {
  CHECK(ssh_options_set(session, option, value) == SSH_OK, "an option that libssh does not take");
}

}  // namespace

void SshSession::FreeSession::operator()(ssh_session_struct* session) const {
  ssh_disconnect(session);
  ssh_free(session);
}

void SshSession::FreeChannel::operator()(ssh_channel_struct* channel) const {
  ssh_channel_free(channel);
}

SshSession::SshSession(const SshOptions& options, UniqueFd socket)
    : options_(options), socket_(std::move(socket)), session_(ssh_new()) {
  CHECK(session_ != nullptr, "no memory for a session");
  ssh_session session = session_.get();
  const bool no = false;
  const unsigned int port = options.host_port.port;
  const socket_t fd = socket_.get();
  set_option(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
  set_option(session, SSH_OPTIONS_FD, &fd);
  set_option(session, SSH_OPTIONS_HOST, options.host_port.host.c_str());
  set_option(session, SSH_OPTIONS_PORT, &port);
  set_option(session, SSH_OPTIONS_USER, options.user.c_str());
  set_option(session, SSH_OPTIONS_KNOWNHOSTS, options.known_hosts.c_str());
  set_option(session, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
  ssh_set_blocking(session, 0);
}

SshSession::~SshSession() = default;

bool SshSession::writing() const {
  return (ssh_get_poll_flags(session_.get()) & SSH_WRITE_PENDING) != 0;
}

std::string_view SshSession::waits_for() const {
  switch (step_) {
    case Step::kKeyExchange:
      return "keys to be exchanged";
    case Step::kMethods:
      return "the ways to log in";
    case Step::kPassword:
    case Step::kPrompt:
      return "the password to be accepted";
    case Step::kChannel:
    case Step::kShell:
    case Step::kReady:
      break;
  }
  return "the shell";
}

Result<bool> SshSession::log_in() {
  while (step_ != Step::kReady) {
    Result<bool> done = advance();
    if (!done || !*done) {
      return done;
    }
  }
  return true;
}

Result<bool> SshSession::advance() {
  switch (step_) {
    case Step::kKeyExchange:
      return exchange_keys();
    case Step::kMethods:
      return ask_for_methods();
    case Step::kPassword:
      return give_password();
    case Step::kPrompt:
      return answer_prompt();
    case Step::kChannel:
      return open_channel();
    case Step::kShell:
      return request_shell();
    case Step::kReady:
      break;
  }
  return true;
}

Result<bool> SshSession::exchange_keys() {
  const int code = ssh_connect(session_.get());
  // libssh lets the sockets block that it is given.
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  if (code == SSH_AGAIN) {
    return false;
  }
  if (code != SSH_OK) {
    return protocol_failure();
  }
  if (const Status known = check_host_key(); !known) {
    return known.error();
  }
  step_ = Step::kMethods;
  return true;
}

Status SshSession::check_host_key() {
  const HostPort& at = options_.host_port;
  const std::string& file = options_.known_hosts;
  switch (ssh_session_is_known_server(session_.get())) {
    case SSH_KNOWN_HOSTS_OK:
      return {};
    case SSH_KNOWN_HOSTS_CHANGED:
    case SSH_KNOWN_HOSTS_OTHER:
      return failure(fmt::format(
          "the host key has changed to {}, or somebody else answers. If the switch itself shows "
          "this fingerprint, type: ssh-keygen -f {} -R '{}' && ssh-keyscan -p {} {} >> {}",
          fingerprint(session_.get()), file,
          at.port == 22 ? at.host : fmt::format("[{}]:{}", at.host, at.port), at.port, at.host,
          file));
    case SSH_KNOWN_HOSTS_UNKNOWN:
    case SSH_KNOWN_HOSTS_NOT_FOUND:
      return failure(fmt::format(
          "the host key {} is not in {}. If the switch itself shows this fingerprint, type: "
          "ssh-keyscan -p {} {} >> {}",
          fingerprint(session_.get()), file, at.port, at.host, file));
    case SSH_KNOWN_HOSTS_ERROR:
      break;
  }
  return failure(fmt::format("the host key cannot be checked against {}", file));
}

// The servers that let anybody in are let be; the others say here what they take.
Result<bool> SshSession::ask_for_methods() {
  const int code = ssh_userauth_none(session_.get(), nullptr);
  if (code == SSH_AUTH_AGAIN) {
    return false;
  }
  if (code == SSH_AUTH_SUCCESS) {
    step_ = Step::kChannel;
    return true;
  }
  if (code == SSH_AUTH_ERROR) {
    return protocol_failure();
  }
  const int methods = ssh_userauth_list(session_.get(), nullptr);
  if ((methods & SSH_AUTH_METHOD_PASSWORD) != 0) {
    step_ = Step::kPassword;
  } else if ((methods & SSH_AUTH_METHOD_INTERACTIVE) != 0) {
    step_ = Step::kPrompt;
  } else {
    return failure("the server does not take passwords");
  }
  return true;
}

Result<bool> SshSession::give_password() {
  const Password password(options_);
  return judge(ssh_userauth_password(session_.get(), nullptr, password.text()));
}

Result<bool> SshSession::answer_prompt() {
  const int code = ssh_userauth_kbdint(session_.get(), nullptr, nullptr);
  if (code != SSH_AUTH_INFO) {
    return judge(code);
  }
  if (++prompts_ > kMaxPrompts) {
    return failure("the server asks too many questions");
  }
  const Password password(options_);
  const int questions = ssh_userauth_kbdint_getnprompts(session_.get());
  for (int i = 0; i < questions; ++i) {
    char echo = 0;
    ssh_userauth_kbdint_getprompt(session_.get(), static_cast<unsigned int>(i), &echo);
    // A password is asked for without showing what is typed.
    ssh_userauth_kbdint_setanswer(session_.get(), static_cast<unsigned int>(i),
                                  echo != 0 ? "" : password.text());
  }
  return true;
}

Result<bool> SshSession::judge(int authenticated) {
  switch (authenticated) {
    case SSH_AUTH_AGAIN:
      return false;
    case SSH_AUTH_SUCCESS:
      step_ = Step::kChannel;
      return true;
    case SSH_AUTH_ERROR:
      return protocol_failure();
    default:
      return failure(fmt::format("the password of user '{}' was not accepted", options_.user));
  }
}

Result<bool> SshSession::open_channel() {
  if (!channel_) {
    channel_.reset(ssh_channel_new(session_.get()));
    CHECK(channel_ != nullptr, "no memory for a channel");
  }
  const int code = ssh_channel_open_session(channel_.get());
  if (code == SSH_ERROR) {
    return protocol_failure();
  }
  step_ = code == SSH_OK ? Step::kShell : step_;
  return code == SSH_OK;
}

Result<bool> SshSession::request_shell() {
  const int code = ssh_channel_request_shell(channel_.get());
  if (code == SSH_ERROR) {
    return protocol_failure();
  }
  step_ = code == SSH_OK ? Step::kReady : step_;
  return code == SSH_OK;
}

Result<std::size_t> SshSession::write_some(std::string_view bytes) {
  const auto size = static_cast<uint32_t>(std::min(bytes.size(), kWriteBytes));
  const int code = ssh_channel_write(channel_.get(), bytes.data(), size);
  if (code == SSH_ERROR) {
    return protocol_failure();
  }
  return static_cast<std::size_t>(std::max(code, 0));
}

Result<std::optional<std::size_t>> SshSession::read_some(char* buffer, std::size_t size) {
  const int code =
      ssh_channel_read_nonblocking(channel_.get(), buffer, static_cast<uint32_t>(size), 0);
  if (code == SSH_EOF || (code == 0 && ssh_channel_is_closed(channel_.get()) != 0)) {
    return std::optional<std::size_t>();
  }
  if (code == SSH_ERROR) {
    return protocol_failure();
  }
  return std::optional(static_cast<std::size_t>(std::max(code, 0)));
}

Error SshSession::failure(std::string_view what) const {
  return closed(options_.host_port.text(), what);
}

Error SshSession::protocol_failure() const {
  std::string text = ssh_get_error(session_.get());
  // The server may have had its say in it.
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return failure(text.empty() ? "the SSH session broke" : text);
}

}  // namespace mixnet::net
