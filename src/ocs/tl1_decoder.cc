#include "ocs/tl1_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

// Telnet (RFC 854): what may follow the byte "interpret as command".
constexpr char kIac = '\xff';
constexpr char kSubBegin = '\xfa';
constexpr char kSubEnd = '\xf0';
constexpr char kWill = '\xfb';
constexpr char kDont = '\xfe';

// Bytes that may change what the rest of a line is inside of, or end it.
constexpr std::array<bool, 256> kSpecial = [] {
  std::array<bool, 256> special{};
  for (const unsigned char c : {'\n', ';', '>', '"', '\\', '/', '*'}) {
    special[c] = true;
  }
  return special;
}();

std::string_view without_prompt(std::string_view line) {
  while (!line.empty() && (is_white(line.front()) || line.front() == '<' || line.front() == '>')) {
    line.remove_prefix(1);
  }
  return trimmed(line);
}

}  // namespace

Tl1Decoder::Tl1Decoder(DecoderLimits limits) : limits_(limits) {
  CHECK(limits.line_bytes > 0 && limits.message_bytes > 0, "limits of zero accept nothing");
}

void Tl1Decoder::feed(std::string_view bytes, std::vector<Message>& out) {
  std::string filtered;
  if (telnet_ != Telnet::kNone || bytes.find(kIac) != std::string_view::npos ||
      bytes.find('\0') != std::string_view::npos) {
    filtered = text_bytes(bytes);
    bytes = filtered;
  }
  while (!bytes.empty()) {
    const bool terminators = state_ == State::kHead || state_ == State::kBody;
    bytes.remove_prefix(terminators ? feed_text(bytes, out) : feed_line(bytes, out));
  }
}

std::string Tl1Decoder::text_bytes(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    switch (telnet_) {
      case Telnet::kNone:
        if (c == kIac) {
          telnet_ = Telnet::kCommand;
        } else if (c != '\0') {
          text += c;
        }
        break;
      case Telnet::kCommand:
        if (c == kSubBegin) {
          telnet_ = Telnet::kSub;
        } else {
          telnet_ = c >= kWill && c <= kDont ? Telnet::kOption : Telnet::kNone;
        }
        break;
      case Telnet::kOption:
        telnet_ = Telnet::kNone;
        break;
      case Telnet::kSub:
        telnet_ = c == kIac ? Telnet::kSubCommand : Telnet::kSub;
        break;
      case Telnet::kSubCommand:
        telnet_ = c == kSubEnd ? Telnet::kNone : Telnet::kSub;
        break;
    }
  }
  return text;
}

// Between messages only whole lines mean anything.
std::size_t Tl1Decoder::feed_line(std::string_view bytes, std::vector<Message>& out) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) {
    keep(bytes, out);
    return bytes.size();
  }
  return finish_line(bytes.substr(0, end), out) ? end + 1 : end;
}

// In a message ";" ends it without waiting for the end of the line, which may never come.
std::size_t Tl1Decoder::feed_text(std::string_view bytes, std::vector<Message>& out) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool settled =
        inside_ == Inside::kText || inside_ == Inside::kQuote || inside_ == Inside::kComment;
    if (settled) {
      const std::size_t start = i;
      while (i < bytes.size() && !kSpecial[static_cast<unsigned char>(bytes[i])]) {
        ++i;
      }
      blank_ = blank_ && std::ranges::all_of(bytes.substr(start, i - start), is_white);
      if (i == bytes.size()) {
        break;
      }
    }
    const char c = bytes[i];
    const bool in_text = inside_ == Inside::kText || inside_ == Inside::kSlash;
    const bool ends = c == ';' && in_text;
    const bool continues = c == '>' && blank_ && state_ == State::kBody;
    if (c == '\n' || ends || continues) {
      const State before = state_;
      if (!finish_line(bytes.substr(0, i), out)) {
        return i == 0 ? 1 : i;
      }
      if (c != '\n') {
        if (state_ == State::kBody) {
          end_message(continues, out);
        } else if (state_ == State::kResync) {
          state_ = State::kIdle;  // broken, and this was its end
        } else if (before == State::kHead) {
          state_ = State::kSkipLine;  // ";" in a line behind something like a header
        }
      }
      return i + 1;
    }
    step_inside(c);
    blank_ = blank_ && is_white(c);
  }
  keep(bytes, out);
  return bytes.size();
}

void Tl1Decoder::step_inside(char c) {
  switch (inside_) {
    case Inside::kText:
    case Inside::kSlash:
      if (c == '"') {
        inside_ = Inside::kQuote;
      } else if (inside_ == Inside::kSlash && c == '*') {
        inside_ = Inside::kComment;
      } else {
        inside_ = c == '/' ? Inside::kSlash : Inside::kText;
      }
      break;
    case Inside::kQuote:
      inside_ = c == '\\' ? Inside::kEscape : c == '"' ? Inside::kText : Inside::kQuote;
      break;
    case Inside::kEscape:
      // Only \" and \\ are escapes; any other backslash stands for itself, but none of the other
      // bytes matters here.
      inside_ = Inside::kQuote;
      break;
    case Inside::kComment:
    case Inside::kStar:
      if (inside_ == Inside::kStar && c == '/') {
        inside_ = Inside::kText;
      } else {
        inside_ = c == '*' ? Inside::kStar : Inside::kComment;
      }
      break;
  }
}

// Ends the line with `piece`. False when a bound was hit and the line given up.
bool Tl1Decoder::finish_line(std::string_view piece, std::vector<Message>& out) {
  if (line_.empty() && piece.size() <= limits_.line_bytes) {
    end_line(piece, out);  // most lines come whole: no need to collect them
    return true;
  }
  if (!keep(piece, out)) {
    return false;
  }
  end_line(line_, out);
  return true;
}

// Adds to the line under way. False when a bound was hit and the line given up.
bool Tl1Decoder::keep(std::string_view piece, std::vector<Message>& out) {
  if (state_ == State::kSkipLine) {
    return true;
  }
  if (line_.size() + piece.size() <= limits_.line_bytes) {
    line_ += piece;
    return true;
  }
  if (state_ == State::kResync) {
    // Already reported. What is kept of the line is too long to be ";" alone.
    line_.assign(2, '.');
    return true;
  }
  reject(fmt::format("a line longer than {} bytes", limits_.line_bytes),
         state_ == State::kBody ? State::kResync : State::kSkipLine, out);
  // The rest of the line is no new line: it must not look like ";" alone.
  line_ = "..";
  return false;
}

void Tl1Decoder::clear_line() {
  line_.clear();
  blank_ = true;
  inside_ = Inside::kText;
}

void Tl1Decoder::end_line(std::string_view line, std::vector<Message>& out) {
  switch (state_) {
    case State::kIdle:
      end_idle_line(line, out);
      break;
    case State::kHead:
      end_head_line(line, out);
      break;
    case State::kBody:
      end_body_line(line, out);
      break;
    case State::kSkipLine:
      ++counters_.noise_lines;
      state_ = State::kIdle;
      break;
    case State::kResync:
      if (trimmed(line) == ";") {
        state_ = State::kIdle;
      }
      break;
  }
  clear_line();
}

void Tl1Decoder::end_idle_line(std::string_view bytes, std::vector<Message>& out) {
  const std::string_view line = without_prompt(bytes);
  if (line.empty()) {
    return;
  }
  if (auto header = parse_header(line)) {
    header_ = *std::move(header);
    state_ = State::kHead;
  } else if (auto acknowledgement = parse_acknowledgement(line)) {
    out.push_back(*std::move(acknowledgement));
  } else {
    ++counters_.noise_lines;
  }
}

void Tl1Decoder::end_head_line(std::string_view line, std::vector<Message>& out) {
  if (trimmed(line).empty()) {
    return;
  }
  if (auto header = parse_header(line)) {
    ++counters_.noise_lines;
    header_ = *std::move(header);
    return;
  }
  MessageHead head = parse_message_head(line);
  if (std::holds_alternative<std::monostate>(head)) {
    ++counters_.noise_lines;
    state_ = State::kIdle;
    end_idle_line(line, out);
    return;
  }
  start_message(std::move(header_), std::move(head));
}

void Tl1Decoder::start_message(Header&& header, MessageHead&& head) {
  message_ = std::move(head);
  if (auto* response = std::get_if<Response>(&message_)) {
    response->header = std::move(header);
  } else {
    std::get<Autonomous>(message_).header = std::move(header);
  }
  message_bytes_ = 0;
  header_in_body_.reset();
  state_ = State::kBody;
}

void Tl1Decoder::end_body_line(std::string_view line, std::vector<Message>& out) {
  if (inside_ == Inside::kQuote || inside_ == Inside::kEscape) {
    reject("a text line whose quotes do not end", State::kResync, out);
    return;
  }
  if (trimmed(line).empty()) {
    return;
  }
  message_bytes_ += line.size();
  if (message_bytes_ > limits_.message_bytes) {
    reject(fmt::format("a message longer than {} bytes", limits_.message_bytes), State::kResync,
           out);
    return;
  }
  if (header_in_body_) {
    MessageHead head = parse_message_head(line);
    if (!std::holds_alternative<std::monostate>(head)) {
      Header header = *std::move(header_in_body_);
      reject("a message without its \";\": another one starts in the middle", State::kBody, out);
      start_message(std::move(header), std::move(head));
      return;
    }
  }
  TextLine text = parse_text_line(line);
  header_in_body_ = text.kind == TextLine::Kind::kPlain ? parse_header(text.text) : std::nullopt;
  if (auto* response = std::get_if<Response>(&message_)) {
    response->lines.push_back(std::move(text));
  } else {
    std::get<Autonomous>(message_).lines.push_back(std::move(text));
  }
}

void Tl1Decoder::end_message(bool more, std::vector<Message>& out) {
  if (auto* response = std::get_if<Response>(&message_)) {
    response->more = more;
    out.push_back(std::move(*response));
  } else {
    out.push_back(std::move(std::get<Autonomous>(message_)));
  }
  message_ = std::monostate();
  state_ = State::kIdle;
}

std::string Tl1Decoder::ctag_under_way() const {
  const auto* response = std::get_if<Response>(&message_);
  return response == nullptr ? std::string() : response->ctag;
}

void Tl1Decoder::reject(std::string message, State next, std::vector<Message>& out) {
  ++counters_.protocol_errors;
  out.push_back(ProtocolError{std::move(message), ctag_under_way()});
  message_ = std::monostate();
  state_ = next;
}

}  // namespace mixnet::ocs
