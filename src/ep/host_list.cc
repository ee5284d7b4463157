#include "ep/host_list.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <map>
#include <numeric>

#include "core/index.h"

namespace mixnet::ep {
namespace {

// The hosts of all ranks, numbered in the order in which they first occur.
Result<RankMap> number_hosts(const std::vector<std::string>& names) {
  std::map<std::string, int> numbers;
  std::vector<int> host_of;
  for (const std::string& name : names) {
    host_of.push_back(numbers.emplace(name, static_cast<int>(numbers.size())).first->second);
  }
  auto map = RankMap::from_hosts(host_of);
  if (!map) {
    return Error{map.error().message + " (mpirun: --map-by slot)", {}};
  }
  return map;
}

std::string sizes_text(const RankMap& map) {
  std::string text;
  for (int host = 0; host < map.hosts(); ++host) {
    text += fmt::format("{}{}", host == 0 ? "" : ",", map.size_of(host));
  }
  return text;
}

// What rank 0 wrote: "+" and the sizes, or "-" and why there are none.
Result<RankMap> read_hosts(const std::string& text, int ranks) {
  if (text.starts_with('-')) {
    return Error{text.substr(1), {}};
  }
  const std::vector<int> sizes =
      parse_host_sizes(std::string_view(text).substr(text.empty() ? 0 : 1));
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (sum != ranks) {
    return Error{fmt::format("rank 0 says that the hosts have {} ranks, this rank says that there "
                             "are {}: start all ranks as one job",
                             text, ranks),
                 {}};
  }
  return RankMap(sizes);
}

}  // namespace

std::vector<int> parse_host_sizes(std::string_view text) {
  std::vector<int> sizes;
  while (true) {
    int size = 0;
    const auto [end, code] = std::from_chars(text.begin(), text.end(), size);
    if (code != std::errc() || size < 1) {
      return {};
    }
    sizes.push_back(size);
    if (end == text.end()) {
      return sizes;
    }
    if (*end != ',') {
      return {};
    }
    text.remove_prefix(static_cast<std::size_t>(end + 1 - text.begin()));
  }
}

Result<RankMap> agree_on_hosts(Store& store, const std::string& prefix, const Membership& member,
                               Instant until) {
  const std::string names = prefix + "name/";
  if (Status set = store.set(names + std::to_string(member.rank), member.host, until); !set) {
    return set.error();
  }
  if (member.rank == 0) {
    std::vector<int> ranks(at(member.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto all = get_of_ranks(store, names, ranks, until);
    const auto map = all ? number_hosts(*all) : Result<RankMap>(all.error());
    const std::string text = map ? "+" + sizes_text(*map) : "-" + map.error().message;
    const Status set = store.set(prefix + "hosts", text, until);
    return set || !map ? map : Result<RankMap>(set.error());
  }
  const auto text = store.get(prefix + "hosts", until);
  if (!text) {
    return Error{"rank 0 did not say which ranks share a host: " + text.error().message, {}};
  }
  return read_hosts(*text, member.ranks);
}

}  // namespace mixnet::ep
