#include "ocs/tl1_encoder.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

bool is_plain(char c) {
  return is_letter(c) || is_digit(c) || std::string_view("-._/+").find(c) != std::string_view::npos;
}

bool all_plain(std::string_view text) { return std::ranges::all_of(text, is_plain); }

// `text`, in quotes when it needs them.
Status append_value(std::string& out, std::string_view what, std::string_view text) {
  const auto is_bad = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\xff' || c == '"' ||
           c == '\\' || c == ';';
  };
  if (std::ranges::any_of(text, is_bad)) {
    // Never the text itself: it may be a password.
    return Error{fmt::format("{} holds a quote, a backslash, a \";\" or a control character, which "
                             "switches read differently: use other characters",
                             what),
                 ""};
  }
  const bool quote = !all_plain(text);
  out += quote ? "\"" : "";
  out += text;
  out += quote ? "\"" : "";
  return Status();
}

Status append_tid(std::string& out, std::string_view tid) {
  if (tid.size() > kMaxTidBytes) {
    return Error{
        fmt::format("TID \"{}\" has {} characters, at most {}", tid, tid.size(), kMaxTidBytes), ""};
  }
  return append_value(out, "the TID", tid);
}

Status append_ctag(std::string& out, Ctag ctag) {
  if (ctag.value < 1 || ctag.value > Ctag::kMax) {
    return Error{fmt::format("CTAG {} is outside 1 to {}", ctag.value, Ctag::kMax), ""};
  }
  out += fmt::format("{}", ctag.value);
  return Status();
}

Status append_aid(std::string& out, const std::vector<AidList>& aid) {
  for (std::size_t group = 0; group < aid.size(); ++group) {
    out += group > 0 ? "," : "";
    if (aid[group].empty()) {
      return Error{"an AID list is empty", ""};
    }
    for (std::size_t i = 0; i < aid[group].size(); ++i) {
      const AidItem& item = aid[group][i];
      if (item.first.empty() || !all_plain(item.first) || !all_plain(item.last)) {
        return Error{fmt::format("AID \"{}\" is not made of letters, digits and -._/+",
                                 item.first + (item.last.empty() ? "" : "&&") + item.last),
                     ""};
      }
      out += (i > 0 ? "&" : "") + item.first + (item.last.empty() ? "" : "&&") + item.last;
    }
  }
  return Status();
}

Status append_block(std::string& out, const ParameterBlock& block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Parameter& parameter = block[i];
    if (parameter.key.empty() != block[0].key.empty()) {
      return Error{"a block mixes positional and named parameters", ""};
    }
    out += i > 0 ? "," : "";
    if (!parameter.key.empty()) {
      if (!all_plain(parameter.key)) {
        return Error{fmt::format("parameter name \"{}\" is not plain text", parameter.key), ""};
      }
      out += parameter.key + "=";
    }
    if (Status status = append_value(out, "a parameter", parameter.value); !status) {
      return status;
    }
  }
  return Status();
}

// What a controller must never do to a switch that carries traffic.
Status allowed(const Command& command) {
  const std::string_view verb = command.verb;
  if (verb.empty() ||
      !std::ranges::all_of(verb, [](char c) { return is_letter(c) || is_digit(c) || c == '-'; })) {
    return Error{fmt::format("\"{}\" is no TL1 verb", verb), ""};
  }
  if (equal_ignoring_case(verb, "INIT-SYS") || equal_ignoring_case(verb, "ED-DAT")) {
    return Error{fmt::format("{} is never sent: it restarts the switch or sets its clock", verb),
                 ""};
  }
  if (equal_ignoring_case(verb, "DLT-PATCH")) {
    const auto is_number = [](const std::string& s) {
      return !s.empty() && std::ranges::all_of(s, is_digit);
    };
    bool ports = !command.aid.empty();
    for (const AidList& list : command.aid) {
      ports = ports && std::ranges::all_of(list, [&](const AidItem& item) {
                return is_number(item.first) && item.last.empty();
              });
    }
    if (!ports) {
      return Error{"DLT-PATCH is only sent with every port named: without ports it deletes all",
                   ""};
    }
  }
  return Status();
}

void check_one_line(std::string_view text) {
  CHECK(text.find('\n') == std::string_view::npos, "a part of a line holds a line end");
}

void append_header(std::string& out, const Header& header) {
  check_one_line(header.sid);
  out += fmt::format("\r\n\n   {} {} {}\r\n", header.sid.empty() ? "( nil )" : header.sid,
                     header.date, header.time);
}

void append_lines(std::string& out, const std::vector<TextLine>& lines) {
  for (const TextLine& line : lines) {
    check_one_line(line.text);
    switch (line.kind) {
      case TextLine::Kind::kQuoted:
        out += "   \"";
        for (const char c : line.text) {
          out += c == '"' || c == '\\' ? "\\" : "";
          out += c;
        }
        out += "\"\r\n";
        break;
      case TextLine::Kind::kPlain:
        out += fmt::format("   {}\r\n", line.text);
        break;
      case TextLine::Kind::kComment:
        out += fmt::format("   /* {} */\r\n", line.text);
        break;
    }
  }
}

}  // namespace

Result<std::string> encode(const Command& command) {
  if (Status status = allowed(command); !status) {
    return status.error();
  }
  std::string out = command.verb + ":";
  if (Status status = append_tid(out, command.tid); !status) {
    return status.error();
  }
  out += ":";
  if (Status status = append_aid(out, command.aid); !status) {
    return status.error();
  }
  out += ":";
  if (Status status = append_ctag(out, command.ctag); !status) {
    return status.error();
  }
  out += ":";
  std::size_t blocks = command.blocks.size();
  while (blocks > 0 && command.blocks[blocks - 1].empty()) {
    --blocks;
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    out += i > 0 ? ":" : "";
    if (Status status = append_block(out, command.blocks[i]); !status) {
      return status.error();
    }
  }
  out += ";";
  if (out.size() > kMaxCommandBytes) {
    return Error{fmt::format("{} takes {} bytes, at most {}: name fewer ports", command.verb,
                             out.size(), kMaxCommandBytes),
                 ""};
  }
  return out;
}

Result<std::string> encode_login(const Login& login, Ctag ctag) {
  std::string out = "ACT-USER:";
  if (Status status = append_tid(out, login.tid); !status) {
    return status.error();
  }
  out += ":";
  if (login.user.empty()) {
    return Error{"the user name is empty", ""};
  }
  if (Status status = append_value(out, "the user name", login.user); !status) {
    return status.error();
  }
  out += ":";
  if (Status status = append_ctag(out, ctag); !status) {
    return status.error();
  }
  // A user without a password logs in without the block.
  out += login.password.reveal().empty() ? ":" : "::";
  if (Status status = append_value(out, "the password", login.password.reveal()); !status) {
    return status.error();
  }
  out += ";";
  return out;
}

std::string describe_login(const Login& login, Ctag ctag) {
  return fmt::format("ACT-USER:{}:{}:{}::***;", login.tid, login.user, ctag.value);
}

std::string encode(const Acknowledgement& acknowledgement) {
  check_one_line(acknowledgement.ctag);
  return fmt::format("{}{}{}\r\n<", name_of(acknowledgement.code),
                     acknowledgement.ctag.empty() ? "" : " ", acknowledgement.ctag);
}

std::string encode(const Response& response) {
  check_one_line(response.ctag);
  check_one_line(response.completion_word);
  std::string out;
  append_header(out, response.header);
  out += fmt::format("M  {} {}\r\n", response.ctag, response.completion_word);
  append_lines(out, response.lines);
  out += response.more ? ">" : ";";
  return out;
}

std::string encode(const Autonomous& message) {
  check_one_line(message.verb);
  std::string out;
  append_header(out, message.header);
  out += fmt::format("{:<2} {} {}\r\n", message.alarm_code, message.atag, message.verb);
  append_lines(out, message.lines);
  out += ";";
  return out;
}

std::string_view name_of(AckCode code) {
  switch (code) {
    case AckCode::kInProgress:
      return "IP";
    case AckCode::kPrintoutFollows:
      return "PF";
    case AckCode::kAllRight:
      return "OK";
    case AckCode::kNoAck:
      return "NA";
    case AckCode::kNoGood:
      return "NG";
    case AckCode::kRepeatLater:
      return "RL";
  }
  return "";
}

std::string_view name_of(Completion completion) {
  switch (completion) {
    case Completion::kCompleted:
      return "COMPLD";
    case Completion::kDenied:
      return "DENY";
    case Completion::kPartial:
      return "PRTL";
    case Completion::kDelayed:
      return "DELAY";
    case Completion::kRetrieved:
      return "RTRV";
    case Completion::kOther:
      return "";
  }
  return "";
}

}  // namespace mixnet::ocs
