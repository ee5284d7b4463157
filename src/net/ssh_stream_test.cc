#include "net/ssh_stream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "net/address.h"
#include "net/loop_test_support.h"
#include "net/stream_test_support.h"
#include "net/unique_fd.h"
#include "support/temporary_directory.h"

namespace mixnet::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kPassword = "correct horse";

using Key = std::shared_ptr<ssh_key_struct>;

Key make_key() {
  ssh_key key = nullptr;
  EXPECT_EQ(ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key), SSH_OK);
  return {key, ssh_key_free};
}

struct ServerOptions {
  bool by_prompt = false;       // asks instead of taking a password
  bool silent = false;          // accepts and says nothing
  bool no_shell = false;        // logs in and never answers the channel
  bool deaf = false;            // reads nothing once the shell is there
  bool mute = false;            // echoes nothing
  std::size_t close_after = 0;  // drops the session after so many bytes of echo; 0: never
  bool drop_abruptly = false;   // closes the socket instead of the channel
};

// An SSH server that takes one client and echoes what it types. It blocks in a thread of its own,
// which ends with its client, or when the listening socket is shut down.
class EchoServer {
 public:
  EchoServer(Key key, ServerOptions options, std::function<void()> ended)
      : key_(std::move(key)),
        options_(options),
        ended_(std::move(ended)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const SocketAddress any = numeric_addresses({"127.0.0.1", 0}).at(0);
    EXPECT_EQ(::bind(listener_.get(), any.get(), any.size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    SocketAddress bound;
    bound.size = sizeof bound.storage;
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
    address_ = bound.host_port();
    thread_ = std::jthread([this] {
      serve();
      ended_();
    });
  }
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;
  EchoServer(EchoServer&&) = delete;
  EchoServer& operator=(EchoServer&&) = delete;
  ~EchoServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  const HostPort& address() const { return address_; }
  // Once it has ended.
  std::size_t received() const { return received_; }

 private:
  void serve() {
    const int client = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) {
      return;
    }
    if (options_.silent) {
      wait_for_the_end(client);
      ::close(client);
      return;
    }
    const std::unique_ptr<ssh_bind_struct, decltype(&ssh_bind_free)> bind(ssh_bind_new(),
                                                                          &ssh_bind_free);
    const bool no = false;
    ssh_bind_options_set(bind.get(), SSH_BIND_OPTIONS_PROCESS_CONFIG, &no);
    ssh_key copy = ssh_key_dup(key_.get());  // the bind frees it
    EXPECT_EQ(ssh_bind_options_set(bind.get(), SSH_BIND_OPTIONS_IMPORT_KEY, copy), SSH_OK);
    const std::unique_ptr<ssh_session_struct, decltype(&ssh_free)> session(ssh_new(), &ssh_free);
    const long limit_s = 10;
    ssh_options_set(session.get(), SSH_OPTIONS_TIMEOUT, &limit_s);
    set_callbacks(session.get());
    if (ssh_bind_accept_fd(bind.get(), session.get(), client) == SSH_OK &&
        ssh_handle_key_exchange(session.get()) == SSH_OK) {
      ssh_set_auth_methods(session.get(), options_.by_prompt ? SSH_AUTH_METHOD_INTERACTIVE
                                                             : SSH_AUTH_METHOD_PASSWORD);
      if (wait_for_shell(session.get())) {
        echo(session.get(), channel_);
      }
    }
    ssh_disconnect(session.get());
  }

  void set_callbacks(ssh_session session) {
    session_callbacks_.userdata = this;
    session_callbacks_.auth_password_function = check_password;
    session_callbacks_.channel_open_request_session_function = open_channel;
    ssh_callbacks_init(&session_callbacks_);
    ssh_set_server_callbacks(session, &session_callbacks_);
    channel_callbacks_.userdata = this;
    channel_callbacks_.channel_shell_request_function = start_shell;
    ssh_callbacks_init(&channel_callbacks_);
    // For questions and answers there is no callback but this one.
    ssh_set_message_callback(session, handle_message, nullptr);
  }

  bool wait_for_shell(ssh_session session) {
    const std::unique_ptr<ssh_event_struct, decltype(&ssh_event_free)> event(ssh_event_new(),
                                                                             &ssh_event_free);
    ssh_event_add_session(event.get(), session);
    while (!shell_ && ssh_event_dopoll(event.get(), 10'000) == SSH_OK) {
    }
    ssh_event_remove_session(event.get(), session);
    return shell_;
  }

  static int check_password(ssh_session /*session*/, const char* /*user*/, const char* password,
                            void* /*self*/) {
    return std::string(password) == kPassword ? SSH_AUTH_SUCCESS : SSH_AUTH_DENIED;
  }

  static ssh_channel open_channel(ssh_session session, void* data) {
    auto& self = *static_cast<EchoServer*>(data);
    self.channel_ = ssh_channel_new(session);
    ssh_set_channel_callbacks(self.channel_, &self.channel_callbacks_);
    return self.channel_;
  }

  static int start_shell(ssh_session session, ssh_channel /*channel*/, void* data) {
    auto& self = *static_cast<EchoServer*>(data);
    if (self.options_.no_shell) {
      wait_for_the_end(ssh_get_fd(session));
    }
    self.shell_ = true;
    return 0;
  }

  // 0: dealt with.
  static int handle_message(ssh_session session, ssh_message message, void* /*data*/) {
    if (ssh_message_type(message) != SSH_REQUEST_AUTH ||
        ssh_message_subtype(message) != SSH_AUTH_METHOD_INTERACTIVE) {
      return 1;
    }
    if (ssh_message_auth_kbdint_is_response(message) == 0) {
      const char* prompts[] = {"Password: "};
      char shown[] = {0};
      ssh_message_auth_interactive_request(message, "", "", 1, prompts, shown);
      return 0;
    }
    if (ssh_userauth_kbdint_getnanswers(session) != 1 ||
        std::string(ssh_userauth_kbdint_getanswer(session, 0)) != kPassword) {
      return 1;
    }
    ssh_message_auth_reply_success(message, 0);
    return 0;
  }

  static void wait_for_the_end(int socket) {
    pollfd gone{socket, POLLRDHUP, 0};
    ::poll(&gone, 1, 10'000);
  }

  void echo(ssh_session session, ssh_channel channel) {
    if (options_.deaf) {
      wait_for_the_end(ssh_get_fd(session));
      return;
    }
    std::string buffer(32U << 10, ' ');
    std::size_t echoed = 0;
    for (;;) {
      const int got =
          ssh_channel_read(channel, buffer.data(), static_cast<uint32_t>(buffer.size()), 0);
      if (got <= 0) {
        return;
      }
      std::size_t size = static_cast<std::size_t>(got);
      received_ += size;
      if (options_.mute) {
        continue;
      }
      if (options_.close_after > 0) {
        size = std::min(size, options_.close_after - echoed);
      }
      if (ssh_channel_write(channel, buffer.data(), static_cast<uint32_t>(size)) == SSH_ERROR) {
        return;
      }
      echoed += size;
      if (echoed == options_.close_after) {
        if (options_.drop_abruptly) {
          ::shutdown(ssh_get_fd(session), SHUT_RDWR);
        } else {
          ssh_channel_send_eof(channel);
          ssh_channel_close(channel);
        }
        return;
      }
    }
  }

  Key key_;
  ServerOptions options_;
  std::function<void()> ended_;  // called in the thread
  std::size_t received_ = 0;
  ssh_server_callbacks_struct session_callbacks_{};
  ssh_channel_callbacks_struct channel_callbacks_{};
  ssh_channel channel_ = nullptr;
  bool shell_ = false;
  UniqueFd listener_;
  HostPort address_;
  std::jthread thread_;
};

struct SshWorld {
  explicit SshWorld(ServerOptions options = {})
      : server(key, options, [this] {
          loop.post([this] {
            server_ended = true;
            until.changed();
          });
        }) {
    here.changed = [this] { until.changed(); };
    know(key);
  }

  // Puts the public half of a key into known_hosts as the server's.
  void know(const Key& known) {
    char* text = nullptr;
    ASSERT_EQ(ssh_pki_export_pubkey_base64(known.get(), &text), SSH_OK);
    std::ofstream(known_hosts) << fmt::format("[{}]:{} ssh-ed25519 {}\n", server.address().host,
                                              server.address().port, text);
    ssh_string_free_char(text);
  }

  void dial(const std::string& password = kPassword, Duration deadline = seconds(10)) {
    SshDialer dialer(loop,
                     {server.address(), "admin", [password] { return password; }, known_hosts});
    here.stream = dialer.dial(here, deadline);
    EXPECT_EQ(here.opened + here.closed, 0) << "within the call";
    ASSERT_TRUE(until.run([this] { return here.opened + here.closed > 0; }));
  }
  std::string peer() const { return server.address().text(); }

  test_support::TemporaryDirectory directory;
  std::string known_hosts = directory.file("known_hosts");
  Key key = make_key();
  AsioLoop loop;
  Until until{loop};
  RecordingEnd here;
  bool server_ended = false;
  EchoServer server;  // waits for the end of its client when it is destroyed
};

TEST(SshStream, CarriesBytesThroughTheShell) {
  for (const bool by_prompt : {false, true}) {
    SshWorld world({.by_prompt = by_prompt});
    world.dial();
    ASSERT_EQ(world.here.opened, 1) << world.here.error;
    world.here.stream->send("RTRV-HDR:::1:;");
    ASSERT_TRUE(world.until.run([&] { return world.here.received == "RTRV-HDR:::1:;"; }));
    world.here.stream.reset();
  }
}

TEST(SshStream, BigDataGoesBothWays) {
  SshWorld world;
  world.dial();
  ASSERT_EQ(world.here.opened, 1) << world.here.error;
  std::string text;
  for (int i = 0; text.size() < (4U << 20); ++i) {
    text += fmt::format("line {}\n", i);
  }
  world.here.stream->send(text);  // far more than the window of a channel
  ASSERT_TRUE(world.until.run([&] { return world.here.received.size() == text.size(); }));
  EXPECT_TRUE(world.here.received == text);
  world.here.stream.reset();
}

TEST(SshStream, AWrongPasswordIsNotShown) {
  for (const bool by_prompt : {false, true}) {
    SshWorld world({.by_prompt = by_prompt});
    world.dial("hunter2");
    EXPECT_EQ(world.here.opened, 0);
    EXPECT_EQ(world.here.error, world.peer() + ": the password of user 'admin' was not accepted");
  }
}

TEST(SshStream, AnUnknownHostKeyIsRefusedWithItsFingerprint) {
  for (const bool file_there : {false, true}) {
    SshWorld world;
    if (file_there) {
      std::ofstream(world.known_hosts) << "# none yet\n";
    } else {
      std::filesystem::remove(world.known_hosts);
    }
    bool asked = false;
    SshDialer dialer(world.loop, {world.server.address(), "admin",
                                  [&] {
                                    asked = true;
                                    return std::string(kPassword);
                                  },
                                  world.known_hosts});
    world.here.stream = dialer.dial(world.here, seconds(10));
    ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
    EXPECT_FALSE(asked) << "no password for a stranger";
    EXPECT_NE(world.here.error.find("ssh-ed25519 SHA256:"), std::string::npos) << world.here.error;
    EXPECT_NE(world.here.error.find(fmt::format("type: ssh-keyscan -p {} 127.0.0.1 >> {}",
                                                world.server.address().port, world.known_hosts)),
              std::string::npos)
        << world.here.error;
  }
}

TEST(SshStream, AChangedHostKeyIsRefused) {
  SshWorld world;
  world.know(make_key());
  world.dial();
  EXPECT_EQ(world.here.opened, 0);
  EXPECT_NE(world.here.error.find("the host key has changed to ssh-ed25519 SHA256:"),
            std::string::npos)
      << world.here.error;
  EXPECT_NE(world.here.error.find("ssh-keygen -f"), std::string::npos);
}

TEST(SshStream, AServerThatClosesMidWayIsReportedAfterItsBytes) {
  for (const bool abruptly : {false, true}) {
    SshWorld world({.close_after = 5, .drop_abruptly = abruptly});
    world.dial();
    ASSERT_EQ(world.here.opened, 1) << world.here.error;
    world.here.stream->send("0123456789");
    ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
    EXPECT_EQ(world.here.received, "01234");
    EXPECT_EQ(world.here.error.rfind(world.peer() + ": ", 0), 0U) << world.here.error;
    world.here.stream->send("too late");
  }
}

TEST(SshStream, SilenceEndsAtTheDeadline) {
  for (const bool logs_in : {false, true}) {
    SshWorld world({.silent = !logs_in, .no_shell = logs_in});
    world.dial(kPassword, milliseconds(logs_in ? 1500 : 50));
    EXPECT_EQ(world.here.opened, 0);
    EXPECT_EQ(world.here.error,
              world.peer() + (logs_in ? ": no connection within 1.5 s: waited for the shell"
                                      : ": no connection within 50 ms: waited for keys to be "
                                        "exchanged"));
  }
}

TEST(SshStream, AServerThatReadsNothingDoesNotHoldTheLoopUp) {
  SshWorld world({.deaf = true});
  world.dial();
  ASSERT_EQ(world.here.opened, 1) << world.here.error;
  const std::string piece(1U << 20, 'x');
  for (int i = 0; i < 32; ++i) {
    world.here.stream->send(piece);
  }
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_NE(world.here.error.find("more than 16 MiB"), std::string::npos) << world.here.error;
}

TEST(SshStream, NobodyListeningIsRefused) {
  SshWorld world;
  SshDialer dialer(world.loop,
                   {{"127.0.0.1", 1}, "admin", [] { return std::string(); }, world.known_hosts});
  world.here.stream = dialer.dial(world.here, seconds(10));
  ASSERT_TRUE(world.until.run([&] { return world.here.closed == 1; }));
  EXPECT_EQ(world.here.error, "127.0.0.1:1: connection refused");
}

TEST(SshStream, AnOwnerMayDestroyTheStreamInAnyCall) {
  for (const int when : {0, 1, 2}) {
    SshWorld world({.close_after = 5});
    int calls = 0;
    world.here.changed = [&] {
      if (calls++ == when) {
        world.here.stream.reset();
      }
      world.until.changed();
    };
    world.dial();
    if (world.here.stream) {
      world.here.stream->send("01234");
    }
    ASSERT_TRUE(world.until.run([&] { return calls == when + 1; }));
  }
}

TEST(SshStream, CloseSendsWhatIsQueuedAlsoWhenTheStreamIsDestroyed) {
  SshWorld world({.mute = true});
  world.dial();
  ASSERT_EQ(world.here.opened, 1) << world.here.error;
  world.here.stream->send(std::string(200'000, 'x'));
  world.here.stream->close();
  world.here.stream.reset();
  ASSERT_TRUE(world.until.run([&] { return world.server_ended; }));
  EXPECT_EQ(world.server.received(), 200'000U);
}

}  // namespace
}  // namespace mixnet::net
