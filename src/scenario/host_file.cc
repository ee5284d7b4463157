#include "scenario/host_file.h"

#include <fmt/format.h>

#include "scenario/table_reader.h"
#include "scenario/text_file.h"
#include "scenario/units_text.h"

namespace mixnet::scenario {
namespace {

constexpr int64_t kMostPerHost = 1024;

constexpr KeySpec kHostTopKeys[] = {{"host", "[host]", true}};
constexpr KeySpec kHostKeys[] = {
    {"gpus", "8", true},
    {"nics", "4", true},
    {"nic_rate", "\"400Gbps\""},
    {"nic_rates", "[\"400Gbps\", \"200Gbps\"]"},
    {"nvlink_rate", "\"450GB/s\""},
};

std::vector<BitRate> read_rates(TableReader& host, int nics) {
  std::vector<BitRate> rates;
  if (host.has("nic_rate") == host.has("nic_rates")) {
    host.problem("nic_rate",
                 "give either nic_rate = \"400Gbps\" for all NICs, or nic_rates with "
                 "one for each");
    return rates;
  }
  if (host.has("nic_rate")) {
    BitRate rate;
    host.read_rate("nic_rate", rate);
    rates.assign(static_cast<std::size_t>(nics), rate);
    return rates;
  }
  std::vector<std::string> texts;
  host.read_texts("nic_rates", texts);
  if (texts.size() != static_cast<std::size_t>(nics)) {
    host.problem("nic_rates",
                 fmt::format("`nic_rates` has {} rates for {} NICs", texts.size(), nics));
  }
  for (const std::string& text : texts) {
    const Result<BitRate> rate = parse_rate(text);
    if (!rate) {
      host.problem("nic_rates", "`nic_rates`: " + rate.error().message);
      return rates;
    }
    rates.push_back(*rate);
  }
  return rates;
}

HostShape shape_of(int gpus, int nics, const std::vector<BitRate>& rates) {
  HostShape shape;
  shape.nic_rate = rates;
  const int own = nics > gpus ? nics / gpus : 1;
  if (own > 1) {
    shape.nic_rate.assign(static_cast<std::size_t>(gpus), BitRate());
    for (std::size_t i = 0; i < rates.size(); ++i) {
      BitRate& sum = shape.nic_rate[i / static_cast<std::size_t>(own)];
      sum = sum + rates[i];
    }
  }
  const int ports = static_cast<int>(shape.nic_rate.size());
  for (int g = 0; g < gpus; ++g) {
    shape.nic_of_gpu.push_back(g * ports / gpus);
  }
  return shape;
}

}  // namespace

Result<HostShape> parse_host_shape(std::string_view text, const std::string& name) {
  const Result<toml::table> parsed = parse_toml(text, name);
  if (!parsed) {
    return parsed.error();
  }
  Problems problems(name);
  TableReader top(*parsed, "", kHostTopKeys, problems);
  const toml::table* table = top.read_table("host");
  if (table == nullptr) {
    return problems.first();
  }
  TableReader host(*table, "[host]", kHostKeys, problems);
  int gpus = 1;
  int nics = 1;
  host.read_int("gpus", gpus, 1, kMostPerHost);
  host.read_int("nics", nics, 1, kMostPerHost);
  if (nics > gpus && nics % gpus != 0) {
    host.problem("nics", fmt::format("{} NICs do not divide over {} GPUs: give a multiple of {}, "
                                     "or at most {}",
                                     nics, gpus, gpus, gpus));
  }
  const std::vector<BitRate> rates = read_rates(host, nics);
  BitRate nvlink;
  host.read_rate("nvlink_rate", nvlink);
  if (!problems.none()) {
    return problems.first();
  }
  HostShape shape = shape_of(gpus, nics, rates);
  shape.nvlink_rate = nvlink;
  return shape;
}

Result<HostShape> read_host_shape(const std::string& path) {
  const Result<std::string> text = read_text_file(path);
  if (!text) {
    return text.error();
  }
  return parse_host_shape(*text, path);
}

}  // namespace mixnet::scenario
