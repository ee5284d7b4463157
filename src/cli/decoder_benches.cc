#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench.h"
#include "cli/process_usage.h"
#include "core/check.h"
#include "ocs/tl1_decoder.h"

namespace mixnet::cli {
namespace {

constexpr double kTargetBytesPerS = 100e6;
constexpr std::size_t kTotalBytes = std::size_t{128} << 20;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;  // as a socket hands them over
constexpr int kPorts = 640;

constexpr std::string_view kHeader = "\r\n   PolatisOXC 26-10-25 12:00:00\r\n";

// The powers of all ports of a switch, one line each.
std::string power_answer() {
  std::string text = fmt::format("{}M  7 COMPLD\r\n", kHeader);
  for (int port = 1; port <= kPorts; ++port) {
    text += fmt::format("   \"{}:{:.2f}\"\r\n", port, -2.0 - 0.01 * port);
  }
  return text + ";\r\n";
}

// What a session sees while it switches: acknowledgements, short answers, events, a table.
std::string mixed_stream() {
  std::string text;
  for (int i = 1; i <= 64; ++i) {
    text += fmt::format("IP {}\r\n<", i);
    text += fmt::format("{}A  {} REPT EVT PATCH\r\n   \"{},{}:\\\"moved\\\"\"\r\n;", kHeader, i, i,
                        i + 64);
    text += fmt::format("{}M  {} COMPLD\r\n   /* done */\r\n;", kHeader, i);
    text += fmt::format("{}M  {} DENY\r\n   IICT\r\n   \"Invalid port\"\r\n;", kHeader, i);
  }
  return text + power_answer();
}

BenchFigure decode(const std::string& text) {
  std::vector<ocs::Message> messages;
  uint64_t decoded = 0;
  uint64_t bytes = 0;
  ocs::Tl1Decoder decoder;
  const double before_s = process_usage().cpu_s;
  while (bytes < kTotalBytes) {
    for (std::size_t at = 0; at < text.size(); at += kReadBytes) {
      decoder.feed(std::string_view(text).substr(at, kReadBytes), messages);
    }
    decoded += messages.size();
    messages.clear();
    bytes += text.size();
  }
  BenchFigure figure;
  figure.cpu_s = process_usage().cpu_s - before_s;
  CHECK(decoder.counters().protocol_errors == 0 && decoded > 0, "the text is good TL1");
  const auto size = static_cast<double>(bytes);
  figure.reference_cpu_s = size / kTargetBytesPerS;
  figure.against = "target of 100 MB/s";
  figure.details = {{"bytes", bytes},
                    {"messages", decoded},
                    {"bytes_per_cpu_s", size / std::max(figure.cpu_s, 1e-9)}};
  return figure;
}

}  // namespace

std::vector<BenchCase> decoder_benches() {
  return {
      {"tl1-decode-power", "TL1 decoder, powers of 640 ports in one answer",
       [] { return decode(power_answer()); }},
      {"tl1-decode-mixed", "TL1 decoder, acknowledgements, events, answers and a table",
       [] { return decode(mixed_stream()); }},
  };
}

}  // namespace mixnet::cli
