#pragma once

#include <string>

// The files of web/ and of its packages that the pages are made of, embedded at build time.
namespace mixnet::report {

std::string echarts_script();   // Apache ECharts, minified
std::string report_template();  // HTML with {{placeholders}}
std::string report_style();
std::string report_script();
std::string sweep_template();
std::string sweep_script();

}  // namespace mixnet::report
