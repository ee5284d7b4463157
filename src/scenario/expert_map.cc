#include "scenario/expert_map.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

using Json = nlohmann::json;

constexpr const char* kForm = R"({"layers": [{"phy2log": [0, 1, ...]}, ...]})";

Result<std::vector<int>> slots_of(const Json& layer, std::size_t number, int experts,
                                  const std::string& file) {
  const Json none;
  const Json& list = layer.is_object() && layer.contains("phy2log") ? layer["phy2log"] : none;
  if (!list.is_array() || list.empty()) {
    return error_at(file, fmt::format("layer {} has no `phy2log`, the experts of its slots: the "
                                      "file must read {}",
                                      number, kForm));
  }
  std::vector<int> slots;
  slots.reserve(list.size());
  for (std::size_t s = 0; s < list.size(); ++s) {
    const Json& entry = list[s];
    const bool fits = entry.is_number_unsigned()
                          ? entry.get<uint64_t>() < static_cast<uint64_t>(experts)
                          : entry.is_number_integer() && entry.get<int64_t>() == -1;
    if (!fits) {
      return error_at(file, fmt::format("layer {}: `phy2log` entry {} must be an expert from 0 to "
                                        "{}, or -1 for an empty slot, found {}",
                                        number, s, experts - 1, excerpt(entry.dump())));
    }
    slots.push_back(entry.get<int>());
  }
  return slots;
}

}  // namespace

Result<std::vector<std::vector<int>>> parse_expert_map(std::string_view text, int experts,
                                                       const std::string& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    return error_at(file, fmt::format("not valid JSON: {}", error.what()));
  }
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_array() ||
      json["layers"].empty()) {
    return error_at(file, fmt::format("no `layers`: the file must read {}", kForm));
  }
  std::vector<std::vector<int>> map;
  for (const Json& layer : json["layers"]) {
    Result<std::vector<int>> slots = slots_of(layer, map.size(), experts, file);
    if (!slots.ok()) {
      return slots.error();
    }
    if (!map.empty() && slots->size() != map.front().size()) {
      return error_at(file, fmt::format("layer {} has {} slots and layer 0 has {}: fill the "
                                        "shorter ones with -1",
                                        map.size(), slots->size(), map.front().size()));
    }
    map.push_back(std::move(slots).value());
  }
  return map;
}

Result<std::vector<std::vector<int>>> read_expert_map(const std::string& path, int experts) {
  const Result<std::string> text = read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  return parse_expert_map(*text, experts, path);
}

}  // namespace mixnet::scenario
