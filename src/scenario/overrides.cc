#include "scenario/overrides.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "scenario/names.h"
#include "scenario/table_reader.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

constexpr const char* kCommandLine = "--set";

bool typed(const Override& setting) { return setting.place == kCommandLine; }

std::string trimmed_key(const std::string& entry) {
  std::string key = entry.substr(0, entry.find('='));
  key.erase(key.find_last_not_of(' ') + 1);
  return key;
}

// What the nodes of a setting remember as their file.
std::string source_of(const Override& setting) {
  return typed(setting) ? fmt::format("{} {}", kCommandLine, trimmed_key(setting.entry))
                        : setting.place;
}

std::string place_of(const Override& setting) {
  return typed(setting) ? source_of(setting) : at_line(setting.place, setting.line);
}

Error unreadable(const Override& setting) {
  return error_at(typed(setting) ? kCommandLine : place_of(setting),
                  fmt::format("cannot read `{}`: write table.key=value, for example "
                              "cluster.nic_rate=100Gbps",
                              setting.entry));
}

// Follows the dots of the key; what stands behind the equals sign replaces, also a whole table.
// Moves, because a copied node forgets where it came from; a key keeps it too.
void merge(toml::table& into, toml::table&& from) {
  for (auto&& [key, node] : from) {
    toml::table* inner = into.get_as<toml::table>(key.str());
    if (inner != nullptr && node.is_table() && !node.as_table()->is_inline()) {
      merge(*inner, std::move(*node.as_table()));
    } else {
      into.insert_or_assign(key, std::move(node));
    }
  }
}

std::string name_of(const toml::table& fabric) {
  return fabric["label"].value_or(fabric["name"].value_or(std::string()));
}

// `fabric.LABEL.key=value`: into the [[fabric]] that is called so.
Status merge_fabrics(toml::array& fabrics, toml::table&& from, const std::string& place) {
  for (auto&& [label, node] : from) {
    toml::table* found = nullptr;
    std::vector<std::string> names;
    for (toml::node& fabric : fabrics) {
      if (toml::table* table = fabric.as_table(); table != nullptr) {
        names.push_back(name_of(*table));
        found = names.back() == label.str() ? table : found;
      }
    }
    if (found == nullptr) {
      return error_at(place, unknown_name("fabric", label.str(), names));
    }
    if (!node.is_table() || node.as_table()->is_inline()) {
      return error_at(place, fmt::format("`fabric.{0}` is a whole fabric: name the key to set, for "
                                         "example fabric.{0}.label=other",
                                         label.str()));
    }
    merge(*found, std::move(*node.as_table()));
  }
  return Status();
}

// The value as TOML, else as text. Blank lines before it give errors the right line.
Result<toml::table> parsed(const Override& setting, std::size_t equals) {
  const std::string key = std::string(static_cast<std::size_t>(setting.line - 1), '\n') +
                          setting.entry.substr(0, equals);
  const std::string value = setting.entry.substr(equals + 1);
  Result<toml::table> as_toml = parse_toml(fmt::format("{} = {}", key, value), source_of(setting));
  if (as_toml.ok()) {
    return as_toml;
  }
  return parse_toml(fmt::format("{} = '{}'", key, value), source_of(setting));
}

}  // namespace

Status apply_override(toml::table& root, const Override& setting) {
  const std::size_t equals = setting.entry.find('=');
  const bool one_line = setting.entry.find('\n') == std::string::npos;
  if (equals == std::string::npos || equals == 0 || !one_line) {
    return unreadable(setting);
  }
  Result<toml::table> change = parsed(setting, equals);
  if (!change.ok()) {
    return unreadable(setting);
  }
  toml::array* fabrics = root.get_as<toml::array>("fabric");
  toml::table* of_fabrics = change->get_as<toml::table>("fabric");
  if (fabrics != nullptr && of_fabrics != nullptr && !of_fabrics->is_inline()) {
    return merge_fabrics(*fabrics, std::move(*of_fabrics), place_of(setting));
  }
  merge(root, std::move(*change));
  return Status();
}

}  // namespace mixnet::scenario
