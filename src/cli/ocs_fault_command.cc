#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "net/asio_loop.h"
#include "net/unix_stream.h"
#include "ocs/emulated_switch.h"

namespace mixnet::cli {
namespace {

constexpr std::string_view kErrorMark = "error: ";
constexpr std::string_view kEnd = "\n\n";
constexpr auto kDeadline = std::chrono::seconds(5);

struct FaultOptions {
  std::string control;
  std::vector<std::string> words;
};

// One line to the control socket, one answer back.
class FaultCall final : public net::StreamEvents {
 public:
  FaultCall(net::AsioLoop& loop, const std::string& path, std::string line)
      : loop_(loop), path_(path), line_(std::move(line)), dialer_(loop, path) {
    stream_ = dialer_.dial(*this, kDeadline);
    loop_.call_at(loop_.now() + kDeadline, [this] {
      fail(Error{fmt::format("no answer within {} s", kDeadline.count()), path_});
    });
  }

  void on_open() override { stream_->send(line_ + "\n"); }
  void on_bytes(std::string_view bytes) override {
    answer_ += bytes;
    if (answer_.ends_with(kEnd)) {
      answer_.resize(answer_.size() - kEnd.size());
      loop_.stop();
    }
  }
  void on_closed(const Error& why) override { fail(why); }

  const std::optional<Error>& failure() const { return failure_; }
  const std::string& answer() const { return answer_; }

 private:
  void fail(const Error& why) {
    failure_ = why;
    loop_.stop();
  }

  net::AsioLoop& loop_;
  std::string path_;
  std::string line_;
  net::UnixDialer dialer_;
  std::unique_ptr<net::Stream> stream_;
  std::string answer_;
  std::optional<Error> failure_;
};

int run_fault(const FaultOptions& options) {
  std::string line;
  for (const std::string& word : options.words) {
    line += (line.empty() ? "" : " ") + word;
  }
  if (line.find('\n') != std::string::npos) {
    return report_usage_error(Error{"a fault is one line: leave the line end out", ""});
  }
  net::AsioLoop loop;
  FaultCall call(loop, options.control, line);
  loop.run();
  if (call.failure()) {
    return report_failure(*call.failure());
  }
  if (call.answer().starts_with(kErrorMark)) {
    return report_usage_error(Error{call.answer().substr(kErrorMark.size()), ""});
  }
  print_text(call.answer() + "\n");
  return kExitOk;
}

}  // namespace

void add_ocs_fault_command(CLI::App& ocs, Outcome& outcome) {
  auto options = std::make_shared<FaultOptions>();
  CLI::App* command = ocs.add_subcommand("fault", "break an emulated switch, or mend it");
  command->add_option("--control", options->control, "the socket given to `mixnet ocs emulate`")
      ->required();
  command->add_option("FAULT", options->words, "what is to happen, one of those below")->required();
  command->prefix_command();
  command->footer("Example: mixnet ocs fault --control /tmp/ocs.sock fibre pull 3\n\nFaults:\n" +
                  ocs::describe_faults());
  command->callback([options, &outcome] { outcome.exit_code = run_fault(*options); });
}

}  // namespace mixnet::cli
