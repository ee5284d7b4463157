#include "cli/sweep_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/comparison_json.h"
#include "report/sweep_html.h"
#include "scenario/text_file.h"

namespace mixnet::cli {
namespace {

using nlohmann::ordered_json;

// The figures of a fabric that the report draws.
ordered_json figures(const ordered_json& fabric) {
  ordered_json figures;
  for (const char* key : {"name", "iteration_s", "all_to_all_s", "exposed_switching_s", "cost_usd",
                          "perf_per_dollar", "bound_s"}) {
    figures[key] = fabric.value(key, ordered_json());
  }
  return figures;
}

// A value as the report writes it: tables without their keys, `nic 0 optical, server 9`.
ordered_json label_of(const ordered_json& value) {
  if (!value.is_array()) {
    return value;
  }
  std::string text;
  for (const ordered_json& table : value) {
    text += text.empty() ? "" : ",";
    for (const ordered_json& cell : table) {
      text +=
          (text.empty() ? "" : " ") + (cell.is_string() ? cell.get<std::string>() : cell.dump());
    }
  }
  return text.empty() ? "none" : text;
}

ordered_json axis_json(const scenario::SweepAxis& axis) {
  ordered_json json;
  json["keys"] = axis.keys;
  json["log"] = axis.log;
  json["values"] = ordered_json::array();
  json["magnitudes"] = ordered_json::array();
  for (const std::vector<scenario::SweepValue>& step : axis.steps) {
    json["values"].push_back(label_of(step.front().json));
    json["magnitudes"].push_back(nullptr);
    if (step.front().magnitude.has_value()) {
      json["magnitudes"].back() = *step.front().magnitude;
    }
  }
  return json;
}

bool is_time(const ordered_json& fabric, const char* key) {
  return fabric.contains(key) && fabric[key].is_number() && fabric[key].get<double>() >= 0;
}

// Whether the line holds the figures of this very point, as a sweep writes them.
bool is_result_of(const std::string& text, const SweepPoint& point) {
  const ordered_json line = ordered_json::parse(text, nullptr, false);
  if (line.is_discarded() || !line.contains("point") || line["point"] != point.point) {
    return false;
  }
  if (line.contains("error")) {
    return true;
  }
  const ordered_json& fabrics = line["fabrics"];
  return fabrics.is_array() && !fabrics.empty() &&
         std::all_of(fabrics.begin(), fabrics.end(), [](const ordered_json& fabric) {
           return fabric.is_object() && fabric.contains("name") && fabric["name"].is_string() &&
                  is_time(fabric, "iteration_s");
         });
}

}  // namespace

SweepCollector::SweepCollector(const std::vector<SweepPoint>& points)
    : points_(points), slots_(points.size()) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    index_.emplace_back(points[i].id, i);
  }
  std::sort(index_.begin(), index_.end());
}

Status SweepCollector::add(const std::vector<SweepLine>& lines, const std::string& file) {
  for (const SweepLine& line : lines) {
    const auto at =
        std::lower_bound(index_.begin(), index_.end(), std::pair(line.id, std::size_t{0}));
    if (at == index_.end() || at->first != line.id) {
      ++foreign_;
      continue;
    }
    Slot& slot = slots_[at->second];
    const std::string place = scenario::at_line(file, line.number);
    if (!is_result_of(line.text, points_[at->second])) {
      return error_at(place,
                      fmt::format("this line has the id of {}, and is damaged: remove it, and run "
                                  "the sweep again to add it",
                                  report::json_text(points_[at->second].point)));
    }
    if (!slot.text.empty() && !slot.failed && !line.failed && slot.text != line.text) {
      return error_at(place,
                      fmt::format("this line and {} are of one point and of one version, but "
                                  "differ: one of them was changed; remove it",
                                  slot.place));
    }
    repeated_ += slot.text.empty() ? 0 : 1;
    if (slot.text.empty() || (slot.failed && !line.failed)) {
      slot = {line.text, place, line.failed};
    }
  }
  return Status();
}

SweepResults SweepCollector::results() const {
  SweepResults results;
  results.repeated = repeated_;
  results.foreign = foreign_;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    results.lines.push_back(slots_[i].text);
    if (slots_[i].text.empty()) {
      results.missing.push_back(i);
    } else if (slots_[i].failed) {
      results.failed.push_back(i);
    }
  }
  return results;
}

std::string sweep_point_list(const std::vector<SweepPoint>& points,
                             const std::vector<std::size_t>& which) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, which.size()); ++i) {
    text += "\n  " + report::json_text(points[which[i]].point);
  }
  if (which.size() > kMost) {
    text += fmt::format("\n  and {} more", which.size() - kMost);
  }
  return text;
}

std::string sweep_report(const scenario::Sweep& sweep, const SweepResults& results) {
  ordered_json data;
  data["label"] = sweep.label;
  data["version"] = MIXNET_VERSION;
  data["axes"] = ordered_json::array();
  for (const scenario::SweepAxis& axis : sweep.axes) {
    data["axes"].push_back(axis_json(axis));
  }
  data["points"] = ordered_json::array();
  for (const std::string& text : results.lines) {
    ordered_json point = nullptr;
    if (!text.empty()) {
      const ordered_json line = ordered_json::parse(text, nullptr, false);
      point = ordered_json::object();
      if (line.contains("error")) {
        point["error"] = line["error"];
      } else {
        point["fabrics"] = ordered_json::array();
        for (const ordered_json& fabric : line["fabrics"]) {
          point["fabrics"].push_back(figures(fabric));
        }
      }
    }
    data["points"].push_back(std::move(point));
  }
  return report::sweep_html(data);
}

}  // namespace mixnet::cli
