#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ocs/emulator_knobs.h"
#include "ocs/tl1_message.h"

// Between the emulated switch and its bytes: commands as it reads them, answers in the dialect that
// the knobs ask for.
namespace mixnet::ocs {

struct ReceivedCommand {
  Command command;  // its CTAG stands for `ctag`
  // As received: a number, an identifier or a quoted text, without the quotes.
  std::string ctag;
  // Behind the CTAG, empty ones too: "1::;" has two, "1;" none.
  std::size_t written_blocks = 0;
};
struct UnreadableCommand {
  std::string ctag;  // "0": not known
  std::string code;
  std::string text;
};
std::variant<ReceivedCommand, UnreadableCommand> read_command(std::string_view text);

// "YYYY,MM,DD,HH,MM,SS" of a Unix time in seconds, joined by `separator`.
std::string calendar_text(int64_t unix_time, char separator);
Header header_at(const EmulatorKnobs& knobs, std::string_view sid, int64_t unix_time);

struct Answer {
  std::string ctag;
  Completion completion = Completion::kCompleted;
  std::vector<TextLine> lines;
};
// One string per page, at least one.
std::vector<std::string> write_answer(const EmulatorKnobs& knobs, const Header& header,
                                      const Answer& answer);
std::string write_event(const EmulatorKnobs& knobs, Autonomous message);
std::string write_acknowledgement(const EmulatorKnobs& knobs, const Acknowledgement& message);

// "<", ">" or nothing.
std::string_view text_of(Prompt prompt);

}  // namespace mixnet::ocs
