#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/result.h"
#include "ocs/secret.h"
#include "ocs/tl1_message.h"

// Messages to bytes: commands as the controller sends them, answers as a switch does.
namespace mixnet::ocs {

inline constexpr std::size_t kMaxCommandBytes = 8192;
inline constexpr std::size_t kMaxTidBytes = 20;

// The command with its ";". Errors, and then nothing may be sent: what would delete every patch
// (DLT-PATCH without ports or with ALL), restart the switch (INIT-SYS) or set its clock (ED-DAT);
// a character that no switch is known to take inside a value (quote, backslash, ";", control); a
// CTAG outside 1 to 999999; more than kMaxCommandBytes.
Result<std::string> encode(const Command& command);

struct Login {
  std::string tid;
  std::string user;
  Secret password;
};

// ACT-USER with its password. The bytes are for the switch alone: log describe_login() instead.
Result<std::string> encode_login(const Login& login, Ctag ctag);
std::string describe_login(const Login& login, Ctag ctag);

// CHECK: the parts hold no line ends.
std::string encode(const Acknowledgement& acknowledgement);
std::string encode(const Response& response);
std::string encode(const Autonomous& message);

std::string_view name_of(AckCode code);
std::string_view name_of(Completion completion);

}  // namespace mixnet::ocs
