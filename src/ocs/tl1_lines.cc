#include "ocs/tl1_lines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

// Matches digits for 'd' and everything else literally.
bool has_shape(std::string_view text, std::string_view shape) {
  return std::equal(text.begin(), text.end(), shape.begin(), shape.end(),
                    [](char c, char s) { return s == 'd' ? is_digit(c) : c == s; });
}

// Cuts the last word off `text`.
std::string_view take_last_word(std::string_view& text) {
  text = trimmed(text);
  std::size_t start = text.size();
  while (start > 0 && !is_white(text[start - 1])) {
    --start;
  }
  const std::string_view word = text.substr(start);
  text = text.substr(0, start);
  return word;
}

Completion completion_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, Completion>, 5> kWords = {
      {{"COMPLD", Completion::kCompleted},
       {"DENY", Completion::kDenied},
       {"PRTL", Completion::kPartial},
       {"DELAY", Completion::kDelayed},
       {"RTRV", Completion::kRetrieved}}};
  for (const auto& [text, completion] : kWords) {
    if (equal_ignoring_case(word, text)) {
      return completion;
    }
  }
  return Completion::kOther;
}

// The word at the start of `text`, or a quoted string with its quotes; cut off from `text`.
std::string_view take_ctag(std::string_view& text) {
  text = trimmed(text);
  std::size_t end = word_length(text);
  if (!text.empty() && text.front() == '"') {
    const std::size_t quote = text.find('"', 1);
    end = quote == std::string_view::npos ? text.size() : quote + 1;
  }
  const std::string_view ctag = text.substr(0, end);
  text.remove_prefix(ctag.size());
  return ctag;
}

std::optional<Response> parse_response_head(std::string_view line) {
  if (!equal_ignoring_case(line.substr(0, word_length(line)), "M")) {
    return std::nullopt;
  }
  line.remove_prefix(1);
  Response response;
  response.ctag = take_ctag(line);
  if (response.ctag.empty()) {
    return std::nullopt;
  }
  response.completion_word = trimmed(line);
  response.completion = completion_of(response.completion_word);
  return response;
}

std::optional<uint32_t> parse_atag(std::string_view word) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<Autonomous> parse_autonomous_head(std::string_view line) {
  std::vector<std::string_view> parts = words(line, line.size() + 1);
  Autonomous message;
  const auto is_code = [](char c) { return is_letter(c) || c == '*'; };
  if (!parts.empty() && parts[0].size() <= 2 && std::ranges::all_of(parts[0], is_code)) {
    message.alarm_code = parts[0];
    parts.erase(parts.begin());
  }
  const auto atag = parts.empty() ? std::nullopt : parse_atag(parts[0]);
  if (!atag || parts.size() < 2 || !std::ranges::all_of(parts[1], is_letter)) {
    return std::nullopt;
  }
  message.atag = *atag;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    message.verb += (i > 1 ? " " : "");
    message.verb += parts[i];
  }
  return message;
}

// The content of a line that is one quoted string, without escapes; nullopt when it is not.
std::optional<std::string> quoted_content(std::string_view line) {
  if (line.find('"', 1) + 1 == line.size() && line.find('\\') == std::string_view::npos) {
    return std::string(line.substr(1, line.size() - 2));  // nearly every line of a table
  }
  std::string content;
  for (std::size_t i = 1; i < line.size(); ++i) {
    if (line[i] == '"') {
      return i + 1 == line.size() ? std::optional(std::move(content)) : std::nullopt;
    }
    if (line[i] == '\\' && i + 1 < line.size() && (line[i + 1] == '"' || line[i + 1] == '\\')) {
      ++i;
    }
    content += line[i];
  }
  return std::nullopt;
}

}  // namespace

std::optional<Header> parse_header(std::string_view line) {
  const std::string_view time = take_last_word(line);
  if (!has_shape(time, "dd:dd:dd")) {
    return std::nullopt;
  }
  const std::string_view date = take_last_word(line);
  if (!has_shape(date, "dd-dd-dd") && !has_shape(date, "dddd-dd-dd")) {
    return std::nullopt;
  }
  Header header{"", std::string(date), std::string(time)};
  // A prompt in front of the header belongs to no SID.
  const std::size_t sid = line.find_first_not_of("<> \t\r");
  header.sid = sid == std::string_view::npos ? std::string_view() : trimmed(line.substr(sid));
  if (equal_ignoring_case(header.sid, "( nil )") || equal_ignoring_case(header.sid, "(nil)")) {
    header.sid.clear();
  }
  return header;
}

std::optional<Acknowledgement> parse_acknowledgement(std::string_view line) {
  constexpr std::array<std::pair<std::string_view, AckCode>, 6> kCodes = {
      {{"IP", AckCode::kInProgress},
       {"PF", AckCode::kPrintoutFollows},
       {"OK", AckCode::kAllRight},
       {"NA", AckCode::kNoAck},
       {"NG", AckCode::kNoGood},
       {"RL", AckCode::kRepeatLater}}};
  const auto parts = words(line, 3);
  if (parts.empty() || parts.size() > 2) {
    return std::nullopt;
  }
  for (const auto& [text, code] : kCodes) {
    if (equal_ignoring_case(parts[0], text)) {
      return Acknowledgement{code, parts.size() == 2 ? std::string(parts[1]) : std::string()};
    }
  }
  return std::nullopt;
}

MessageHead parse_message_head(std::string_view line) {
  line = trimmed(line);
  // The SID of a switch may be "M".
  if (parse_header(line)) {
    return std::monostate();
  }
  if (auto response = parse_response_head(line)) {
    return *std::move(response);
  }
  if (auto message = parse_autonomous_head(line)) {
    return *std::move(message);
  }
  return std::monostate();
}

TextLine parse_text_line(std::string_view line) {
  line = trimmed(line);
  if (line.substr(0, 1) == "\"") {
    if (auto content = quoted_content(line)) {
      return TextLine{TextLine::Kind::kQuoted, *std::move(content)};
    }
  }
  if (line.substr(0, 2) == "/*") {
    const std::size_t end = line.find("*/", 2);
    if (end == std::string_view::npos || end + 2 == line.size()) {
      const std::string_view content =
          line.substr(2, end == std::string_view::npos ? end : end - 2);
      return TextLine{TextLine::Kind::kComment, std::string(trimmed(content))};
    }
  }
  return TextLine{TextLine::Kind::kPlain, std::string(line)};
}

}  // namespace mixnet::ocs
