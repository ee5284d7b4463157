#include "scenario/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/check.h"
#include "scenario/names.h"
#include "scenario/sweep_steps.h"
#include "scenario/table_reader.h"
#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

using nlohmann::ordered_json;

constexpr KeySpec kSweepTopKeys[] = {
    {"scenario", "\"../mixtral-8x22b-1024gpu.toml\"", true},
    {"axis", "[[axis]]", true},
    {"label", "\"Optical degree\""},
    {"set", "[\"cluster.nic_rate=100Gbps\"]"},
    {"fabrics", "[\"fat-tree\", \"mixnet\"]"},
};
constexpr KeySpec kAxisKeys[] = {
    {"key", "\"mixnet.alpha\"", true},
    {"values", "[1, 2, 3]"},
    {"from", "\"1us\""},
    {"to", "\"10s\""},
    {"steps", "8"},
    {"scale", "\"log\""},
};

int line_of(const toml::node* node) {
  return node == nullptr ? 1 : std::max(1, static_cast<int>(node->source().begin.line));
}

// A number, text or truth value; nothing for what no scenario key takes.
std::optional<ordered_json> scalar(const toml::node& node) {
  if (node.is_string()) {
    return node.as_string()->get();
  }
  if (node.is_integer()) {
    return node.as_integer()->get();
  }
  if (node.is_floating_point() && std::isfinite(node.as_floating_point()->get())) {
    return node.as_floating_point()->get();
  }
  if (node.is_boolean()) {
    return node.as_boolean()->get();
  }
  return std::nullopt;
}

// A scalar, or an array of tables of scalars: what [[failure]] is set to.
std::optional<ordered_json> value_of(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    return scalar(node);
  }
  ordered_json list = ordered_json::array();
  for (const toml::node& item : *array) {
    const toml::table* table = item.as_table();
    if (table == nullptr) {
      return std::nullopt;
    }
    list.push_back(ordered_json::object());
    for (const auto& [key, node_of_key] : *table) {
      const std::optional<ordered_json> value = scalar(node_of_key);
      if (!value.has_value()) {
        return std::nullopt;
      }
      list.back()[std::string(key.str())] = *value;
    }
  }
  return list;
}

// As TOML. What JSON writes for numbers, text and truth values is TOML too.
std::string toml_text(const ordered_json& value) {
  if (!value.is_array()) {
    return value.dump();
  }
  std::vector<std::string> tables;
  for (const ordered_json& table : value) {
    std::vector<std::string> entries;
    for (const auto& [key, scalar] : table.items()) {
      entries.push_back(ordered_json(key).dump() + " = " + scalar.dump());
    }
    tables.push_back(fmt::format("{{{}}}", fmt::join(entries, ", ")));
  }
  return fmt::format("[{}]", fmt::join(tables, ", "));
}

// What stands for the keys of an axis: one value, or an array of one for each.
std::optional<std::vector<SweepValue>> read_step(const toml::node& node, std::size_t keys,
                                                 bool linked) {
  std::vector<SweepValue> step;
  const auto add = [&](const toml::node& item) {
    const std::optional<ordered_json> value = value_of(item);
    if (value.has_value()) {
      step.push_back({*value, sweep_magnitude(*value)});
    }
    return value.has_value();
  };
  if (!linked) {
    return add(node) ? std::optional(step) : std::nullopt;
  }
  const toml::array* array = node.as_array();
  if (array == nullptr || array->size() != keys) {
    return std::nullopt;
  }
  const bool good = std::all_of(array->begin(), array->end(), add);
  return good ? std::optional(step) : std::nullopt;
}

std::string shape_of_a_step(const SweepAxis& axis, bool linked) {
  return linked ? fmt::format("an array of {} values, one for each key", axis.keys.size())
                : "a number, a text, true, false or an array of tables";
}

// Dots part the keys of tables; what is between them is a TOML key.
bool is_key(const std::string& key) {
  const Result<toml::table> parsed = parse_toml(key + " = 0", "");
  return parsed.ok() && key.find('\n') == std::string::npos && key.find('=') == std::string::npos;
}

void read_keys(TableReader& reader, SweepAxis& axis, bool& linked) {
  const toml::node* node = reader.table().get("key");
  linked = node != nullptr && node->is_array();
  if (linked) {
    reader.read_texts("key", axis.keys);
    if (axis.keys.empty()) {
      reader.problem("key", "`key` names no key: write it like `key = \"mixnet.alpha\"`");
    }
  } else {
    axis.keys.resize(1);
    reader.read_text("key", axis.keys.front());
  }
  for (const std::string& key : axis.keys) {
    if (!key.empty() && !is_key(key)) {
      reader.problem("key",
                     fmt::format("{} is no key: write table.key, for example mixnet.alpha or "
                                 "fabric.mixnet-never.alpha",
                                 excerpt(key)));
    }
  }
}

void read_values(TableReader& reader, SweepAxis& axis, bool linked) {
  const toml::array* values = reader.table().get_as<toml::array>("values");
  if (values == nullptr || values->empty()) {
    reader.problem("values",
                   "`values` must be an array of at least one value: write it like "
                   "`values = [1, 2, 3]`");
    return;
  }
  for (const toml::node& node : *values) {
    std::optional<std::vector<SweepValue>> step = read_step(node, axis.keys.size(), linked);
    if (!step.has_value()) {
      reader.problem("values", fmt::format("value {} of `values` must be {}", axis.steps.size() + 1,
                                           shape_of_a_step(axis, linked)));
      return;
    }
    axis.steps.push_back(*std::move(step));
  }
}

void read_range(TableReader& reader, SweepAxis& axis, bool linked) {
  for (const char* key : {"from", "to", "steps"}) {
    if (!reader.has(key)) {
      reader.problem(
          "", fmt::format("`{}` is missing: give `values`, or `from`, `to` and `steps`", key));
      return;
    }
  }
  int steps = 2;
  reader.read_int("steps", steps, 2, 100'000);
  const auto from = read_step(*reader.table().get("from"), axis.keys.size(), linked);
  const auto to = read_step(*reader.table().get("to"), axis.keys.size(), linked);
  if (!from.has_value() || !to.has_value()) {
    reader.problem(from.has_value() ? "to" : "from",
                   fmt::format("`{}` must be {}", from.has_value() ? "to" : "from",
                               shape_of_a_step(axis, linked)));
    return;
  }
  axis.steps.resize(static_cast<std::size_t>(steps));
  for (std::size_t k = 0; k < axis.keys.size(); ++k) {
    const Result<std::vector<SweepValue>> values =
        sweep_range({(*from)[k].json, (*to)[k].json, steps, axis.log});
    if (!values.ok()) {
      reader.problem("from", values.error().message);
      return;
    }
    for (std::size_t s = 0; s < axis.steps.size(); ++s) {
      axis.steps[s].push_back((*values)[s]);
    }
  }
}

ordered_json step_json(const SweepAxis& axis, const std::vector<SweepValue>& step) {
  ordered_json json = ordered_json::object();
  for (std::size_t k = 0; k < axis.keys.size(); ++k) {
    json[axis.keys[k]] = step[k].json;
  }
  return json;
}

void check_steps(TableReader& reader, const SweepAxis& axis) {
  std::vector<std::string> seen;
  for (const std::vector<SweepValue>& step : axis.steps) {
    seen.push_back(
        step_json(axis, step).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    if (axis.log && !(step.front().magnitude.value_or(0) > 0)) {
      reader.problem("scale", fmt::format("`scale = \"log\"` needs values above 0, found {}",
                                          step.front().json.dump()));
    }
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end());
  if (twice != seen.end()) {
    reader.problem(reader.has("values") ? "values" : "steps",
                   fmt::format("{} comes twice: {}", *twice,
                               reader.has("values") ? "remove one" : "ask for fewer `steps`"));
  }
}

SweepAxis read_axis(const toml::table& table, Problems& problems) {
  TableReader reader(table, "[[axis]]", kAxisKeys, problems);
  SweepAxis axis;
  axis.line = line_of(table.get("key"));
  bool linked = false;
  read_keys(reader, axis, linked);
  reader.read_choice<bool>("scale", axis.log, {{"linear", false}, {"log", true}});
  if (!problems.none()) {
    return axis;
  }
  const bool range = reader.has("from") || reader.has("to") || reader.has("steps");
  if (range && reader.has("values")) {
    reader.problem("values", "give either `values`, or `from`, `to` and `steps`, not both");
  } else if (range) {
    read_range(reader, axis, linked);
  } else {
    read_values(reader, axis, linked);
  }
  if (problems.none()) {
    check_steps(reader, axis);
  }
  return axis;
}

void read_kept_fabrics(TableReader& top, Sweep& sweep) {
  top.read_texts("fabrics", sweep.fabrics);
  sweep.fabrics_line = line_of(top.table().get("fabrics"));
  if (top.has("fabrics") && sweep.fabrics.empty()) {
    top.problem("fabrics",
                "`fabrics` names none: leave it out to keep all of the scenario, or name some, "
                "like `fabrics = [\"fat-tree\", \"mixnet\"]`");
  }
  std::vector<std::string> names = sweep.fabrics;
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    top.problem("fabrics", fmt::format("`fabrics` has `{}` twice: remove one", *twice));
  }
}

// Every key is set once: by one axis, or for all points.
void check_keys(TableReader& top, const Sweep& sweep, Problems& problems) {
  std::vector<std::string> taken;
  for (const SweepAxis& axis : sweep.axes) {
    for (const std::string& key : axis.keys) {
      const auto where = [&] {
        toml::source_region region;
        region.begin.line = static_cast<toml::source_index>(axis.line);
        return region;
      };
      if (std::find(taken.begin(), taken.end(), key) != taken.end()) {
        problems.add(where(), fmt::format("`{}` is swept twice: give every key to one axis", key));
      }
      taken.push_back(key);
    }
  }
  for (const Override& fixed : sweep.fixed) {
    std::string key = fixed.entry.substr(0, fixed.entry.find('='));
    key.erase(key.find_last_not_of(' ') + 1);
    if (std::find(taken.begin(), taken.end(), key) != taken.end()) {
      top.problem("set", fmt::format("`{}` is swept by an axis: remove it from `set`", key));
    }
  }
}

}  // namespace

std::size_t Sweep::points() const {
  std::size_t product = 1;
  for (const SweepAxis& axis : axes) {
    product *= axis.steps.size();
    if (product > kMostSweepPoints) {
      break;  // before it can overflow; read_sweep() refuses it
    }
  }
  return product;
}

Result<Sweep> read_sweep(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  const Result<toml::table> root = parse_toml(*text, path);
  if (!root.ok()) {
    return root.error();
  }
  if (root->contains("model") && !root->contains("axis")) {
    return error_at(path,
                    "this is a scenario: a sweep file names one with `scenario = \"...\"` and "
                    "adds [[axis]] tables; examples/sweeps/ has some");
  }
  Problems problems(path);
  TableReader top(*root, "", kSweepTopKeys, problems);
  Sweep sweep;
  sweep.file = path;
  sweep.label = std::filesystem::path(path).stem().string();
  top.read_text("label", sweep.label);
  top.read_text("scenario", sweep.scenario);
  sweep.scenario =
      (std::filesystem::path(path).parent_path() / sweep.scenario).lexically_normal().string();
  std::vector<std::string> fixed;
  top.read_texts("set", fixed);
  for (std::string& entry : fixed) {
    sweep.fixed.push_back({std::move(entry), path, line_of(root->get("set"))});
  }
  read_kept_fabrics(top, sweep);
  for (const toml::table* table : top.read_tables("axis")) {
    sweep.axes.push_back(read_axis(*table, problems));
  }
  if (sweep.axes.empty()) {
    top.problem("axis", "add at least one [[axis]] with `key = \"mixnet.alpha\"` and `values`");
  }
  if (problems.none()) {
    check_keys(top, sweep, problems);
  }
  if (sweep.points() > kMostSweepPoints) {
    top.problem("axis", fmt::format("the axes span more than {} points: take fewer steps",
                                    kMostSweepPoints));
  }
  if (!problems.none()) {
    return problems.first();
  }
  return sweep;
}

namespace {

// Calls visit(axis, step) for the step of every axis at the point.
template <typename Visit>
void visit_steps(const Sweep& sweep, std::size_t index, Visit visit) {
  CHECK(index < sweep.points(), "a point of the sweep");
  std::size_t below = sweep.points();
  for (const SweepAxis& axis : sweep.axes) {
    below /= axis.steps.size();
    visit(axis, axis.steps[index / below % axis.steps.size()]);
  }
}

// Drops the fabrics that the sweep does not keep.
Status keep_fabrics(const Sweep& sweep, std::vector<FabricSpec>& fabrics) {
  std::vector<std::string> names;
  for (const FabricSpec& fabric : fabrics) {
    names.push_back(fabric.name);
  }
  for (const std::string& wanted : sweep.fabrics) {
    if (std::find(names.begin(), names.end(), wanted) == names.end()) {
      return error_at(at_line(sweep.file, sweep.fabrics_line),
                      unknown_name("fabric", wanted, names));
    }
  }
  const auto dropped = [&](const FabricSpec& fabric) {
    return std::find(sweep.fabrics.begin(), sweep.fabrics.end(), fabric.name) ==
           sweep.fabrics.end();
  };
  if (!sweep.fabrics.empty()) {
    fabrics.erase(std::remove_if(fabrics.begin(), fabrics.end(), dropped), fabrics.end());
  }
  return Status();
}

}  // namespace

ordered_json sweep_point(const Sweep& sweep, std::size_t index) {
  ordered_json point = ordered_json::object();
  visit_steps(sweep, index, [&](const SweepAxis& axis, const std::vector<SweepValue>& step) {
    point.update(step_json(axis, step));
  });
  return point;
}

Result<Scenario> read_sweep_point(const Sweep& sweep, std::size_t index) {
  std::vector<Override> settings = sweep.fixed;
  visit_steps(sweep, index, [&](const SweepAxis& axis, const std::vector<SweepValue>& step) {
    for (std::size_t k = 0; k < axis.keys.size(); ++k) {
      settings.push_back({axis.keys[k] + "=" + toml_text(step[k].json), sweep.file, axis.line});
    }
  });
  Result<Scenario> scenario = read_overridden_scenario(sweep.scenario, settings);
  if (scenario.ok()) {
    if (Status kept = keep_fabrics(sweep, scenario->study.fabrics); !kept.ok()) {
      return kept.error();
    }
  }
  return scenario;
}

}  // namespace mixnet::scenario
