#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/program_run.h"
#include "support/temporary_directory.h"

namespace mixnet {
namespace {

using test_support::ProgramRun;
using test_support::read_all;
using test_support::run_program;
using test_support::TemporaryDirectory;
using ::testing::HasSubstr;

// `mixnet ocs emulate` as a child, from its first line of output to SIGTERM.
class Emulator {
 public:
  explicit Emulator(const std::vector<std::string>& options) {
    int pipe_ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(pipe_ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(pipe_ends[1], STDOUT_FILENO);
      ::close(pipe_ends[0]);
      ::close(pipe_ends[1]);
      std::vector<std::string> words = {MIXNET_PROGRAM, "ocs",         "emulate", "--json",
                                        "--tcp",        "127.0.0.1:0", "--ports", "8x8"};
      words.insert(words.end(), options.begin(), options.end());
      std::vector<char*> arguments;
      for (std::string& word : words) {
        arguments.push_back(word.data());
      }
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(pipe_ends[1]);
    std::string line;
    char c = 0;
    while (::read(pipe_ends[0], &c, 1) == 1 && c != '\n') {
      line += c;
    }
    ::close(pipe_ends[0]);
    const auto started = nlohmann::json::parse(line, nullptr, false);
    if (started.is_object()) {
      const std::string address = started["tcp"];
      port_ = std::stoi(address.substr(address.find(':') + 1));
    }
  }
  ~Emulator() {
    if (pid_ > 0) {
      terminate();
    }
  }
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  int port() const { return port_; }
  int terminate() {
    ::kill(pid_, SIGTERM);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    const timeval deadline{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
  }
  ~RawClient() { ::close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // What comes back, up to the ";" or the end.
  std::string ask(const std::string& command) {
    EXPECT_EQ(::send(socket_, command.data(), command.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(command.size()));
    std::string answer;
    char c = 0;
    while (!answer.ends_with(';') && ::read(socket_, &c, 1) == 1) {
      answer += c;
    }
    return answer;
  }
  bool ends() {
    char c = 0;
    return ::read(socket_, &c, 1) == 0;
  }

 private:
  int socket_;
};

ProgramRun run_ocs(const TemporaryDirectory& directory, const std::string& arguments) {
  return run_program(directory, "", "ocs " + arguments);
}

TEST(OcsEmulateCommand, PatchesOverTcp) {
  Emulator emulator({});
  ASSERT_GT(emulator.port(), 0);
  RawClient client(emulator.port());
  EXPECT_THAT(client.ask("ACT-USER::admin:1::root;"), HasSubstr("M  1 COMPLD"));
  EXPECT_THAT(client.ask("ENT-PATCH::1&2,9&10:2:;\r\n"), HasSubstr("M  2 COMPLD"));
  EXPECT_THAT(client.ask("RTRV-PATCH:::3:;"), HasSubstr("\"1,9\"\r\n   \"2,10\""));
  EXPECT_THAT(client.ask("CANC-USER::admin:4:;"), HasSubstr("M  4 COMPLD"));
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(emulator.terminate(), 0);
}

TEST(OcsEmulateCommand, FaultsAndCarriersAreSeenOutside) {
  const TemporaryDirectory directory;
  directory.write("password", "secret\n");
  Emulator emulator({"--control", directory.file("control"), "--sysfs", directory.file("sys"),
                     "--knob", "switch_time=0", "--knob", "relink_time=0", "--nic", "ens1:1:9",
                     "--nic", "ens2:2:10", "--user", "bob:" + directory.file("password") + ":user",
                     "--sid", ""});
  ASSERT_GT(emulator.port(), 0);
  const std::string carrier = directory.file("sys/class/net/ens1/carrier");
  EXPECT_EQ(read_all(carrier), "0\n");
  RawClient client(emulator.port());
  EXPECT_THAT(client.ask("ACT-USER::bob:1::secret;"), HasSubstr("( nil )"));
  client.ask("ENT-PATCH::2,9:2:;");
  EXPECT_EQ(read_all(carrier), "1\n");
  const std::string fault = "fault --control '" + directory.file("control") + "' ";
  EXPECT_EQ(run_ocs(directory, fault + "fibre pull 2").output, "port 2: fibre pulled\n");
  EXPECT_EQ(read_all(carrier), "0\n");
  EXPECT_EQ(run_ocs(directory, fault + "power 2 -30").output, "port 2: power -30\n");
  EXPECT_THAT(run_ocs(directory, fault + "status").output, HasSubstr("  2,9 dark\n"));
  const ProgramRun wrong = run_ocs(directory, fault + "fibre cut 2");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("fibre pull PORT"));
  EXPECT_EQ(emulator.terminate(), 0);
  EXPECT_EQ(run_ocs(directory, fault + "status").exit_code, 1);
}

TEST(OcsEmulateCommand, SaysWhatToTypeInstead) {
  const TemporaryDirectory directory;
  const struct {
    const char* options;
    const char* says;
  } rows[] = {
      {"--ports 48", "48x48"},
      {"--ports 8x8 --knob busy_port=no", "overwrite|deny"},
      {"--ports 8x8 --knob nonsense", "one of busy_port"},
      {"--ports 8x8 --nic ens1:1", "NAME:TX:RX"},
      {"--ports 8x8 --nic ../x:1:9", "NAME:TX:RX"},
      {"--ports 8x8 --nic ens1:9:1", "light enters at TX"},
      {"--ports 8x8 --nic a:1:9 --nic b:1:10", "is taken by a:1:9"},
      {"--user bob", "NAME:FILE"},
      {"--user bob:missing", "missing"},
      {"--user bob:out:king", "admin, user or view"},
      {"--tcp 127.0.0.1", "127.0.0.1"},
  };
  for (const auto& row : rows) {
    const ProgramRun wrong = run_ocs(directory, std::string("emulate ") + row.options);
    EXPECT_EQ(wrong.exit_code, 2) << row.options;
    EXPECT_THAT(wrong.errors, HasSubstr(row.says)) << row.options;
    EXPECT_EQ(wrong.output, "") << row.options;
  }
  EXPECT_THAT(run_ocs(directory, "emulate --help").output, HasSubstr("busy_port"));
  EXPECT_THAT(run_ocs(directory, "fault --help").output, HasSubstr("fibre pull PORT"));
}

}  // namespace
}  // namespace mixnet
