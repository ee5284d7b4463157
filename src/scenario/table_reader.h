#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/units.h"

// Strict reading of a TOML file. Problems stick: the first one is kept with its line, and what is
// read afterwards keeps its default, so that a reader is a list of fields without branches.
namespace mixnet::scenario {

// Parses `text`; errors (syntax, UTF-8, duplicate keys, integers beyond 64 bits) name the line.
Result<toml::table> parse_toml(std::string_view text, const std::string& file);

// The first problem of one file.
class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(const toml::source_region& where, std::string message);
  bool none() const { return !first_.has_value(); }
  const Error& first() const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  std::optional<Error> first_;
};

// One key of a table: what may be written, with an example that error messages show.
struct KeySpec {
  const char* name;
  const char* example;  // as in the file, text in quotes
  bool required = false;
};

// Reads one table. Unknown keys and missing required ones are reported at construction.
class TableReader {
 public:
  // `title` is how the table is written, "[cluster]" or "[[fabric]]"; "" is the top of the file.
  // The table, the keys and the problems outlive the reader.
  TableReader(const toml::table& table, std::string title, std::span<const KeySpec> keys,
              Problems& problems);

  bool has(std::string_view key) const { return table_.contains(key); }
  const toml::table& table() const { return table_; }
  const std::string& title() const { return title_; }

  // Each leaves `value` as it is when the key is absent and reports a wrong type or range.
  void read_int(std::string_view key, int& value, int64_t least, int64_t most);
  void read_int64(std::string_view key, int64_t& value, int64_t least, int64_t most);
  void read_number(std::string_view key, double& value, double least, double most);
  void read_bool(std::string_view key, bool& value);
  void read_text(std::string_view key, std::string& value);
  void read_texts(std::string_view key, std::vector<std::string>& value);
  void read_rate(std::string_view key, BitRate& value);
  void read_time(std::string_view key, SimTime& value);
  void read_time(std::string_view key, std::optional<SimTime>& value);
  void read_bytes(std::string_view key, Bytes& value);
  // One of the names; `names` and `values` run in parallel.
  template <typename E>
  void read_choice(std::string_view key, E& value,
                   const std::vector<std::pair<std::string, E>>& choices) {
    std::vector<std::string> names;
    names.reserve(choices.size());
    for (const auto& choice : choices) {
      names.push_back(choice.first);
    }
    const std::optional<std::size_t> index = choice_index(key, names);
    if (index.has_value()) {
      value = choices[*index].second;
    }
  }
  // The sub-table, or nothing if it is absent.
  const toml::table* read_table(std::string_view key);
  // The tables of a [[key]] array; empty if it is absent.
  std::vector<const toml::table*> read_tables(std::string_view key);

  // Reports a problem at the line of `key`, or of the table if the key is not written.
  void problem(std::string_view key, std::string message);

 private:
  std::string example_of(std::string_view key) const;
  std::optional<std::size_t> choice_index(std::string_view key,
                                          const std::vector<std::string>& names);
  void wrong_type(std::string_view key, std::string_view wanted, const toml::node& found);
  const toml::node* find(std::string_view key);
  void check_keys();

  const toml::table& table_;
  std::string title_;
  std::span<const KeySpec> keys_;
  Problems& problems_;
};

}  // namespace mixnet::scenario
