#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// TL1 (Transaction Language 1, GR-831) as optical circuit switches speak it. Vocabulary:
//
//   command      ENT-PATCH:[TID]:1&2,49&50:5:;        controller to switch
//                verb      target  access id  ctag : parameter blocks
//   CTAG         correlation tag, chosen by the controller, repeated in every answer
//   TID, SID     name of the switch in a command and in the header of a message
//   AID          what a command is about: ports, lists a&b, ranges a&&b, groups after a comma
//   acknowledgement   "IP 5" CR LF "<"; no header, no M line, and not the answer
//   response     header line, "M  5 COMPLD", text lines, then ";" (end) or ">" (more follows)
//   autonomous message   header line, "A  17 REPT EVT", text lines, ";"; not asked for
//   ATAG         sequence number of autonomous messages: a gap means that some were lost
//
// A message, <> marking CR LF:
//
//   <>                                        (blank lines)
//      PolatisOXC 26-10-25 12:00:00<>         header: SID, date, time
//   M  5 COMPLD<>
//      "1,49"<>                               quoted text
//      /* a remark */<>                       comment
//   ;
namespace mixnet::ocs {

// A correlation tag of ours: 1 to 999999, printed in decimal without leading zeros.
struct Ctag {
  static constexpr int32_t kMax = 999'999;
  int32_t value = 0;  // 0: none
  auto operator<=>(const Ctag&) const = default;
};

// Autonomous messages are numbered up to this, then from 1 again; some switches begin with 0.
inline constexpr uint32_t kLastAtag = 65'535;

// One element of an AID list: a word or a port, or the range first&&last.
struct AidItem {
  std::string first;
  std::string last;  // empty: no range
  auto operator<=>(const AidItem&) const = default;
};
using AidList = std::vector<AidItem>;

// One positional value (key empty) or KEY=VALUE. Never a password: see encode_login().
struct Parameter {
  std::string key;
  std::string value;
  auto operator<=>(const Parameter&) const = default;
};
using ParameterBlock = std::vector<Parameter>;

struct Command {
  std::string verb;  // with its modifiers: "RTRV-PORT-POWER"
  std::string tid;   // empty: whoever is at the other end
  std::vector<AidList> aid;
  Ctag ctag;
  // The general block is the first one. Trailing empty blocks are not sent.
  std::vector<ParameterBlock> blocks;
  auto operator<=>(const Command&) const = default;
};

struct Header {
  std::string sid;   // empty for "( nil )"; may contain blanks
  std::string date;  // YY-MM-DD or YYYY-MM-DD, as received
  std::string time;  // HH:MM:SS
  auto operator<=>(const Header&) const = default;
};

enum class AckCode { kInProgress, kPrintoutFollows, kAllRight, kNoAck, kNoGood, kRepeatLater };

struct Acknowledgement {
  AckCode code = AckCode::kInProgress;
  std::string ctag;  // empty: the switch named none
  auto operator<=>(const Acknowledgement&) const = default;
};

struct TextLine {
  enum class Kind { kQuoted, kPlain, kComment };
  Kind kind = Kind::kQuoted;
  std::string text;  // without quotes and escapes, without /* */
  auto operator<=>(const TextLine&) const = default;
};

enum class Completion {
  kCompleted,  // COMPLD
  kDenied,     // DENY
  kPartial,    // PRTL: part of it was executed
  kDelayed,    // DELAY: accepted, executed later
  kRetrieved,  // RTRV: an intermediate page
  kOther,      // no word that TL1 knows
};

struct Response {
  Header header;
  std::string ctag;  // as received, even when it is none of ours
  Completion completion = Completion::kCompleted;
  std::string completion_word;  // as received
  std::vector<TextLine> lines;
  bool more = false;  // ended by ">": another page with this CTAG follows
  auto operator<=>(const Response&) const = default;
};

struct Autonomous {
  Header header;
  std::string alarm_code;  // "*C", "**", "*", "A", ...; some switches leave it blank
  uint32_t atag = 0;
  std::string verb;  // "REPT EVT", one blank between the words
  std::vector<TextLine> lines;
  auto operator<=>(const Autonomous&) const = default;
};

// Bytes that are no message. Decoding goes on behind them.
struct ProtocolError {
  std::string message;  // what is wrong; quotes nothing of what was received
  std::string ctag;     // of the response that was lost; empty: none, or not known
  auto operator<=>(const ProtocolError&) const = default;
};

using Message = std::variant<Acknowledgement, Response, Autonomous, ProtocolError>;

}  // namespace mixnet::ocs
