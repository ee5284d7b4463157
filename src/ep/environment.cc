#include "ep/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "ep/host_list.h"

namespace mixnet::ep {
namespace {

constexpr int kMaxJobRanks = 1 << 20;
constexpr int kMaxPort = 65535;

// The names that a launcher gives to the same two things.
struct LauncherNames {
  const char* rank;
  const char* ranks;
};
constexpr LauncherNames kTorchrun{"RANK", "WORLD_SIZE"};
constexpr LauncherNames kOpenMpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.begin(), text.end(), number);
  return code == std::errc() && end == text.end() ? std::optional(number) : std::nullopt;
}

// A variable that has to be there, from `low` to `high`.
Result<int> number_of(const EnvironmentLookup& lookup, const char* name, int low, int high) {
  const auto text = lookup(name);
  if (!text) {
    return Error{fmt::format("{} is not set: start the ranks with torchrun or mpirun, or export "
                             "it yourself",
                             name),
                 {}};
  }
  const auto number = parse_number(*text);
  if (!number || *number < low || *number > high) {
    return Error{fmt::format("{}={}: write a number from {} to {}", name, *text, low, high), {}};
  }
  return *number;
}

Result<int> store_port(const EnvironmentLookup& lookup) {
  if (lookup("MIXNET_PORT")) {
    return number_of(lookup, "MIXNET_PORT", 1, kMaxPort);
  }
  if (!lookup("MASTER_PORT")) {
    return Error{
        "neither MIXNET_PORT nor MASTER_PORT is set: export MIXNET_PORT, a free port at "
        "rank 0, such as 29501",
        {}};
  }
  const auto taken = number_of(lookup, "MASTER_PORT", 1, kMaxPort);
  if (!taken) {
    return taken;
  }
  if (*taken == kMaxPort) {
    return Error{"MASTER_PORT=65535 leaves no port after it for the store: export MIXNET_PORT", {}};
  }
  return *taken + 1;
}

Result<net::HostPort> store_address(const EnvironmentLookup& lookup) {
  if (const auto text = lookup("MIXNET_STORE")) {
    auto address = net::parse_host_port(*text);
    if (!address || address->port == 0) {
      return Error{
          fmt::format("MIXNET_STORE={}: write HOST:PORT of rank 0, such as 10.0.0.5:29501", *text),
          {}};
    }
    return address;
  }
  const auto host = lookup("MASTER_ADDR");
  if (!host || host->empty()) {
    return Error{
        "neither MIXNET_STORE nor MASTER_ADDR is set: export MIXNET_STORE, the HOST:PORT "
        "at which rank 0 is to listen (mpirun: -x MIXNET_STORE=node0:29501)",
        {}};
  }
  const auto port = store_port(lookup);
  if (!port) {
    return port.error();
  }
  return net::HostPort{*host, static_cast<uint16_t>(*port)};
}

// "2": that many hosts; "4,4": ranks of each.
Result<RankMap> forced_hosts(const std::string& text, int ranks) {
  const Error error{
      fmt::format("MIXNET_HOSTS={}: write the number of hosts (1 to {}), or the ranks "
                  "of every host, such as 4,4, {} in all",
                  text, ranks, ranks),
      {}};
  const std::vector<int> sizes = parse_host_sizes(text);
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (sizes.size() == 1 && sum <= ranks) {
    return RankMap::even(ranks, sizes.front());
  }
  if (sum != ranks) {
    return error;
  }
  return RankMap(sizes);
}

// torchrun numbers hosts; other launchers that set RANK may leave that out.
Result<std::string> host_name(const EnvironmentLookup& lookup, const Membership& member,
                              std::string_view machine) {
  if (const auto forced = lookup("MIXNET_HOSTS")) {
    const auto map = forced_hosts(*forced, member.ranks);
    if (!map) {
      return map.error();
    }
    return fmt::format("host {}", map->host_of(member.rank));
  }
  if (lookup(kTorchrun.rank) && lookup("GROUP_RANK")) {
    const auto group = number_of(lookup, "GROUP_RANK", 0, kMaxJobRanks);
    if (!group) {
      return group.error();
    }
    return fmt::format("group {}", *group);
  }
  return std::string(machine);
}

}  // namespace

EnvironmentLookup process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

Result<Membership> read_membership(const EnvironmentLookup& lookup, std::string_view machine) {
  Membership member;
  if (!lookup(kTorchrun.rank) && !lookup(kOpenMpi.rank)) {
    // A launcher that says how many there are says who this is.
    for (const LauncherNames& names : {kTorchrun, kOpenMpi}) {
      if (lookup(names.ranks)) {
        return number_of(lookup, names.rank, 0, 0).error();
      }
    }
    member.host = machine;
    member.store = {"127.0.0.1", 0};
    return member;
  }
  const LauncherNames names = lookup(kTorchrun.rank) ? kTorchrun : kOpenMpi;
  const auto ranks = number_of(lookup, names.ranks, 1, kMaxJobRanks);
  if (!ranks) {
    return ranks.error();
  }
  const auto rank = number_of(lookup, names.rank, 0, *ranks - 1);
  if (!rank) {
    return rank.error();
  }
  member.rank = *rank;
  member.ranks = *ranks;
  auto host = host_name(lookup, member, machine);
  if (!host) {
    return host.error();
  }
  member.host = *std::move(host);
  auto store = store_address(lookup);
  if (!store) {
    return store.error();
  }
  member.store = *std::move(store);
  return member;
}

}  // namespace mixnet::ep
