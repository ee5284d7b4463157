#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "ocs/tl1_message.h"

// What one line of a TL1 stream means. Lines come without their LF; stray blanks, tabs and CR, and
// either case of keywords, are accepted.
namespace mixnet::ocs {

// "SID date time". Date and time are taken from the right: a SID may hold blanks, or be missing.
std::optional<Header> parse_header(std::string_view line);

// "IP 5" and its like, with or without a CTAG.
std::optional<Acknowledgement> parse_acknowledgement(std::string_view line);

// The line behind a header: "M  5 COMPLD" or "A  17 REPT EVT". The result has no header and no
// text lines yet; monostate: neither, such as another header.
using MessageHead = std::variant<std::monostate, Response, Autonomous>;
MessageHead parse_message_head(std::string_view line);

// A line of the body, which is not blank. Its quotes are balanced.
TextLine parse_text_line(std::string_view line);

}  // namespace mixnet::ocs
