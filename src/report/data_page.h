#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mixnet::report {

// What differs between the pages that draw one JSON object.
struct DataPage {
  const char* product;  // above the title
  std::string title;    // plain text
  const char* body;     // HTML
  const char* script;   // finds the object in `data`, and draws with chart(id, ECharts option)
};

// One self-contained page that embeds `data` and loads nothing.
std::string data_page(const DataPage& page, const nlohmann::ordered_json& data);

}  // namespace mixnet::report
