#include "scenario/flow_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

namespace mixnet::scenario {
namespace {

constexpr int64_t kMaxHosts = int64_t{1} << 20;
constexpr int64_t kMaxFlows = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxBytes = int64_t{1} << 53;             // sizes stay exact in a double
constexpr int64_t kMaxStartPs = 1'000'000'000'000'000'000;  // 11.5 days

// Words of one line, without its comment.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line.substr(0, line.find('#'))) {}

  // The next word; empty at the end of the line.
  std::string_view next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

// A whole number in [low, high], nothing else around it.
bool read_number(std::string_view word, int64_t low, int64_t high, int64_t& value) {
  const char* end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data(), end, value);
  return code == std::errc() && stop == end && value >= low && value <= high;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<FlowSet> parse() {
    while (!text_.empty()) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      ++line_;
      Status status = parse_line(Words(text_.substr(0, end)));
      if (!status) {
        return status.error();
      }
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (hosts_ < 0 || connections_ < 0) {
      return fail(fmt::format("the file ends before the line '{}'",
                              hosts_ < 0 ? "Nodes N" : "Connections C"));
    }
    if (static_cast<int64_t>(set_.flows.size()) != connections_) {
      return fail(
          fmt::format("the file ends after {} flows, but the header says Connections {}: "
                      "it may be cut off, or correct the header",
                      set_.flows.size(), connections_));
    }
    set_.hosts = static_cast<int32_t>(hosts_);
    return std::move(set_);
  }

 private:
  Error fail(std::string message) const {
    return error_at(fmt::format("{}:{}", name_, std::max<int64_t>(line_, 1)), std::move(message));
  }

  Status parse_line(Words words) {
    const std::string_view first = words.next();
    if (first.empty()) {
      return Status();
    }
    if (first == "Nodes") {
      return parse_header("Nodes", words, kMaxHosts, hosts_);
    }
    if (first == "Connections") {
      return parse_header("Connections", words, kMaxFlows, connections_);
    }
    if (first == "Triggers" || first == "Failures") {
      return words.next() == "0" ? Status() : unsupported(first);
    }
    if (first == "trigger" || first == "failure") {
      return unsupported(first);
    }
    return parse_flow(first, words);
  }

  Status unsupported(std::string_view what) const {
    return fail(
        fmt::format("'{}' is not supported: flows have id, start and size only; remove it", what));
  }

  Status parse_header(const char* key, Words& words, int64_t most, int64_t& value) {
    if (value >= 0) {
      return fail(fmt::format("'{}' is given twice", key));
    }
    const std::string_view word = words.next();
    if (!read_number(word, 1, most, value) || !words.next().empty()) {
      return fail(fmt::format("'{} {}': write one whole number from 1 to {}", key, word, most));
    }
    return Status();
  }

  Status parse_flow(std::string_view ends, Words& words) {
    if (hosts_ < 0 || connections_ < 0) {
      return fail(
          fmt::format("'{}': the file begins with the lines 'Nodes N' and 'Connections C'", ends));
    }
    Flow flow;
    if (Status status = parse_ends(ends, flow); !status) {
      return status;
    }
    int64_t id = -1;
    int64_t start = -1;
    int64_t size = -1;
    for (std::string_view key = words.next(); !key.empty(); key = words.next()) {
      Status status;
      if (key == "id") {
        status = parse_field(key, words.next(), connections_, id);
      } else if (key == "start") {
        status = parse_field(key, words.next(), kMaxStartPs, start);
      } else if (key == "size") {
        status = parse_field(key, words.next(), kMaxBytes, size);
      } else {
        status = unsupported(key);
      }
      if (!status) {
        return status;
      }
    }
    if (id < 0 || start < 0 || size < 0) {
      return fail(fmt::format("'{}' has no {}: write '{} id I start PS size BYTES'", ends,
                              id < 0 ? "id" : (start < 0 ? "start" : "size"), ends));
    }
    flow.start = SimTime::from_ps(start);
    flow.size = Bytes(size);
    return add(flow, id);
  }

  // "src->dst"
  Status parse_ends(std::string_view word, Flow& flow) const {
    const std::size_t arrow = word.find("->");
    int64_t source = -1;
    int64_t destination = -1;
    constexpr int64_t any_host = std::numeric_limits<int64_t>::max();
    if (arrow == std::string_view::npos ||
        !read_number(word.substr(0, arrow), 0, any_host, source) ||
        !read_number(word.substr(arrow + 2), 0, any_host, destination)) {
      return fail(
          fmt::format("'{}' is not understood: write 'SRC->DST id I start PS size BYTES'", word));
    }
    if (source >= hosts_ || destination >= hosts_) {
      return fail(fmt::format("'{}': hosts are numbered from 0 to {} (Nodes {})", word, hosts_ - 1,
                              hosts_));
    }
    if (source == destination) {
      return fail(fmt::format("'{}': a host does not send to itself", word));
    }
    flow.source = static_cast<int32_t>(source);
    flow.destination = static_cast<int32_t>(destination);
    return Status();
  }

  Status parse_field(std::string_view key, std::string_view word, int64_t most,
                     int64_t& value) const {
    if (value >= 0) {
      return fail(fmt::format("'{}' is given twice", key));
    }
    const int64_t least = key == "start" ? 0 : 1;
    if (!read_number(word, least, most, value)) {
      return fail(fmt::format(
          "'{} {}': write a whole number{} from {} to {}", key, word,
          key == "start" ? " of picoseconds" : (key == "size" ? " of bytes" : ""), least, most));
    }
    return Status();
  }

  Status add(const Flow& flow, int64_t id) {
    if (static_cast<int64_t>(set_.flows.size()) == connections_) {
      return fail(fmt::format("more flows than the header says (Connections {})", connections_));
    }
    const auto index = static_cast<std::size_t>(id);
    if (index >= id_seen_.size()) {
      id_seen_.resize(std::max(index + 1, 2 * id_seen_.size()), false);
    }
    if (id_seen_[index]) {
      return fail(fmt::format("'id {}' is given to two flows", id));
    }
    id_seen_[index] = true;
    set_.flows.push_back(flow);
    return Status();
  }

  std::string_view text_;
  const std::string& name_;
  int64_t line_ = 0;
  int64_t hosts_ = -1;
  int64_t connections_ = -1;
  std::vector<bool> id_seen_;
  FlowSet set_;
};

}  // namespace

Result<FlowSet> parse_flows(std::string_view text, const std::string& name) {
  return Parser(text, name).parse();
}

Result<FlowSet> read_flow_file(const std::string& path) {
  const auto close = [](std::FILE* f) { std::fclose(f); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  std::string text;
  std::size_t got = 0;
  while (file != nullptr) {
    constexpr std::size_t block = std::size_t{1} << 20;
    text.resize(got + block);
    const std::size_t n = std::fread(text.data() + got, 1, block, file.get());
    got += n;
    if (n < block) {
      break;
    }
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return error_at(path, fmt::format("cannot read the flow file: {}", std::strerror(errno)));
  }
  text.resize(got);
  return parse_flows(text, path);
}

std::string flow_text(const FlowSet& set) {
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "Nodes {}\nConnections {}\n", set.hosts, set.flows.size());
  std::size_t id = 0;
  for (const Flow& flow : set.flows) {
    fmt::format_to(to, "{}->{} id {} start {} size {}\n", flow.source, flow.destination, ++id,
                   flow.start.ps(), flow.size.count());
  }
  return fmt::to_string(out);
}

}  // namespace mixnet::scenario
