#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ocs/tl1_lines.h"
#include "ocs/tl1_message.h"

// Cuts what a switch sends into messages. A message starts at a header line that is followed by an
// M line or an autonomous line, and ends at its ";" or ">". Everything else between messages is
// noise: prompts, echoes of commands, banners, telnet negotiation. Prompts never frame anything.
//
// Cutting the stream into other pieces never changes the messages.
namespace mixnet::ocs {

struct DecoderLimits {
  std::size_t line_bytes = std::size_t{16} << 10;
  std::size_t message_bytes = std::size_t{1} << 20;  // one page of an answer
};

struct DecoderCounters {
  uint64_t noise_lines = 0;
  uint64_t protocol_errors = 0;
};

class Tl1Decoder {
 public:
  explicit Tl1Decoder(DecoderLimits limits = {});

  // Takes the next bytes of the stream and appends the messages that they complete.
  void feed(std::string_view bytes, std::vector<Message>& out);

  // Inside a message, that is, waiting for its end?
  bool inside_message() const { return state_ == State::kBody || state_ == State::kResync; }
  const DecoderCounters& counters() const { return counters_; }

 private:
  enum class State {
    kIdle,      // between messages, at a line that may be a header or an acknowledgement
    kHead,      // behind a header, at the line that says whether it was one
    kBody,      // in the text lines of a message
    kSkipLine,  // the rest of this line is noise
    kResync,    // behind a broken message, until a line that is ";" alone
  };
  // What the bytes of a line are inside of; decides whether ";" ends the message.
  enum class Inside { kText, kQuote, kEscape, kSlash, kComment, kStar };
  // What telnet negotiation is being skipped.
  enum class Telnet { kNone, kCommand, kOption, kSub, kSubCommand };

  // The bytes that are text: no NUL, no telnet negotiation.
  std::string text_bytes(std::string_view bytes);
  // Both return how many of the bytes they used; at least one.
  std::size_t feed_line(std::string_view bytes, std::vector<Message>& out);
  std::size_t feed_text(std::string_view bytes, std::vector<Message>& out);
  void step_inside(char c);
  bool keep(std::string_view piece, std::vector<Message>& out);

  bool finish_line(std::string_view piece, std::vector<Message>& out);
  void end_line(std::string_view line, std::vector<Message>& out);
  void end_idle_line(std::string_view line, std::vector<Message>& out);
  void end_head_line(std::string_view line, std::vector<Message>& out);
  void end_body_line(std::string_view line, std::vector<Message>& out);
  void end_message(bool more, std::vector<Message>& out);
  void start_message(Header&& header, MessageHead&& head);
  std::string ctag_under_way() const;
  void reject(std::string message, State next, std::vector<Message>& out);
  void clear_line();

  DecoderLimits limits_;
  DecoderCounters counters_;
  State state_ = State::kIdle;
  Inside inside_ = Inside::kText;
  Telnet telnet_ = Telnet::kNone;
  std::string line_;     // what has come of the line under way
  bool blank_ = true;    // nothing but white space in it so far
  Header header_;        // kHead: of the message that may start here
  MessageHead message_;  // kBody: what is being filled
  std::size_t message_bytes_ = 0;
  // The last text line of the body, when it looks like the header of another message.
  std::optional<Header> header_in_body_;
};

}  // namespace mixnet::ocs
