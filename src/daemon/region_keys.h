#pragma once

#include "scenario/table_reader.h"

// The keys of a region file.
namespace mixnet::daemon {

using scenario::KeySpec;

inline constexpr KeySpec kTopKeys[] = {
    {"name", "\"r1\"", true},     {"switch", "[switch]", true}, {"server", "[[server]]", true},
    {"state", "[state]", true},   {"links", "[links]"},         {"control", "[control]"},
    {"listen", "[listen]", true},
};

inline constexpr KeySpec kSwitchKeys[] = {
    {"address", "\"10.0.0.5:3082\""},   {"ssh", "\"ocs1.example.net:6252\""},
    {"known_hosts", "\"known_hosts\""}, {"size", "\"48x48\"", true},
    {"tid", "\"PolatisOXC\""},          {"credentials", "\"switch.credentials\""},
    {"credential", "\"switch\""},       {"login_deadline", "\"5s\""},
    {"keep_alive", "\"20s\""},          {"page_grace", "\"200ms\""},
};

inline constexpr KeySpec kServerKeys[] = {
    {"name", "\"s0\"", true},
    {"interfaces", "[\"ens1f0\", \"ens1f1\"]", true},
    {"tx", "\"1-2\"", true},
    {"rx", "\"49-50\"", true},
};

inline constexpr KeySpec kStateKeys[] = {{"directory", "\"/var/lib/mixnet\"", true}};

inline constexpr KeySpec kLinksKeys[] = {
    {"probe", "\"sysfs\"", true}, {"sysfs", "\"/sys\""}, {"servers", "[\"s0\"]"}};

inline constexpr KeySpec kControlKeys[] = {
    {"allocator", "\"split\""},
    {"eps", "2"},
    {"seed", "1"},
    {"transaction_deadline", "\"30s\""},
    {"max_rounds", "3"},
    {"max_waiting", "8"},
    {"max_pairs_per_command", "256"},
    {"check_shutters", "true"},
    {"check_power", "true"},
    {"least_dbm", "-20"},
    {"light_deadline", "\"1s\""},
    {"settle_after_unknown", "\"500ms\""},
    {"carrier_deadline", "\"10s\""},
    {"carrier_interval", "\"20ms\""},
    {"relink_window", "\"10s\""},
    {"health_interval", "\"2s\""},
    {"failures_to_quarantine", "3"},
    {"quarantine", "\"600s\""},
    {"least_backoff", "\"100ms\""},
    {"most_backoff", "\"10s\""},
    {"stop_deadline", "\"5s\""},
};

inline constexpr KeySpec kListenKeys[] = {
    {"grpc", "\"unix:/run/mixnet/r1.sock\"", true},
    {"tls_certificate", "\"server.pem\""},
    {"tls_key", "\"server.key\""},
    {"tls_client_ca", "\"clients.pem\""},
    {"metrics", "\"127.0.0.1:9464\""},
    {"metrics_public", "true"},
};

}  // namespace mixnet::daemon
