#include "daemon/region_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "daemon/config_text.h"
#include "daemon/region_keys.h"
#include "ocs/switch_ports.h"
#include "ocs/tl1_encoder.h"
#include "scenario/names.h"
#include "scenario/table_reader.h"
#include "scenario/text_file.h"

namespace mixnet::daemon {
namespace {

using ocs::Nic;
using ocs::PortId;
using scenario::Problems;
using scenario::TableReader;

// What the region is made of at the end, and what other sections refer to.
struct Draft {
  std::filesystem::path folder;
  std::string name;
  ocs::SwitchSize size;
  std::vector<std::string> servers;
  std::vector<Nic> nics;
};

std::string path_in(const std::filesystem::path& folder, const std::string& path) {
  return path.empty() ? path : (folder / path).lexically_normal().string();
}

void read_duration(TableReader& reader, const char* key, Duration& value, Duration least) {
  std::optional<SimTime> time;
  reader.read_time(key, time);
  if (!time.has_value()) {
    return;
  }
  const Duration read = std::chrono::nanoseconds(time->ps() / 1000);
  if (read < least) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(least).count();
    reader.problem(key, fmt::format("`{}` must be at least {}ms", key, ms));
    return;
  }
  value = read;
}

constexpr Duration kNone{0};
constexpr Duration kOneMs = std::chrono::milliseconds(1);

void read_size(std::string_view key, std::size_t& value, TableReader& reader, int most) {
  int number = static_cast<int>(value);
  reader.read_int(key, number, 1, most);
  value = static_cast<std::size_t>(number);
}

// --- [switch] ---------------------------------------------------------------------------------

void read_address(TableReader& reader, const char* key, std::string& address) {
  reader.read_text(key, address);
  if (!address.empty() && !host_of(address)) {
    reader.problem(key, fmt::format("`{}` must be a host and a port, found `{}`: write it like "
                                    "\"10.0.0.5:{}\"",
                                    key, address, key == std::string_view("ssh") ? 6252 : 3082));
  }
}

void read_credentials(TableReader& reader, const Draft& draft, SwitchConfig& config) {
  reader.read_text("credentials", config.credentials_file);
  reader.read_text("credential", config.credential);
  if (config.credentials_file.empty() == config.credential.empty()) {
    reader.problem("credential",
                   "write either `credentials = \"file\"`, a file of mode 0600, or `credential = "
                   "\"name\"`, a systemd credential, in [switch]");
  }
  config.credentials_file = path_in(draft.folder, config.credentials_file);
}

void read_switch(TableReader reader, Draft& draft, RegionSettings& config) {
  SwitchConfig& ocs = config.ocs;
  read_address(reader, "address", ocs.tcp);
  read_address(reader, "ssh", ocs.ssh);
  if (ocs.tcp.empty() == ocs.ssh.empty()) {
    reader.problem("ssh",
                   "write either `address = \"10.0.0.5:3082\"` or `ssh = \"host:6252\"` in "
                   "[switch]");
  }
  reader.read_text("known_hosts", ocs.known_hosts);
  if (ocs.ssh.empty() != ocs.known_hosts.empty()) {
    reader.problem("known_hosts",
                   "`ssh` and `known_hosts` go together: the key of the switch is checked against "
                   "that file, as `ssh-keyscan -p 6252 host` writes it");
  }
  ocs.known_hosts = path_in(draft.folder, ocs.known_hosts);
  reader.read_text("tid", ocs.tid);
  const bool plain = std::ranges::all_of(ocs.tid, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == ' ';
  });
  if (!plain || ocs.tid.size() > ocs::kMaxTidBytes) {
    reader.problem("tid", fmt::format("up to {} letters, digits, hyphens and blanks, such as "
                                      "\"PolatisOXC\"",
                                      ocs::kMaxTidBytes));
  }
  read_credentials(reader, draft, ocs);

  std::string size;
  reader.read_text("size", size);
  if (!size.empty()) {
    const Result<ocs::SwitchSize> parsed = ocs::parse_switch_size(size);
    if (parsed.ok()) {
      draft.size = *parsed;
    } else {
      reader.problem("size", fmt::format("`size`: {}", parsed.error().message));
    }
  }
  ocs::SessionOptions& session = config.options.session;
  read_duration(reader, "login_deadline", session.login_deadlines.hard, kOneMs);
  session.login_deadlines.soft = session.login_deadlines.hard;
  read_duration(reader, "keep_alive", session.keep_alive, std::chrono::seconds(1));
  read_duration(reader, "page_grace", session.page_grace, kNone);
  session.peer = ocs.tcp.empty() ? ocs.ssh : ocs.tcp;
}

// --- [[server]] -------------------------------------------------------------------------------

std::optional<std::vector<PortId>> ports_of(const toml::node& node) {
  if (const auto* text = node.as_string()) {
    return parse_ports(text->get());
  }
  const toml::array* array = node.as_array();
  if (array == nullptr || array->empty()) {
    return std::nullopt;
  }
  std::vector<PortId> ports;
  for (const toml::node& item : *array) {
    const std::optional<int64_t> port = item.is_integer() ? item.value<int64_t>() : std::nullopt;
    if (!port || *port < 1 || *port > ocs::kMaxPorts) {
      return std::nullopt;
    }
    ports.push_back(PortId(static_cast<int32_t>(*port)));
  }
  return ports;
}

std::vector<PortId> read_ports(TableReader& reader, const char* key, std::size_t wanted) {
  const toml::node* node = reader.table().get(key);
  if (node == nullptr) {
    return {};
  }
  const std::optional<std::vector<PortId>> ports = ports_of(*node);
  if (!ports.has_value()) {
    reader.problem(key, fmt::format("`{}` must be ports of the switch, from 1: write it like "
                                    "\"1-3,9\" or [1, 2, 3, 9]",
                                    key));
    return {};
  }
  if (ports->size() != wanted) {
    reader.problem(key, fmt::format("`{}` has {} ports and `interfaces` {} names: write one port "
                                    "for each interface, in the same order",
                                    key, ports->size(), wanted));
    return {};
  }
  return *ports;
}

void read_server(TableReader reader, Draft& draft, Problems& problems) {
  std::string name;
  std::vector<std::string> interfaces;
  reader.read_text("name", name);
  reader.read_texts("interfaces", interfaces);
  if (name.find('/') != std::string::npos) {
    reader.problem("name", "`name` must be without `/`: a NIC is written server/interface");
  }
  for (const std::string& interface : interfaces) {
    // Becomes part of a path below sysfs.
    if (interface.empty() || interface.size() > 15 ||
        interface.find_first_of("/ :") != std::string::npos || interface[0] == '.') {
      reader.problem("interfaces", fmt::format("\"{}\" is no name of a network interface: write "
                                               "what `ip link` shows, like \"ens1f0\"",
                                               interface));
    }
  }
  if (interfaces.empty()) {
    reader.problem("interfaces", "`interfaces` is empty: name the NICs that hang on the switch");
  }
  const std::vector<PortId> tx = read_ports(reader, "tx", interfaces.size());
  const std::vector<PortId> rx = read_ports(reader, "rx", interfaces.size());
  if (!problems.none()) {
    return;
  }
  const int server = static_cast<int>(draft.servers.size());
  draft.servers.push_back(name);
  for (std::size_t i = 0; i < interfaces.size(); ++i) {
    draft.nics.push_back(Nic{name + "/" + interfaces[i], server, interfaces[i], tx[i], rx[i]});
  }
  // Once per server, so that the message names the line of the first server that does not fit.
  const Result<ocs::Region> region = ocs::Region::make(draft.size, draft.servers, draft.nics);
  if (!region.ok()) {
    problems.add(reader.table().source(), region.error().message);
  }
}

// --- [links], [control], [listen] -------------------------------------------------------------

// One kernel has one interface of a name, whatever the servers of a region call theirs.
void find_visible(TableReader& reader, const Draft& draft, const std::vector<std::string>& servers,
                  RegionSettings& config) {
  std::map<std::string, std::string> owners;  // server by interface
  for (std::size_t i = 0; i < draft.nics.size(); ++i) {
    const Nic& nic = draft.nics[i];
    const std::string& server = draft.servers[static_cast<std::size_t>(nic.server)];
    if (std::find(servers.begin(), servers.end(), server) == servers.end()) {
      continue;
    }
    config.visible.push_back(ocs::NicId(static_cast<int32_t>(i)));
    const auto [other, is_new] = owners.emplace(nic.interface, server);
    if (!is_new) {
      reader.problem(
          "probe", fmt::format("{} and {} both have an interface `{}`, and this machine "
                               "has one of that name: write `servers = [\"{}\"]` if "
                               "it is {}, or `probe = \"none\"`",
                               other->second, server, nic.interface, other->second, other->second));
    }
  }
}

void read_links(TableReader reader, const Draft& draft, RegionSettings& config) {
  reader.read_choice("probe", config.probe,
                     {{"none", ProbeKind::kNone}, {"sysfs", ProbeKind::kSysfs}});
  std::string sysfs = "/sys";
  reader.read_text("sysfs", sysfs);
  config.sysfs = path_in(draft.folder, sysfs);
  std::vector<std::string> servers = draft.servers;
  reader.read_texts("servers", servers);
  for (const std::string& server : servers) {
    if (std::find(draft.servers.begin(), draft.servers.end(), server) == draft.servers.end()) {
      reader.problem("servers", scenario::unknown_name("server", server, draft.servers));
    }
  }
  if (config.probe == ProbeKind::kSysfs) {
    find_visible(reader, draft, servers, config);
  }
}

void read_control(TableReader reader, RegionSettings& config) {
  ocs::ControllerOptions& options = config.options;
  std::vector<std::pair<std::string, Allocator>> allocators;
  for (const Allocator a :
       {Allocator::kSplit, Allocator::kAlgorithm1, Allocator::kReleased, Allocator::kRelay}) {
    allocators.emplace_back(allocator_name(a), a);
  }
  reader.read_choice("allocator", config.allocator, allocators);
  reader.read_int("eps", config.eps, 0, 1024);
  int64_t seed = 1;
  reader.read_int64("seed", seed, 0, INT64_MAX);
  options.seed = static_cast<uint64_t>(seed);

  read_duration(reader, "transaction_deadline", options.transaction_deadline, kOneMs);
  reader.read_int("max_rounds", options.max_rounds, 1, 100);
  read_size("max_waiting", options.max_waiting, reader, 1000);
  read_size("max_pairs_per_command", options.max_pairs_per_command, reader, ocs::kMaxPorts);
  reader.read_bool("check_shutters", options.check_shutters);
  reader.read_bool("check_power", options.check_power);
  reader.read_number("least_dbm", options.least_dbm, -100, 40);
  read_duration(reader, "light_deadline", options.light_deadline, kNone);
  read_duration(reader, "settle_after_unknown", options.settle_after_unknown, kNone);
  read_duration(reader, "carrier_deadline", options.carrier_deadline, kNone);
  read_duration(reader, "carrier_interval", options.carrier_interval, kOneMs);
  read_duration(reader, "relink_window", options.relink_window, kNone);
  read_duration(reader, "health_interval", options.health_interval, std::chrono::milliseconds(10));
  reader.read_int("failures_to_quarantine", options.failures_to_quarantine, 1, 1000);
  read_duration(reader, "quarantine", options.quarantine, kNone);
  read_duration(reader, "least_backoff", options.least_backoff, kOneMs);
  read_duration(reader, "most_backoff", options.most_backoff, kOneMs);
  if (options.most_backoff < options.least_backoff) {
    reader.problem("most_backoff", "`most_backoff` must not be below `least_backoff`");
  }
  read_duration(reader, "stop_deadline", config.stop_deadline, kNone);
}

void check_tls(TableReader& reader, const ListenConfig& listen) {
  const bool all =
      !listen.tls_certificate.empty() && !listen.tls_key.empty() && !listen.tls_client_ca.empty();
  const bool any =
      !listen.tls_certificate.empty() || !listen.tls_key.empty() || !listen.tls_client_ca.empty();
  if (!unix_path(listen.grpc).empty()) {
    if (any) {
      reader.problem("grpc",
                     "a Unix socket has no TLS: remove the `tls_` keys, or write a network "
                     "address like `grpc = \"0.0.0.0:7443\"`");
    }
    return;
  }
  if (!host_of(listen.grpc)) {
    reader.problem("grpc", fmt::format("`grpc` must be a Unix socket or an address, found `{}`: "
                                       "write it like \"unix:/run/mixnet/r1.sock\" or "
                                       "\"0.0.0.0:7443\"",
                                       listen.grpc));
  } else if (!all) {
    reader.problem("grpc",
                   fmt::format("`grpc = \"{}\"` is a network address: everybody who reaches it "
                               "could re-wire the region. Add `tls_certificate`, `tls_key` and "
                               "`tls_client_ca`, or write `grpc = \"unix:/run/mixnet/r1.sock\"`",
                               listen.grpc));
  }
}

void read_metrics(TableReader& reader, ListenConfig& listen) {
  bool is_public = false;
  reader.read_text("metrics", listen.metrics);
  reader.read_bool("metrics_public", is_public);
  if (listen.metrics.empty()) {
    return;
  }
  const std::optional<std::string> host = host_of(listen.metrics);
  if (!host) {
    reader.problem("metrics", fmt::format("`metrics` must be an address, found `{}`: write it like "
                                          "\"127.0.0.1:9464\"",
                                          listen.metrics));
  } else if (!is_loopback(*host) && !is_public) {
    reader.problem(
        "metrics",
        fmt::format("`metrics = \"{}\"` can be read from the network without a password: "
                    "write \"127.0.0.1:9464\", or add `metrics_public = true`",
                    listen.metrics));
  }
}

void read_listen(TableReader reader, const Draft& draft, RegionSettings& config) {
  ListenConfig& listen = config.listen;
  reader.read_text("grpc", listen.grpc);
  if (const std::string_view path = unix_path(listen.grpc); !path.empty()) {
    const std::string absolute = path_in(draft.folder, std::string(path));
    // sockaddr_un holds no more.
    if (absolute.size() > 107) {
      reader.problem("grpc", fmt::format("the path of the socket is longer than 107 characters: "
                                         "{}",
                                         absolute));
    }
    listen.grpc = "unix:" + absolute;
  }
  reader.read_text("tls_certificate", listen.tls_certificate);
  reader.read_text("tls_key", listen.tls_key);
  reader.read_text("tls_client_ca", listen.tls_client_ca);
  for (std::string* path : {&listen.tls_certificate, &listen.tls_key, &listen.tls_client_ca}) {
    *path = path_in(draft.folder, *path);
  }
  if (!listen.grpc.empty()) {
    check_tls(reader, listen);
  }
  read_metrics(reader, listen);
}

void read_name(TableReader& top, Draft& draft) {
  top.read_text("name", draft.name);
  // It names files.
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (!std::all_of(draft.name.begin(), draft.name.end(), allowed) ||
      (!draft.name.empty() && draft.name[0] == '.') || draft.name.size() > 64) {
    top.problem("name", fmt::format("`name` must be at most 64 letters, digits, `-`, `_` and `.`, "
                                    "found `{}`: it names the journal",
                                    draft.name));
  }
}

void read_state(TableReader reader, const Draft& draft, RegionSettings& config) {
  std::string directory;
  reader.read_text("directory", directory);
  const std::filesystem::path folder = path_in(draft.folder, directory);
  config.journal = (folder / (draft.name + ".sqlite")).string();
  config.lock = (folder / (draft.name + ".lock")).string();
}

}  // namespace

Result<RegionConfig> read_region_config(const std::string& path) {
  const Result<std::string> text = scenario::read_text_file(path);
  if (!text.ok()) {
    return text.error();
  }
  const Result<toml::table> table = scenario::parse_toml(*text, path);
  if (!table.ok()) {
    return table.error();
  }
  Problems problems(path);
  TableReader top(*table, "", kTopKeys, problems);
  Draft draft;
  draft.folder = std::filesystem::path(path).parent_path();
  RegionSettings config;
  const auto section = [&](const char* key, std::span<const KeySpec> keys, auto read) {
    if (const toml::table* found = top.read_table(key)) {
      read(TableReader(*found, fmt::format("[{}]", key), keys, problems));
    }
  };
  read_name(top, draft);
  section("switch", kSwitchKeys, [&](auto r) { read_switch(std::move(r), draft, config); });
  for (const toml::table* server : top.read_tables("server")) {
    read_server(TableReader(*server, "[[server]]", kServerKeys, problems), draft, problems);
  }
  section("state", kStateKeys, [&](auto r) { read_state(std::move(r), draft, config); });
  section("links", kLinksKeys, [&](auto r) { read_links(std::move(r), draft, config); });
  section("control", kControlKeys, [&](auto r) { read_control(std::move(r), config); });
  section("listen", kListenKeys, [&](auto r) { read_listen(std::move(r), draft, config); });
  if (problems.none() && draft.servers.size() < 2) {
    top.problem("server", "a region has at least two servers: add a [[server]]");
  }
  if (!problems.none()) {
    return problems.first();
  }
  config.name = draft.name;
  return RegionConfig{std::move(config),
                      ocs::Region::make(draft.size, draft.servers, draft.nics).value()};
}

}  // namespace mixnet::daemon
