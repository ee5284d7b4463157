#include "scenario/overrides.h"

#include <fmt/format.h>

#include <utility>

#include "scenario/table_reader.h"

namespace mixnet::scenario {
namespace {

constexpr const char* kPlace = "--set";

Error unreadable(const std::string& entry) {
  return error_at(kPlace, fmt::format("cannot read `{}`: write table.key=value, for example "
                                      "cluster.nic_rate=100Gbps",
                                      entry));
}

// Follows the dots of the key; what stands behind the equals sign replaces, also a whole table.
// Moves, because a copied node forgets where it came from.
void merge(toml::table& into, toml::table&& from) {
  for (auto&& [key, node] : from) {
    toml::table* inner = into.get_as<toml::table>(key.str());
    if (inner != nullptr && node.is_table() && !node.as_table()->is_inline()) {
      merge(*inner, std::move(*node.as_table()));
    } else {
      into.insert_or_assign(key.str(), std::move(node));
    }
  }
}

}  // namespace

Status apply_override(toml::table& root, const std::string& entry) {
  const std::size_t equals = entry.find('=');
  const bool one_line = entry.find('\n') == std::string::npos;
  if (equals == std::string::npos || equals == 0 || !one_line) {
    return unreadable(entry);
  }
  const std::string key = entry.substr(0, equals);
  const std::string value = entry.substr(equals + 1);
  Result<toml::table> parsed = parse_toml(fmt::format("{} = {}", key, value), kPlace);
  if (!parsed.ok()) {
    parsed = parse_toml(fmt::format("{} = '{}'", key, value), kPlace);
  }
  if (!parsed.ok()) {
    return unreadable(entry);
  }
  merge(root, std::move(*parsed));
  return Status();
}

}  // namespace mixnet::scenario
