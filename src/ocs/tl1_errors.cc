#include "ocs/tl1_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

constexpr auto kMeanings = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"ENEQ", "not equipped"},
    {"IBEX", "a parameter block too many"},
    {"IBMS", "a parameter block is missing"},
    {"ICNV", "command not valid"},
    {"IDNV", "data not valid"},
    {"IDRG", "data out of range"},
    {"IIAC", "access id not valid"},
    {"IICM", "command not valid"},
    {"IICT", "correlation tag not valid"},
    {"IIPG", "parameter grouping not valid"},
    {"IISP", "syntax error"},
    {"IITA", "target id not valid"},
    {"INUP", "unimplemented parameter"},
    {"IPEX", "a parameter too many"},
    {"IPMS", "a parameter is missing"},
    {"IPNV", "parameter not valid"},
    {"ISCH", "character not valid"},
    {"ISPC", "punctuation error"},
    {"MERR", "several errors"},
    {"PICC", "login failed or permission denied"},
    {"PIUC", "user code not valid"},
    {"PIUI", "user identity not valid"},
    {"PLNA", "login not active"},
    {"SARB", "all resources busy"},
    {"SDBE", "database error"},
    {"SDNC", "data not consistent"},
    {"SDNR", "data not ready"},
    {"SNVS", "not in a valid state"},
    {"SRCN", "user not in the needed group"},
    {"SROF", "requested operation failed"},
    {"SROU", "requested operation unnecessary"},
    {"SSRE", "system resources exceeded"},
    {"SSTP", "stopped: a value was not accepted"},
    {"SWFA", "working unit failed"},
});

bool is_code(std::string_view text) {
  return text.size() == 4 && std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

}  // namespace

bool Denial::has(std::string_view code) const {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::string Denial::describe() const {
  std::string out;
  for (const std::string& code : codes) {
    const std::string_view meaning = meaning_of(code);
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", code,
                       meaning.empty() ? "unknown code" : meaning);
  }
  if (out.empty()) {
    out = "no error code";
  }
  return text.empty() ? out : out + ": " + text;
}

Denial parse_denial(const std::vector<TextLine>& lines) {
  Denial denial;
  for (const TextLine& line : lines) {
    if (line.kind == TextLine::Kind::kPlain && is_code(line.text)) {
      denial.codes.push_back(line.text);
    } else {
      denial.text += (denial.text.empty() ? "" : "; ") + line.text;
    }
  }
  return denial;
}

ErrorClass class_of(std::string_view code) {
  switch (code.empty() ? ' ' : code.front()) {
    case 'I':
      return ErrorClass::kInput;
    case 'P':
      return ErrorClass::kPrivilege;
    case 'S':
      return ErrorClass::kStatus;
    case 'E':
      return ErrorClass::kEquipment;
    default:
      return ErrorClass::kOther;
  }
}

bool is_worth_repeating(std::string_view code) {
  return code == "SARB" || code == "SSRE" || code == "SDNR";
}

bool is_worth_repeating(const Denial& denial) {
  return denial.has("PLNA") || contains_ignoring_case(denial.text, "not logged in") ||
         std::any_of(denial.codes.begin(), denial.codes.end(),
                     [](const std::string& code) { return is_worth_repeating(code); });
}

std::string_view meaning_of(std::string_view code) {
  const auto found =
      std::ranges::find(kMeanings, code, [](const auto& entry) { return entry.first; });
  return found == kMeanings.end() ? std::string_view() : found->second;
}

}  // namespace mixnet::ocs
