#include "ocs/emulator_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "ocs/tl1_command_parser.h"
#include "ocs/tl1_encoder.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

constexpr std::string_view kWhite = " \t\r\n";
constexpr std::size_t kTidField = 1;
constexpr std::size_t kCtagField = 3;

struct RawField {
  std::string_view text;
  std::size_t offset = 0;
};

// At colons outside quotes.
std::vector<RawField> raw_fields(std::string_view text) {
  std::vector<RawField> fields;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ':' && !quoted)) {
      fields.push_back(RawField{text.substr(start, i - start), start});
      start = i + 1;
    } else if (text[i] == '"') {
      quoted = !quoted;
    }
  }
  return fields;
}

bool is_quoted(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"' &&
         text.find('"', 1) == text.size() - 1;
}

// A CTAG that TL1 allows besides a number: an identifier, or a quoted text.
bool is_named_ctag(std::string_view text) {
  constexpr std::size_t kMostLetters = 6;
  return (is_quoted(text) && text.size() > 2) ||
         (!text.empty() && text.size() <= kMostLetters && is_letter(text.front()) &&
          std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); }));
}

std::string parse_error_at(std::size_t offset) {
  return fmt::format("Parse error at offset {} in command", offset + 1);
}

// The first character of a TID that belongs into none; its size: all are well.
std::size_t bad_tid_character(std::string_view tid) {
  if (is_quoted(tid)) {
    return tid.size();
  }
  const auto* bad = std::ranges::find_if_not(tid, [](char c) {
    return is_letter(c) || is_digit(c) ||
           std::string_view("-_. ").find(c) != std::string_view::npos;
  });
  return static_cast<std::size_t>(bad - tid.begin());
}

// What a client sent comes back in texts: nothing that would break a line, a comment or an escape.
std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\xff';
    const bool ends_comment = c == '/' && !result.empty() && result.back() == '*';
    result += control || ends_comment ? '?' : c;
  }
  return result;
}

// Rewrites what the encoder wrote, line by line, as the knobs want it.
std::string in_dialect(const EmulatorKnobs& knobs, std::string_view strict) {
  constexpr std::string_view kBlanks = "   ";
  const std::string blanks(static_cast<std::size_t>(knobs.leading_blanks), ' ');
  std::string out;
  const auto lines = split(strict, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = trimmed(lines[i]);
    std::string text(line);
    if (lines[i].starts_with(kBlanks)) {
      if (!knobs.quotes && line.starts_with('"')) {
        text = line.substr(1, line.size() - 2);
      }
      text.insert(0, blanks);
    } else if (line.starts_with("M ") && knobs.word_case == WordCase::kLower) {
      std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
    }
    out += text;
    if (i + 1 < lines.size()) {
      // The second of the blank lines in front of a header is a bare LF.
      const bool cr = lines[i].ends_with('\r') && knobs.line_end == LineEnd::kCrLf;
      out += cr ? "\r\n" : "\n";
    }
  }
  return out;
}

}  // namespace

std::variant<ReceivedCommand, UnreadableCommand> read_command(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(kWhite), text.size());
  text.remove_prefix(first);
  text = text.substr(0, text.find_last_not_of(kWhite) + 1);
  if (text.ends_with(';')) {
    text.remove_suffix(1);
  }
  const std::vector<RawField> fields = raw_fields(text);
  if (fields.size() > kTidField) {
    const RawField tid = fields[kTidField];
    if (const std::size_t bad = bad_tid_character(tid.text); bad < tid.text.size()) {
      return UnreadableCommand{"0", "IITA", parse_error_at(tid.offset + bad)};
    }
  }
  ReceivedCommand received;
  std::string parsed_text(text);
  if (fields.size() > kCtagField) {
    const RawField ctag = fields[kCtagField];
    received.ctag = is_quoted(ctag.text) ? ctag.text.substr(1, ctag.text.size() - 2) : ctag.text;
    received.written_blocks = fields.size() - kCtagField - 1;
    if (is_named_ctag(ctag.text)) {
      // The parser of the wire knows only the CTAGs that a controller sends. Blanks keep offsets.
      std::string stand_in(ctag.text.size(), '0');
      stand_in.back() = '1';
      parsed_text.replace(ctag.offset, ctag.text.size(), stand_in);
    }
  }
  Result<Command> command = parse_command(parsed_text);
  if (!command) {
    const bool ctag_is_good = fields.size() > kCtagField && parse_command("A:::" + received.ctag);
    return UnreadableCommand{ctag_is_good ? received.ctag : "0", ctag_is_good ? "IISP" : "IICT",
                             command.error().message};
  }
  received.command = *std::move(command);
  return received;
}

std::string calendar_text(int64_t unix_time, char separator) {
  using std::chrono::seconds;
  const std::chrono::sys_seconds time{seconds(unix_time)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{1:04}{0}{2:02}{0}{3:02}{0}{4:02}{0}{5:02}{0}{6:02}", separator,
                     static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

Header header_at(const EmulatorKnobs& knobs, std::string_view sid, int64_t unix_time) {
  const std::string text = calendar_text(unix_time, ' ');
  const auto parts = split(text, ' ');
  const std::string_view year = parts[0];
  return Header{
      std::string(sid),
      fmt::format("{}-{}-{}", knobs.date == DateStyle::kShort ? year.substr(year.size() - 2) : year,
                  parts[1], parts[2]),
      fmt::format("{}:{}:{}", parts[3], parts[4], parts[5])};
}

std::vector<std::string> write_answer(const EmulatorKnobs& knobs, const Header& header,
                                      const Answer& answer) {
  const std::size_t total = answer.lines.size();
  const std::size_t per_page = knobs.page_lines > 0 ? static_cast<std::size_t>(knobs.page_lines)
                                                    : std::max<std::size_t>(total, 1);
  std::vector<std::string> pages;
  for (std::size_t start = 0; start == 0 || start < total; start += per_page) {
    const bool last = start + per_page >= total;
    Response page;
    page.header = header;
    page.ctag = printable(answer.ctag);
    page.completion = answer.completion;
    page.more = !last && knobs.continuation == Continuation::kMore;
    if (!last && knobs.continuation == Continuation::kRetrieve) {
      page.completion = Completion::kRetrieved;
    }
    page.completion_word = name_of(page.completion);
    for (std::size_t i = start; i < std::min(total, start + per_page); ++i) {
      page.lines.push_back(TextLine{answer.lines[i].kind, printable(answer.lines[i].text)});
    }
    pages.push_back(in_dialect(knobs, encode(page)) + std::string(text_of(knobs.prompt)));
  }
  return pages;
}

std::string write_event(const EmulatorKnobs& knobs, Autonomous message) {
  for (TextLine& line : message.lines) {
    line.text = printable(line.text);
  }
  return in_dialect(knobs, encode(message));
}

std::string write_acknowledgement(const EmulatorKnobs& knobs, const Acknowledgement& message) {
  std::string text = encode(Acknowledgement{message.code, printable(message.ctag)});
  text.pop_back();  // its prompt
  return in_dialect(knobs, text) + std::string(text_of(knobs.acknowledge_end));
}

std::string_view text_of(Prompt prompt) {
  switch (prompt) {
    case Prompt::kNone:
      return "";
    case Prompt::kLess:
      return "<";
    case Prompt::kGreater:
      return ">";
  }
  return "";
}

}  // namespace mixnet::ocs
