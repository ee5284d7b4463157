#include "ocs/switch_operations.h"

#include <gtest/gtest.h>

#include <span>
#include <type_traits>

#include "core/random.h"
#include "ocs/tl1_encoder.h"

namespace mixnet::ocs {
namespace {

const SwitchSize kSize{48, 48};

std::vector<PortId> ids(const std::vector<int>& numbers) {
  std::vector<PortId> ports;
  ports.reserve(numbers.size());
  for (const int n : numbers) {
    ports.push_back(PortId(n));
  }
  return ports;
}

OwnedPorts owned() { return *OwnedPorts::make(kSize, ids({1, 2, 3, 5, 49, 50, 51, 53})); }

std::string sent(Command command) {
  command.ctag = Ctag{7};
  return *encode(command);
}

std::vector<TextLine> lines(const std::vector<std::string>& texts) {
  std::vector<TextLine> result;
  result.reserve(texts.size());
  for (const std::string& text : texts) {
    result.push_back(TextLine{TextLine::Kind::kQuoted, text});
  }
  return result;
}

Patch patch(int ingress, int egress) { return Patch{PortId(ingress), PortId(egress)}; }

template <typename T>
void expect_error(const Result<T>& result, const std::string& part) {
  ASSERT_FALSE(result.ok()) << "wanted: " << part;
  EXPECT_NE(result.error().text().find(part), std::string::npos) << result.error().text();
}

TEST(SwitchOperations, WritesOneCommandForManyPatches) {
  const PatchSet set = *PatchSet::make(owned(), {patch(2, 50), patch(1, 49), patch(53, 5)});
  EXPECT_EQ(sent(connect_command(set)), "ENT-PATCH::1&2&5,49&50&53:7:;");
  EXPECT_EQ(sent(disconnect_command(set)), "DLT-PATCH::1&2&5:7:;");
  EXPECT_EQ(sent(read_patches_command(set.ports(owned()))), "RTRV-PATCH::1&&2&5&49&&50&53:7:;");
}

TEST(SwitchOperations, WritesTheOtherCommands) {
  const PortSet ports = *PortSet::make(owned(), ids({3, 1, 2, 49}));
  EXPECT_EQ(sent(read_all_patches_command()), "RTRV-PATCH::ALL:7:;");
  EXPECT_EQ(sent(read_power_command(ports)), "RTRV-PORT-POWER::1&&3&49:7:;");
  EXPECT_EQ(sent(read_shutters_command(ports)), "RTRV-PORT-SHUTTER::1&&3&49:7:;");
  EXPECT_EQ(sent(open_shutters_command(ports)), "RLS-PORT-SHUTTER::1&&3&49:7:;");
  EXPECT_EQ(sent(close_shutters_command(ports)), "OPR-PORT-SHUTTER::1&&3&49:7:;");
  EXPECT_EQ(sent(read_size_command()), "RTRV-EQPT::SYSTEM:7:::PARAMETER=SIZE;");
  EXPECT_EQ(sent(read_identity_command()), "RTRV-NETYPE:::7:;");
  EXPECT_EQ(sent(read_serial_number_command()), "RTRV-INV::OCS:7:;");
}

// Only make() gives a set: there is no empty one, so no DLT-PATCH without ports.
static_assert(!std::is_default_constructible_v<PortSet>);
static_assert(!std::is_default_constructible_v<PatchSet>);
static_assert(!std::is_constructible_v<PatchSet, std::vector<Patch>>);
static_assert(!std::is_constructible_v<PortSet, std::vector<PortId>>);

TEST(SwitchOperations, RefusesSetsThatMustNotExist) {
  expect_error(PortSet::make(owned(), {}), "no ports");
  expect_error(PatchSet::make(owned(), {}), "no ports");
  expect_error(PortSet::make(owned(), ids({1, 1})), "port 1 is named twice");
  expect_error(PortSet::make(owned(), ids({0})), "port 0 does not exist");
  expect_error(PortSet::make(owned(), ids({-1})), "port -1 does not exist");
  expect_error(PortSet::make(owned(), ids({97})), "ports 1 to 96");
  expect_error(PortSet::make(owned(), ids({4})), "port 4 is not ours");
  expect_error(PatchSet::make(owned(), {patch(1, 52)}), "port 52 is not ours");
  expect_error(PatchSet::make(owned(), {patch(1, 49), patch(1, 50)}), "port 1 is named twice");
  expect_error(PatchSet::make(owned(), {patch(1, 2)}), "cannot be joined");
  expect_error(PatchSet::make(owned(), {patch(49, 50)}), "cannot be joined");
  expect_error(PatchSet::make(owned(), {patch(1, 97)}), "port 97 does not exist");
  expect_error(OwnedPorts::make(kSize, {}), "no ports");
  expect_error(OwnedPorts::make(kSize, ids({96, 97})), "port 97 does not exist");
  expect_error(OwnedPorts::make(kSize, ids({5, 5})), "port 5 is named twice");
}

TEST(SwitchOperations, AnyPortMayMeetAnyOnAnUnsplitSwitch) {
  const OwnedPorts all = *OwnedPorts::make(SwitchSize{114, 0}, ids({1, 2, 114}));
  EXPECT_TRUE(PatchSet::make(all, {patch(2, 1)}).ok());
  expect_error(PatchSet::make(all, {patch(2, 2)}), "to itself");
  expect_error(PatchSet::make(all, {patch(2, 115)}), "ports 1 to 114");
}

TEST(SwitchOperations, ReadsSizes) {
  EXPECT_EQ(*parse_size(lines({"SYSTEM:SIZE=48x48"})), kSize);
  EXPECT_EQ(*parse_size(lines({"SYSTEM:SIZE=114xCC,X=1"})), (SwitchSize{114, 0}));
  EXPECT_EQ(text_of(SwitchSize{114, 0}), "114xCC");
  for (const char* bad : {"SYSTEM:SIZE=48", "SYSTEM:SIZE=0x48", "SYSTEM:SIZE=4096x1", "48x48",
                          "SYSTEM:SIZE=48x48x1", "SYSTEM:SIZE=-1x4"}) {
    expect_error(parse_size(lines({bad})), bad);
  }
  expect_error(parse_size({}), "no line");
}

TEST(SwitchOperations, ReadsPatches) {
  auto reply = lines({"2,50", "49,1", "1,49", "5,0", "6,", "0,60"});
  reply.push_back(TextLine{TextLine::Kind::kComment, "two patches"});
  reply.push_back(TextLine{TextLine::Kind::kPlain, "3, 51"});
  EXPECT_EQ(*parse_patches(reply, kSize),
            (std::vector<Patch>{patch(1, 49), patch(2, 50), patch(3, 51)}));
  EXPECT_TRUE(parse_patches({}, kSize)->empty());
  for (const char* bad : {"1", "1,49,2", "a,49", "1,b", "-1,49", "1,97", "1,2", "1,1", ",49", "",
                          "1 49", "99999999999,1"}) {
    expect_error(parse_patches(lines({bad}), kSize), std::string("\"") + bad + "\"");
  }
  expect_error(parse_patches(lines({"1,49", "1,50"}), kSize), "\"1,50\"");
  expect_error(parse_patches(lines({"1,49", "2,49"}), kSize), "\"2,49\"");
}

TEST(SwitchOperations, ReadsPower) {
  const auto power = *parse_power(lines({"2:-5.25", "1:NONE", "49:20 dBm", "50:"}), kSize);
  ASSERT_EQ(power.size(), 4u);
  EXPECT_EQ(power[0].port, PortId(1));
  EXPECT_FALSE(power[0].dbm);
  EXPECT_EQ(power[1].dbm, -5.25);
  EXPECT_EQ(power[2].dbm, 20.0);
  EXPECT_FALSE(power[3].dbm);
  for (const char* bad : {"1", "97:1", "1:x", "1:1 mW", "1:nan", "1:inf", "1:1e999", ":1"}) {
    expect_error(parse_power(lines({bad}), kSize), std::string("\"") + bad + "\"");
  }
  expect_error(parse_power(lines({"1:1", "1:2"}), kSize), "\"1:2\"");
}

TEST(SwitchOperations, ReadsShutters) {
  const auto shutters = *parse_shutters(lines({"49:closed", "1:OPEN"}), kSize);
  ASSERT_EQ(shutters.size(), 2u);
  EXPECT_TRUE(shutters[0].open);
  EXPECT_FALSE(shutters[1].open);
  for (const char* bad : {"1:AJAR", "1:", "0:OPEN", "OPEN"}) {
    expect_error(parse_shutters(lines({bad}), kSize), std::string("\"") + bad + "\"");
  }
  expect_error(parse_shutters(lines({"1:OPEN", "1:CLOSED"}), kSize), "\"1:CLOSED\"");
}

TEST(SwitchOperations, ReadsEquipment) {
  const auto identity = *parse_identity(lines({"Polatis,N-OST-48x48-HA1-DMHEV-050,OCS,6.5.1.7"}));
  EXPECT_EQ(identity.vendor, "Polatis");
  EXPECT_EQ(identity.model, "N-OST-48x48-HA1-DMHEV-050");
  EXPECT_EQ(identity.version, "6.5.1.7");
  expect_error(parse_identity(lines({"Polatis,OCS"})), "\"Polatis,OCS\"");
  EXPECT_EQ(*parse_serial_number(lines({"OCS:SN=1532a,PN=2"})), "1532a");
  expect_error(parse_serial_number(lines({"OCS:PN=2"})), "\"OCS:PN=2\"");
  expect_error(parse_serial_number({}), "no line");
}

// What a switch lists of any matching is that matching, in any order and with both directions.
TEST(SwitchOperations, ReadsBackEveryMatching) {
  RandomStream random(3, "matchings");
  for (int round = 0; round < 500; ++round) {
    std::vector<int> egress(48);
    for (int i = 0; i < 48; ++i) {
      egress[static_cast<std::size_t>(i)] = 49 + i;
    }
    random.shuffle(std::span<int>(egress));
    std::vector<Patch> patches;
    std::vector<std::string> listed;
    for (int ingress = 1; ingress <= 48; ++ingress) {
      if (random.below(2) == 0) {
        patches.push_back(patch(ingress, egress[static_cast<std::size_t>(ingress - 1)]));
        const std::string a = std::to_string(patches.back().ingress.value);
        const std::string b = std::to_string(patches.back().egress.value);
        for (uint64_t n = 1 + random.below(2); n > 0; --n) {
          std::string line = random.below(2) == 0 ? a : b;
          line += line == a ? "," + b : "," + a;
          listed.push_back(std::move(line));
        }
      }
    }
    random.shuffle(std::span<std::string>(listed));
    ASSERT_EQ(*parse_patches(lines(listed), kSize), patches);
  }
}

}  // namespace
}  // namespace mixnet::ocs
