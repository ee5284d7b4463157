#pragma once

#include <string>
#include <vector>

#include "core/fabric_spec.h"
#include "core/instant.h"
#include "core/result.h"
#include "ocs/region.h"
#include "ocs/region_controller.h"

// The region file of mixnetd: docs/daemon.md describes every key.
namespace mixnet::daemon {

// How the switch is reached. Exactly one of `tcp` and `ssh` is set.
struct SwitchConfig {
  std::string tcp;          // "10.0.0.5:3082"
  std::string ssh;          // "ocs1:6252"
  std::string known_hosts;  // path; with ssh
  std::string tid;          // of the switch; empty: whichever answers
  // Exactly one is set.
  std::string credentials_file;  // path
  std::string credential;        // name of a systemd credential
};

enum class ProbeKind { kNone, kSysfs };

struct ListenConfig {
  std::string grpc;  // "unix:/run/mixnet/r1.sock" or "0.0.0.0:7443"
  // Paths; all set if `grpc` is a network address, otherwise empty.
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;
  std::string metrics;  // "127.0.0.1:9464"; empty: none
};

struct RegionSettings {
  std::string name;
  SwitchConfig ocs;
  std::string journal;  // path of the SQLite file
  std::string lock;     // path
  ProbeKind probe = ProbeKind::kNone;
  std::string sysfs;                // folder
  std::vector<ocs::NicId> visible;  // whose carrier is in `sysfs`
  ocs::ControllerOptions options;   // without the login, which does not belong in a file of keys
  Allocator allocator = Allocator::kSplit;
  int eps = 0;  // electrical NICs per server
  Duration stop_deadline = std::chrono::seconds(5);
  ListenConfig listen;
};

struct RegionConfig : RegionSettings {
  ocs::Region region;
};

// Relative paths in the file count from its folder. Errors name file, line and what to write.
Result<RegionConfig> read_region_config(const std::string& path);

}  // namespace mixnet::daemon
