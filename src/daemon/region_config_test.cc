// A region file is read strictly: every mistake is answered with its line and what to write.
#include "daemon/region_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config_text.h"
#include "support/temporary_directory.h"

namespace mixnet::daemon {
namespace {

using mixnet::test_support::TemporaryDirectory;
using ::testing::HasSubstr;

// Line numbers below count from the first line of this text.
const char* const kGood = R"(name = "r1"
[switch]
address = "10.0.0.5:3082"
size = "48x48"
credentials = "switch.credentials"
[[server]]
name = "s0"
interfaces = ["ens1f0", "ens1f1"]
tx = "1-2"
rx = "49-50"
[[server]]
name = "s1"
interfaces = ["ens1f0", "ens1f1"]
tx = [3, 9]
rx = "51,57"
[state]
directory = "state"
[links]
probe = "sysfs"
servers = ["s0"]
[control]
eps = 2
quarantine = "60s"
least_dbm = -18.5
[listen]
grpc = "unix:r1.sock"
metrics = "127.0.0.1:9464"
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(RegionConfig, ReadsEveryPart) {
  const TemporaryDirectory folder;
  const auto config = read_region_config(folder.write("r1.toml", kGood));
  ASSERT_TRUE(config.ok()) << config.error().text();
  EXPECT_EQ(config->name, "r1");
  EXPECT_EQ(config->ocs.tcp, "10.0.0.5:3082");
  EXPECT_EQ(config->ocs.credentials_file, folder.file("switch.credentials"));
  EXPECT_EQ(config->region.servers().size(), 2U);
  ASSERT_EQ(config->region.nics().size(), 4U);
  EXPECT_EQ(config->region.nics()[3].name, "s1/ens1f1");
  EXPECT_EQ(config->region.nics()[3].tx, ocs::PortId(9));
  EXPECT_EQ(config->region.nics()[3].rx, ocs::PortId(57));
  EXPECT_EQ(config->journal, folder.file("state/r1.sqlite"));
  EXPECT_EQ(config->lock, folder.file("state/r1.lock"));
  EXPECT_EQ(config->probe, ProbeKind::kSysfs);
  EXPECT_EQ(config->sysfs, "/sys");
  EXPECT_THAT(config->visible, ::testing::ElementsAre(ocs::NicId(0), ocs::NicId(1)));
  EXPECT_EQ(config->eps, 2);
  EXPECT_EQ(config->options.quarantine, std::chrono::seconds(60));
  EXPECT_EQ(config->options.least_dbm, -18.5);
  EXPECT_EQ(config->options.session.peer, "10.0.0.5:3082");
  EXPECT_EQ(config->listen.grpc, "unix:" + folder.file("r1.sock"));
  EXPECT_EQ(config->listen.metrics, "127.0.0.1:9464");
}

TEST(RegionConfig, ReadsNetworkAddressesWithTls) {
  const TemporaryDirectory folder;
  const auto config = read_region_config(folder.write(
      "r1.toml", replaced("grpc = \"unix:r1.sock\"",
                          "grpc = \"0.0.0.0:7443\"\ntls_certificate = \"server.pem\"\n"
                          "tls_key = \"/etc/server.key\"\ntls_client_ca = \"ca.pem\"")));
  ASSERT_TRUE(config.ok()) << config.error().text();
  EXPECT_EQ(config->listen.grpc, "0.0.0.0:7443");
  EXPECT_EQ(config->listen.tls_certificate, folder.file("server.pem"));
  EXPECT_EQ(config->listen.tls_key, "/etc/server.key");
}

TEST(RegionConfig, TheExampleIsRead) {
  const auto config = read_region_config(MIXNET_SOURCE_DIR "/examples/region.toml");
  ASSERT_TRUE(config.ok()) << config.error().text();
  EXPECT_EQ(config->region.servers().size(), 8U);
  EXPECT_EQ(config->region.nics().size(), 48U);
}

struct Case {
  const char* from;  // replaced in kGood ...
  const char* to;    // ... by this
  int line;
  const char* fragment;
};

const Case kSwitchCases[] = {
    {"name = \"r1\"", "nam = \"r1\"", 1, "did you mean `name`"},
    {"name = \"r1\"", "name = \"r/1\"", 1, "letters, digits"},
    {"[switch]", "[swich]", 2, "unknown table `swich`: did you mean `switch`"},
    {"10.0.0.5:3082", "10.0.0.5", 3, "must be a host and a port"},
    {"10.0.0.5:3082", "10.0.0.5:0", 3, "must be a host and a port"},
    {"10.0.0.5:3082", "::1:3082", 3, "must be a host and a port"},
    {"address = \"10.0.0.5:3082\"", "ssh = \"ocs1:6252\"", 2, "`ssh` and `known_hosts`"},
    {"address = \"10.0.0.5:3082\"\n", "", 2, "either `address"},
    {"size = \"48x48\"", "size = \"48\"", 4, "`size`"},
    {"size = \"48x48\"\n", "", 2, "`size` is missing"},
    {"credentials = \"switch.credentials\"\n", "", 2, "systemd credential"},
    {"credentials = \"switch.credentials\"", "credentials = \"a\"\ncredential = \"b\"", 6,
     "systemd credential"},
    {"credentials = \"switch.credentials\"", "password = \"root\"", 5, "unknown key `password`"},
};

const Case kServerCases[] = {
    {"tx = \"1-2\"", "tx = \"1-3\"", 9, "3 ports and `interfaces` 2 names"},
    {"tx = \"1-2\"", "tx = \"2-1\"", 9, "write it like \"1-3,9\""},
    {"tx = \"1-2\"", "tx = \"1,\"", 9, "write it like"},
    {"tx = \"1-2\"", "tx = [1, \"2\"]", 9, "write it like"},
    {"tx = \"1-2\"", "tx = \"1-99999999999\"", 9, "write it like"},
    {"tx = \"1-2\"", "tx = 1", 9, "write it like"},
    {"tx = \"1-2\"\n", "", 6, "`tx` is missing"},
    {"tx = [3, 9]", "tx = [2, 9]", 11, "2"},         // already the tx of s0
    {"tx = [3, 9]", "tx = [3, 52]", 11, "ingress"},  // an egress port
    {"rx = \"51,57\"", "rx = \"51,97\"", 11, "97"},  // the switch ends at 96
    {"name = \"s1\"", "name = \"s0\"", 11, "s0"},
    {"name = \"s1\"", "name = \"s/1\"", 12, "without `/`"},
    {"\"ens1f0\", \"ens1f1\"]", "\"../x\", \"ens1f1\"]", 8, "network interface"},
};

const Case kOtherCases[] = {
    {"directory = \"state\"", "dir = \"state\"", 17, "`dir`"},
    {"probe = \"sysfs\"", "probe = \"ethtool\"", 19, "`none` or `sysfs`"},
    {"servers = [\"s0\"]\n", "", 19, "s0 and s1 both have an interface `ens1f0`"},
    {"servers = [\"s0\"]", "servers = [\"s5\"]", 20, "unknown server `s5`"},
    {"eps = 2", "eps = -1", 22, "between 0 and"},
    {"quarantine = \"60s\"", "quarantine = 60", 23, "must be text in quotes"},
    {"quarantine = \"60s\"", "quarantin = \"60s\"", 23, "or `quarantine`?"},
    {"quarantine = \"60s\"", "carrier_interval = \"1us\"", 23, "at least 1ms"},
    {"quarantine = \"60s\"", "least_backoff = \"60s\"", 21, "not be below `least_backoff`"},
    {"quarantine = \"60s\"", "allocator = \"relais\"", 23,
     "`split`, `algorithm1`, `released` or `relay`"},
    {"unix:r1.sock", "0.0.0.0:7443", 26, "Add `tls_certificate`, `tls_key` and `tls_client_ca`"},
    {"unix:r1.sock", "127.0.0.1:7443", 26, "Add `tls_certificate`"},
    {"unix:r1.sock", "unix:", 26, "unix:/run/mixnet/r1.sock"},
    {"grpc = \"unix:r1.sock\"", "grpc = \"[::]:7443\"\ntls_certificate = \"a\"\ntls_key = \"b\"",
     26, "network address"},
    {"grpc = \"unix:r1.sock\"", "grpc = \"unix:r1.sock\"\ntls_key = \"b\"", 26, "has no TLS"},
    {"127.0.0.1:9464", "0.0.0.0:9464", 27, "`metrics_public = true`"},
    {"127.0.0.1:9464", "9464", 27, "must be an address"},
};

class RegionConfigErrors : public ::testing::TestWithParam<Case> {};

TEST_P(RegionConfigErrors, NamesTheLineAndTheFix) {
  const TemporaryDirectory folder;
  const std::string path = folder.write("r1.toml", replaced(GetParam().from, GetParam().to));
  const auto config = read_region_config(path);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().where, path + ":" + std::to_string(GetParam().line))
      << config.error().text();
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().fragment));
}

INSTANTIATE_TEST_SUITE_P(Switch, RegionConfigErrors, ::testing::ValuesIn(kSwitchCases));
INSTANTIATE_TEST_SUITE_P(Server, RegionConfigErrors, ::testing::ValuesIn(kServerCases));
INSTANTIATE_TEST_SUITE_P(Other, RegionConfigErrors, ::testing::ValuesIn(kOtherCases));

TEST(RegionConfig, OneServerIsNoRegion) {
  const std::string text = kGood;
  const std::size_t second = text.find("[[server]]", text.find("[[server]]") + 1);
  const TemporaryDirectory folder;
  const auto config = read_region_config(
      folder.write("r1.toml", text.substr(0, second) + text.substr(text.find("[state]"))));
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("at least two servers"));
}

TEST(ConfigText, Hosts) {
  EXPECT_EQ(host_of("ocs1.example.net:3082"), "ocs1.example.net");
  EXPECT_EQ(host_of("[::1]:3082"), "::1");
  EXPECT_EQ(host_of(":3082"), std::nullopt);
  EXPECT_EQ(host_of("a:65536"), std::nullopt);
  EXPECT_TRUE(is_loopback("127.0.0.2"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("127-example.net"));
  EXPECT_FALSE(is_loopback("10.0.0.1"));
}

}  // namespace
}  // namespace mixnet::daemon
