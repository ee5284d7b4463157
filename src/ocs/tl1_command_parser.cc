#include "ocs/tl1_command_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <utility>

#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

Error parse_error(std::size_t offset) {
  return Error{fmt::format("Parse error at offset {} in command", offset + 1), ""};
}

struct Field {
  std::string_view text;
  std::size_t offset = 0;  // in the command, from 0
};

// Cuts at separators that are not inside quotes. Fails on quotes that do not end.
Result<std::vector<Field>> cut(Field whole, char separator) {
  std::vector<Field> fields;
  bool quoted = false;
  std::size_t start = 0;
  std::size_t quote = 0;
  for (std::size_t i = 0; i <= whole.text.size(); ++i) {
    if (i == whole.text.size() || (whole.text[i] == separator && !quoted)) {
      fields.push_back(Field{whole.text.substr(start, i - start), whole.offset + start});
      start = i + 1;
    } else if (whole.text[i] == '"') {
      quoted = !quoted;
      quote = i;
    }
  }
  if (quoted) {
    return parse_error(whole.offset + quote);
  }
  return fields;
}

std::string unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

Result<Ctag> parse_ctag(const std::vector<Field>& fields, std::size_t size) {
  if (fields.size() < 4) {
    return parse_error(size);
  }
  const std::string_view text = fields[3].text;
  Ctag ctag;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ctag.value);
  if (error != std::errc() || end != text.data() + text.size() || ctag.value < 1 ||
      ctag.value > Ctag::kMax) {
    return parse_error(fields[3].offset);
  }
  return ctag;
}

std::vector<AidList> parse_aid(std::string_view text) {
  std::vector<AidList> groups;
  if (text.empty()) {
    return groups;
  }
  for (const std::string_view group : split(text, ',')) {
    AidList list;
    const auto parts = split(group, '&');
    for (std::size_t i = 0; i < parts.size(); ++i) {
      // "a&&b" is cut into a, nothing, b.
      if (i > 0 && parts[i].empty() && i + 1 < parts.size()) {
        list.back().last = parts[++i];
      } else {
        list.push_back(AidItem{std::string(parts[i]), ""});
      }
    }
    groups.push_back(std::move(list));
  }
  return groups;
}

Result<ParameterBlock> parse_block(Field field) {
  ParameterBlock block;
  if (field.text.empty()) {
    return block;
  }
  const Result<std::vector<Field>> parts = cut(field, ',');
  if (!parts) {
    return parts.error();
  }
  for (const Field& part : *parts) {
    const std::size_t equals = part.text.find('=');
    if (equals == 0) {
      return parse_error(part.offset);
    }
    if (equals == std::string_view::npos || part.text.front() == '"') {
      block.push_back(Parameter{"", unquoted(part.text)});
    } else {
      block.push_back(Parameter{std::string(part.text.substr(0, equals)),
                                unquoted(part.text.substr(equals + 1))});
    }
  }
  // A lone "" is an empty block.
  if (block.size() == 1 && block[0] == Parameter{}) {
    block.clear();
  }
  return block;
}

}  // namespace

Result<Command> parse_command(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return parse_error(0);
  }
  text = text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
  if (text.back() == ';') {
    text.remove_suffix(1);
  }
  const Result<std::vector<Field>> fields = cut(Field{text, 0}, ':');
  if (!fields) {
    return fields.error();
  }
  const Result<Ctag> ctag = parse_ctag(*fields, text.size());
  if (!ctag) {
    return ctag.error();
  }
  Command command;
  command.verb = (*fields)[0].text;
  command.tid = unquoted((*fields)[1].text);
  command.aid = parse_aid((*fields)[2].text);
  command.ctag = *ctag;
  for (std::size_t i = 4; i < fields->size(); ++i) {
    Result<ParameterBlock> block = parse_block((*fields)[i]);
    if (!block) {
      return block.error();
    }
    command.blocks.push_back(*std::move(block));
  }
  while (!command.blocks.empty() && command.blocks.back().empty()) {
    command.blocks.pop_back();
  }
  return command;
}

}  // namespace mixnet::ocs
