#include "scenario/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenario/names.h"
#include "scenario/units_text.h"

namespace mixnet::scenario {
namespace {

// An example is a value, or the header of a table.
std::string example_text(const KeySpec& spec) {
  const std::string_view example = spec.example;
  const bool header = example.size() > 1 && example[0] == '[' && example[1] != '"';
  return header ? fmt::format("{}", example) : fmt::format("`{} = {}`", spec.name, example);
}

std::string place(const std::string& file, const toml::source_region& where) {
  const bool lines = where.begin.line != 0 && !file.starts_with("--");  // an option has none
  return lines ? fmt::format("{}:{}", file, where.begin.line) : file;
}

const char* type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return node.is_array_of_tables() ? "an array of tables" : "an array";
    case toml::node_type::string:
      return "text";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a decimal number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& file) {
  // The parser recurses once per part of a dotted key.
  constexpr std::size_t kMostDots = 256;
  std::size_t dots = 0;
  std::size_t line = 1;
  for (const char c : text) {
    dots = c == '\n' ? 0 : dots + (c == '.' ? 1 : 0);
    line += c == '\n' ? 1 : 0;
    if (dots > kMostDots) {
      return error_at(fmt::format("{}:{}", file, line),
                      fmt::format("more than {} dots in one line: this is no scenario", kMostDots));
    }
  }
  try {
    return toml::parse(text, std::string_view(file));
  } catch (const toml::parse_error& error) {
    return error_at(place(file, error.source()),
                    fmt::format("not valid TOML: {}", error.description()));
  }
}

void Problems::add(const toml::source_region& where, std::string message) {
  if (!first_.has_value()) {
    // A node that did not come from the file (an override) knows where it did come from.
    first_ = error_at(place(where.path ? *where.path : file_, where), std::move(message));
  }
}

const Error& Problems::first() const {
  CHECK(first_.has_value(), "first() without a problem");
  return *first_;
}

TableReader::TableReader(const toml::table& table, std::string title, std::span<const KeySpec> keys,
                         Problems& problems)
    : table_(table), title_(std::move(title)), keys_(keys), problems_(problems) {
  check_keys();
}

void TableReader::check_keys() {
  std::vector<std::string> known;
  for (const KeySpec& spec : keys_) {
    known.push_back(spec.name);
  }
  const std::string at = title_.empty() ? "at the top of the file" : "in " + title_;
  for (const auto& [key, node] : table_) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
      const std::string what = node.is_table() || node.is_array_of_tables() ? "table" : "key";
      problems_.add(key.source(), unknown_name(what, key.str(), known) + " (" + at + ")");
    }
  }
  for (const KeySpec& spec : keys_) {
    if (spec.required && !has(spec.name)) {
      problems_.add(table_.source(),
                    fmt::format("`{}` is missing: add {} {}", spec.name, example_text(spec), at));
    }
  }
}

std::string TableReader::example_of(std::string_view key) const {
  for (const KeySpec& spec : keys_) {
    if (key == spec.name) {
      return example_text(spec);
    }
  }
  CHECK(false, "a key is read that the table does not declare");
}

const toml::node* TableReader::find(std::string_view key) {
  CHECK(!example_of(key).empty(), "every key has an example");
  return table_.get(key);
}

void TableReader::problem(std::string_view key, std::string message) {
  const toml::node* node = table_.get(key);
  problems_.add(node == nullptr ? table_.source() : node->source(), std::move(message));
}

void TableReader::wrong_type(std::string_view key, std::string_view wanted,
                             const toml::node& found) {
  problems_.add(found.source(), fmt::format("`{}` must be {}, found {}: write it like {}", key,
                                            wanted, type_name(found), example_of(key)));
}

void TableReader::read_int64(std::string_view key, int64_t& value, int64_t least, int64_t most) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  const auto* integer = node->as_integer();
  if (integer == nullptr) {
    wrong_type(key, "a whole number", *node);
    return;
  }
  if (integer->get() < least || integer->get() > most) {
    problem(key, fmt::format("`{}` must be between {} and {}, found {}", key, least, most,
                             integer->get()));
    return;
  }
  value = integer->get();
}

void TableReader::read_int(std::string_view key, int& value, int64_t least, int64_t most) {
  CHECK(most <= INT32_MAX && least >= INT32_MIN, "the range of an int");
  int64_t wide = value;
  read_int64(key, wide, least, most);
  value = static_cast<int>(wide);
}

void TableReader::read_number(std::string_view key, double& value, double least, double most) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  const std::optional<double> number = node->is_number() ? node->value<double>() : std::nullopt;
  if (!number.has_value()) {
    wrong_type(key, "a number", *node);
    return;
  }
  if (!std::isfinite(*number) || *number < least || *number > most) {
    problem(key,
            fmt::format("`{}` must be between {} and {}, found {}", key, least, most, *number));
    return;
  }
  value = *number;
}

void TableReader::read_bool(std::string_view key, bool& value) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  if (!node->is_boolean()) {
    wrong_type(key, "true or false", *node);
    return;
  }
  value = node->as_boolean()->get();
}

void TableReader::read_text(std::string_view key, std::string& value) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  if (!node->is_string()) {
    wrong_type(key, "text in quotes", *node);
    return;
  }
  value = node->as_string()->get();
  if (value.empty()) {
    problem(key, fmt::format("`{}` is empty: write it like {}", key, example_of(key)));
  }
}

void TableReader::read_texts(std::string_view key, std::vector<std::string>& value) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return;
  }
  const toml::array* array = node->as_array();
  if (array == nullptr || (!array->empty() && !array->is_homogeneous(toml::node_type::string))) {
    wrong_type(key, "an array of texts", *node);
    return;
  }
  value.clear();
  for (const toml::node& item : *array) {
    value.push_back(item.as_string()->get());
  }
}

void TableReader::read_rate(std::string_view key, BitRate& value) {
  std::string text;
  read_text(key, text);
  if (text.empty()) {
    return;
  }
  const Result<BitRate> rate = parse_rate(text);
  if (!rate.ok()) {
    problem(key, fmt::format("`{}`: {}", key, rate.error().message));
    return;
  }
  value = *rate;
}

void TableReader::read_time(std::string_view key, std::optional<SimTime>& value) {
  std::string text;
  read_text(key, text);
  if (text.empty()) {
    return;
  }
  const Result<SimTime> time = parse_time(text);
  if (!time.ok()) {
    problem(key, fmt::format("`{}`: {}", key, time.error().message));
    return;
  }
  // A day is beyond anything that is re-wired or computed here, and sums of many stay in range.
  if (*time > SimTime::from_seconds(86400)) {
    problem(key, fmt::format("`{}` must be at most 86400s, found {}", key, text));
    return;
  }
  value = *time;
}

void TableReader::read_time(std::string_view key, SimTime& value) {
  std::optional<SimTime> time;
  read_time(key, time);
  value = time.value_or(value);
}

void TableReader::read_bytes(std::string_view key, Bytes& value) {
  std::string text;
  read_text(key, text);
  if (text.empty()) {
    return;
  }
  const Result<Bytes> bytes = parse_bytes(text);
  if (!bytes.ok()) {
    problem(key, fmt::format("`{}`: {}", key, bytes.error().message));
    return;
  }
  value = *bytes;
}

std::optional<std::size_t> TableReader::choice_index(std::string_view key,
                                                     const std::vector<std::string>& names) {
  std::string text;
  read_text(key, text);
  if (text.empty()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text == names[i]) {
      return i;
    }
  }
  problem(key, fmt::format("`{}` must be {}, found `{}`", key, quoted_list(names), text));
  return std::nullopt;
}

const toml::table* TableReader::read_table(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return nullptr;
  }
  if (!node->is_table()) {
    wrong_type(key, "a table", *node);
  }
  return node->as_table();
}

std::vector<const toml::table*> TableReader::read_tables(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) {
    return {};
  }
  if (!node->is_array_of_tables()) {
    problems_.add(node->source(), fmt::format("`{}` must be written as [[{}]], once for each, "
                                              "found {}",
                                              key, key, type_name(*node)));
    return {};
  }
  std::vector<const toml::table*> tables;
  for (const toml::node& item : *node->as_array()) {
    tables.push_back(item.as_table());
  }
  return tables;
}

}  // namespace mixnet::scenario
