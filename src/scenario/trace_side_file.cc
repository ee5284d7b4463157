#include "scenario/trace_side_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <nlohmann/json.hpp>
#include <optional>

#include "scenario/text_file.h"

namespace mixnet::scenario {
namespace {

using nlohmann::json;

struct SideFile {
  TraceInfo info;
  std::optional<TraceShape> shape;
};

// Stores one entry; returns what is wrong with it, or nothing.
std::string store(SideFile& file, const std::string& key, const json& value) {
  std::string* text = nullptr;
  if (key == "model") {
    text = &file.info.model;
  } else if (key == "source_kind") {
    text = &file.info.source_kind;
  } else if (key == "iteration_kind") {
    text = &file.info.iteration_kind;
  } else if (key == "origin") {
    text = &file.info.origin;
  }
  if (text != nullptr) {
    if (!value.is_string()) {
      return "must be a text";
    }
    *text = value.get<std::string>();
    return "";
  }
  if (key == "top_k") {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > INT_MAX) {
      return "must be an integer of at least 0 (0 = unknown)";
    }
    file.info.top_k = value.get<int>();
    return "";
  }
  if (key == "shape") {
    TraceShape shape{};
    if (!value.is_array() || value.size() != shape.size()) {
      return "must be four integers";
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!value[i].is_number_unsigned() || value[i].get<uint64_t>() > INT64_MAX) {
        return "must be four integers";
      }
      shape[i] = value[i].get<int64_t>();
    }
    file.shape = shape;
    return "";
  }
  return "is unknown; known are model, top_k, source_kind, iteration_kind, origin and shape";
}

Result<SideFile> parse(std::string_view text, const std::string& name) {
  json object;
  try {
    object = json::parse(text.begin(), text.end());
  } catch (const json::exception& problem) {
    return error_at(name,
                    fmt::format("the side file of the trace is not JSON: {}", problem.what()));
  }
  if (!object.is_object()) {
    return error_at(name, "the side file of the trace must hold one JSON object");
  }
  SideFile file;
  for (const auto& [key, value] : object.items()) {
    const std::string problem = store(file, key, value);
    if (!problem.empty()) {
      return error_at(name, fmt::format("key {} {}", excerpt(key), problem));
    }
  }
  return file;
}

}  // namespace

std::string side_file_path(const std::string& trace_path) {
  constexpr std::string_view suffix = ".npy";
  const std::string stem = trace_path.ends_with(suffix)
                               ? trace_path.substr(0, trace_path.size() - suffix.size())
                               : trace_path;
  return stem + ".json";
}

std::string format_side_file(const TraceInfo& info, const TraceShape& shape) {
  nlohmann::ordered_json object;
  object["model"] = info.model;
  object["top_k"] = info.top_k;
  object["source_kind"] = info.source_kind;
  object["iteration_kind"] = info.iteration_kind;
  object["origin"] = info.origin;
  object["shape"] = shape;
  // Names come from command lines and files, so they need not be UTF-8.
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<TraceInfo> parse_side_file(std::string_view text, const TraceShape& shape,
                                  const std::string& name) {
  Result<SideFile> file = parse(text, name);
  if (!file) {
    return file.error();
  }
  if (file->shape && *file->shape != shape) {
    return error_at(name, fmt::format("the side file belongs to an array of {}, the trace has {}; "
                                      "correct its \"shape\" if the rest still holds, or delete it",
                                      fmt::join(*file->shape, " x "), fmt::join(shape, " x ")));
  }
  if (file->info.top_k > shape[3]) {
    return error_at(name, fmt::format("key \"top_k\" is {}, and the trace has {} experts: correct "
                                      "it, or give 0 if it is unknown",
                                      file->info.top_k, shape[3]));
  }
  return std::move(file->info);
}

Result<TraceInfo> read_side_file(const std::string& path, const TraceShape& shape) {
  if (::access(path.c_str(), F_OK) != 0) {
    return TraceInfo{};
  }
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    return text.error();
  }
  return parse_side_file(*text, shape, path);
}

Status check_replaceable(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return Status();  // a device or a pipe loses nothing
  }
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    return text.error();
  }
  if (!parse(*text, path)) {
    return error_at(path,
                    "the trace's side file would overwrite this file, which is not a side "
                    "file; give the trace another name");
  }
  return Status();
}

}  // namespace mixnet::scenario
