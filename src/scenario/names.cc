#include "scenario/names.h"

#include <algorithm>
#include <utility>

namespace mixnet::scenario {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above + 1, row[j - 1] + 1, substituted});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& candidates) {
  constexpr std::size_t kMost = 3;
  const std::size_t reach = std::max<std::size_t>(2, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const bool contained = name.size() >= 3 && candidate.find(name) != std::string::npos;
    const std::size_t distance = contained ? 1 : edit_distance(name, candidate);
    if (distance <= reach && distance < std::max(name.size(), candidate.size())) {
      near.push_back({distance, candidate});
    }
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < near.size() && i < kMost; ++i) {
    names.push_back(near[i].second);
  }
  return names;
}

std::string quoted_list(const std::vector<std::string>& names, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) {
      text += i + 1 == names.size() ? " " + std::string(last) + " " : ", ";
    }
    text += "`" + names[i] + "`";
  }
  return text;
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& candidates) {
  const std::vector<std::string> near = nearest_names(name, candidates);
  std::string text = "unknown " + std::string(kind) + " `" + std::string(name) + "`: ";
  if (near.empty()) {
    return text + "known are " + quoted_list(candidates, "and");
  }
  return text + "did you mean " + quoted_list(near) + "?";
}

}  // namespace mixnet::scenario
