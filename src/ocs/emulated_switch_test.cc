#include "ocs/emulated_switch.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "ocs/emulator_test_support.h"
#include "ocs/switch_operations.h"
#include "ocs/tl1_session.h"

namespace mixnet::ocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Row {
  const char* command;
  const char* answer;  // its beginning
};

// In order, by one administrator of an 8x8 switch.
constexpr Row kConformance[] = {
    {"RTRV-PATCH:::5:;", "COMPLD"},
    {"ENT-PATCH::1,9:5:;", "COMPLD"},
    {"ENT-PATCH::2&3,10&11:5:;", "COMPLD"},
    {"ENT-PATCH::4&&6,12&&14:5:;", "COMPLD"},
    {"RTRV-PATCH::ALL:5:;", "COMPLD 1,9 2,10 3,11 4,12 5,13 6,14"},
    {"RTRV-PATCH::1&2:5:;", "COMPLD 1,9 2,10"},
    {"rtrv-patch::9&&11:5;", "COMPLD 1,9 2,10 3,11"},
    {"DLT-PATCH::1:5:;", "COMPLD"},
    {"DLT-PATCH::2&10:5:;", "COMPLD"},
    {"RTRV-PATCH:::5:;", "COMPLD 3,11 4,12 5,13 6,14"},
    {"DLT-PATCH::3&&4:5:;", "COMPLD"},
    {"RTRV-PATCH:::5:;", "COMPLD 5,13 6,14"},
    {"DLT-PATCH::ALL:5:;", "COMPLD"},
    {"RTRV-PATCH:::5:;", "COMPLD"},
    {"ENT-PATCH::1,9:5:;", "COMPLD"},
    {"DLT-PATCH:::5:;", "COMPLD"},
    {"RTRV-PATCH:::5:;", "COMPLD"},
    {"ENT-PATCH::1000,9:5:;", "DENY IDNV Invalid OXC port: 1000"},
    {"ENT-PATCH::1,2000:5:;", "DENY IDNV Invalid OXC port: 2000"},
    {"ENT-PATCH::,:5:;", "DENY IIAC Empty parameters"},
    {"ENT-PATCH::a,b:5:;", "DENY IDNV Invalid OXC port: a"},
    {"ENT-PATCH::-10,-49:5:;", "DENY IDNV Invalid OXC port: -10"},
    {"ENT-PATCH::@,#:5:;", "DENY IDNV Invalid OXC port: @"},
    {"DLT-PATCH::a&b:5:;", "DENY IDNV Invalid OXC port: a"},
    {"DLT-PATCH::1000:5:;", "DENY IDNV Invalid OXC port: 1000"},
    {"DLT-PATCH::-10:5:;", "DENY IDNV Invalid OXC port: -10"},
    {"DLT-PATCH::@:5:;", "DENY IDNV Invalid OXC port: @"},
    {"CANC-USER::user:5:;", "DENY PICC Permission denied"},
    {"RTRV-NETYPE:::5:;", "COMPLD Polatis,N-OST-8x8-HA1-DMHEV-050,OCS,6.5.1.7"},
    {"RTRV-NETYPE:::\"Polatis\":;", "COMPLD Polatis,"},
    {"RTRV-HDR:::abc123:;", "COMPLD"},
    {"RTRV-HDR:::0:;", "DENY IICT Parse error at offset 12 in command"},
    {"RTRV-HDR:::abcdefg:;", "DENY IICT Parse error at offset 12 in command"},
    {"RTRV-HDR::;", "DENY IICT Parse error at offset 11 in command"},
    {"RTRV-INV::OCS:5:;", "COMPLD OCS::TYPE=N-OST-8x8-HA1-DMHEV-050,SN=1532"},
    {"RTRV-HDR:::5:;", "COMPLD"},
    {"RTRV-TOD:::5:;", "COMPLD 2026,01,01,00,00,00"},
    {"RTRV-EQPT::SYSTEM:5:::PARAMETER=SIZE;", "COMPLD SYSTEM:SIZE=8x8"},
    {"RTRV-EQPT:PolatisOXC:SYSTEM:5:::PARAMETER=SIZE;", "COMPLD SYSTEM:SIZE=8x8"},
    {"RTRV-EQPT::SYSTEM:5:::adm=SIZE;", "DENY IPNV Unexpected parameter adm in block 2"},
    {"RTRV-EQPT::sun:5:::PARAMETER=SIZE;", "DENY IIAC"},
    {"RTRV-HDR:Other::5:;", "DENY IITA Mismatched TID"},
    {"INIT-SYS:@#@#:SYSTEM:5::1;", "DENY IITA Parse error at offset 10 in command"},
    {"ACT-USER::admin::123::root;", "DENY IICT Parse error at offset 17 in command"},
    {"ED-EQPT::TIMEOUT:5:::ADMIN=60;", "COMPLD"},
    {"RTRV-EQPT::TIMEOUT:5:::PARAMETER=ADMIN;", "COMPLD TIMEOUT:ADMIN=60"},
    {"ED-EQPT::TIMEOUT:5:::USER=61;", "DENY IPNV Parameter not valid"},
    {"ED-EQPT::TIMEOUT:5:::USER=-2;", "DENY IPNV Parameter not valid"},
    {"ED-EQPT::BOOT:5:::MODE=DARK;", "COMPLD"},
    {"RTRV-EQPT::BOOT:5:::PARAMETER=MODE;", "COMPLD BOOT:MODE=DARK"},
    {"ED-EQPT::BOOT:5:::MODE=sun;", "DENY IDNV Invalid value sun"},
    {"RTRV-EQPT::PMON:5:::PARAMETER=CONFIG;", "COMPLD PMON::PORT=1,MODE=LIVE PMON::PORT=2"},
    {"RTRV-EQPT::ATTEN:5:::PARAMETER=CONFIG;", "COMPLD ATTEN::PORT=9,MODE=NONE ATTEN::PORT=10"},
    {"SET-SID:::5::Polatis-23;", "COMPLD"},
    {"RTRV-HDR:Polatis-23::5:;", "COMPLD"},
    {"SET-SID:::5::abcdefghijklmnopqrstuvw;", "DENY IDNV"},
    {"SET-SID:::5::\"a**b\";", "DENY IDNV"},
    {"ED-DAT:::5::26-10-25,12-00-00;", "COMPLD 26-10-25,12-00-00"},
    {"RTRV-TOD:::5:;", "COMPLD 2026,10,25,12,00,00"},
    {"ED-DAT:::5::126-10-25,12-00-00;", "DENY SSTP"},
    {"ED-DAT:::5::26-13-25,12-00-00;", "DENY IDNV"},
    {"OPR-PORT-SHUTTER::1&&3:5:;", "COMPLD"},
    {"RTRV-PORT-SHUTTER::1&4:5:;", "COMPLD 1:CLOSED 4:OPEN"},
    {"RLS-PORT-SHUTTER::1&2:5:;", "COMPLD"},
    {"RTRV-PORT-SHUTTER::1&&3:5:;", "COMPLD 1:OPEN 2:OPEN 3:CLOSED"},
    {"RTRV-PORT-SHUTTER::1000:5:;", "DENY IDNV Invalid OXC port: 1000"},
    {"INIT-SYS::SYSTEM:5::1;", "COMPLD"},
    {"RTRV-PORT-SHUTTER::3:5:;", "COMPLD 3:OPEN"},
    {"SET-PORT-PMON::1&&4:5:::wave=1310;", "COMPLD"},
    {"RTRV-PORT-PMON::4&5:5:;", "COMPLD 4:1310.0,0.0,50 5:1550.0,0.0,50"},
    {"SET-PORT-PMON::1:5:::wave=90;", "DENY IPNV"},
    {"SET-PORT-ATTEN::9:5:::MODE=ABSOLUTE,LEVEL=3;", "COMPLD"},
    {"RTRV-PORT-ATTEN::9&10:5:;", "COMPLD 9:ABSOLUTE,3.0 10:NONE,0.0"},
    {"SET-PORT-ATTEN::9:5:::MODE=NONE;", "COMPLD"},
    {"RTRV-PORT-ATTEN::9:5:;", "COMPLD 9:NONE,0.0"},
    {"SET-PORT-ATTEN::1:5:::MODE=NONE;", "DENY IDNV Invalid OXC port: 1"},
    {"ED-PORT-LABEL::1&2:5:::LABEL=src1&src2;", "COMPLD"},
    {"ED-PORT-LABEL::3:5:::LABEL=\"FCSW49/2/3 in\";", "COMPLD"},
    {"RTRV-PORT-LABEL::1&&4:5:;", "COMPLD 1:src1 2:src2 3:FCSW49/2/3 in 4:"},
    {"ED-PORT-LABEL::3:5:::LABEL=abcdefghijklmnopqrstuvwxyz;", "DENY IPNV"},
    {"ED-PORT-LABEL::3:5:::LABEL=\"@#$\";", "DENY IPNV"},
    {"DLT-PORT-LABEL::1:5:;", "COMPLD"},
    {"RTRV-PORT-LABEL::1&2:5:;", "COMPLD 1: 2:src2"},
    {"OPR-ARC-EQPT::REPMGR:5::IND;", "COMPLD"},
    {"RTRV-ARC-EQPT::ALL:5:;", "COMPLD REPMGR:IND,,"},
    {"RLS-ARC-EQPT::REPMGR:5:;", "COMPLD"},
    {"RTRV-ARC-EQPT::ALL:5:;", "COMPLD"},
    {"RTRV-ALM-EQPT::ALL:5:;", "COMPLD"},
    {"INIT-SYS::ALARM:5::2;", "COMPLD"},
    {"RTRV-USER-SECU::ALL:5:;", "COMPLD admin:,ADMIN user:,USER view:,VIEW free:,USER"},
    {"ENT-USER-SECU::new:5::pw,,admin;", "COMPLD"},
    {"ENT-USER-SECU::new:5::pw,,admin;", "DENY IDNV User exists"},
    {"ENT-USER-SECU::other:5::pw,,king;", "DENY IPNV Invalid user access privilege"},
    {"ED-USER-SECU::other:5::pw,,user;", "DENY IDNV User does not exist"},
    {"ED-USER-SECU::new:5::pw2,,view;", "COMPLD"},
    {"RTRV-USER-SECU::new:5:;", "COMPLD new:,VIEW"},
    {"DLT-USER-SECU::new:5:;", "COMPLD"},
    {"DLT-USER-SECU::new:5:;", "DENY IDNV User does not exist"},
    {"NO-SUCH-VERB:::5:;", "DENY IICM"},
    {"CANC-USER::admin:5:;", "COMPLD"},
};

TEST(EmulatedSwitch, AnswersAsTheHardwareDoes) {
  Bench bench;
  Client client(bench, "admin", "root");
  for (const Row& row : kConformance) {
    const std::string answer = client.one(row.command);
    EXPECT_TRUE(answer.starts_with(row.answer)) << row.command << "\n  " << answer;
    // An answer without lines has no lines.
    if (std::string_view(row.answer) == "COMPLD") {
      EXPECT_EQ(answer, "COMPLD") << row.command;
    }
  }
  EXPECT_TRUE(client.wants_close());
}

TEST(EmulatedSwitch, WritesItsBytesAsDocumented) {
  Bench bench;
  Client client(bench, "admin", "root");
  client.raw("ENT-PATCH::1&2,9&10:5:;\r\n");
  EXPECT_EQ(client.raw("RTRV-PATCH:::123:;\r\n"),
            "\r\n\n   PolatisOXC 26-01-01 00:00:00\r\nM  123 COMPLD\r\n"
            "   \"1,9\"\r\n   \"2,10\"\r\n;");
  EXPECT_EQ(client.raw("ENT-PATCH::1,99:124:;"),
            "\r\n\n   PolatisOXC 26-01-01 00:00:00\r\nM  124 DENY\r\n"
            "   IDNV\r\n   /* Invalid OXC port: 99 */\r\n;");
  client.raw("SET-SID:::125::;");
  EXPECT_EQ(client.raw("RTRV-HDR:::126:;"),
            "\r\n\n   ( nil ) 26-01-01 00:00:00\r\nM  126 COMPLD\r\n;");
}

TEST(EmulatedSwitch, ChecksLogins) {
  Bench bench;
  const auto attempt = [&](const char* command) {
    Client client(bench);
    const std::string answer = client.one(command);
    client.close();
    return answer;
  };
  EXPECT_EQ(attempt("ACT-USER::admin:123::root;"), "COMPLD");
  EXPECT_EQ(attempt("ACT-USER::free:123:;"), "COMPLD");
  EXPECT_EQ(attempt("ACT-USER::Admin:123::root;"), "DENY PICC");
  EXPECT_EQ(attempt("ACT-USER::admin:123::Root;"), "DENY PICC");
  EXPECT_EQ(attempt("ACT-USER::nobody:123::root;"), "DENY PICC");
  EXPECT_EQ(attempt("ACT-USER::admin::123::root;"),
            "DENY IICT Parse error at offset 17 in command");
  EXPECT_EQ(attempt("ACT-USER:::123::root;"), "DENY IIAC Too few parameters (0/1)");
  EXPECT_EQ(attempt("ACT-USER::admin:123::;"), "DENY IPMS Too few parameters (0/1) in block 1");
  EXPECT_EQ(attempt("RTRV-PATCH:::123:;"), "DENY PLNA Not logged in");
  Client client(bench, "admin", "root");
  EXPECT_EQ(client.one("ACT-USER::admin:2::root;"), "DENY SNVS Already logged in");
}

TEST(EmulatedSwitch, KeepsGroupsApart) {
  Bench bench;
  Client user(bench, "user", "pw");
  EXPECT_EQ(user.one("ENT-PATCH::1,9:5:;"), "COMPLD");
  EXPECT_EQ(user.one("RTRV-USER-SECU::ALL:5:;"), "DENY SRCN User not in the admin group");
  EXPECT_EQ(user.one("DLT-USER-SECU::view:5:;"), "DENY PICC User not in the admin group");
  EXPECT_EQ(user.one("INIT-SYS::SYSTEM:5::1;"), "DENY PICC Permission denied");
  Client view(bench, "view", "pw");
  EXPECT_EQ(view.one("RTRV-PATCH:::5:;"), "COMPLD 1,9");
  EXPECT_EQ(view.one("DLT-PATCH::1:5:;"), "DENY PICC Permission denied");
  EXPECT_EQ(view.one("CANC-USER::view:5:;"), "COMPLD");
}

// The controller's own session, 16 pairs, the measured times.
TEST(EmulatedSwitch, ServesTheSessionOfTheController) {
  EmulatorOptions emulator;
  emulator.sid = "Polatis OXC";
  EmulatedSwitch emulated(emulator);
  SessionOptions options;
  options.login = Login{"", "admin", Secret("root")};
  Tl1Session session(options);
  Instant now = at_ms(0);
  const auto connection = emulated.open(now);
  session.connected(now);
  std::vector<SessionEvent> events;
  const auto exchange_until = [&](Instant end) {
    while (now <= end) {
      emulated.feed(connection, session.take_output(), now);
      session.feed(emulated.take_output(connection), now);
      for (SessionEvent& event : session.take_events()) {
        events.push_back(std::move(event));
      }
      now += milliseconds(1);
      emulated.tick(now);
      session.tick(now);
    }
  };
  exchange_until(at_ms(5));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<LoggedIn>(events[0]).sid, "Polatis OXC");

  std::vector<PortId> ports;
  std::vector<Patch> wanted;
  for (int k = 1; k <= 16; ++k) {
    wanted.push_back(Patch{PortId(k), PortId(48 + 17 - k)});
    ports.push_back(PortId(k));
    ports.push_back(PortId(48 + k));
  }
  const auto owned = OwnedPorts::make(emulator.size, ports).value();
  const auto patches = PatchSet::make(owned, wanted).value();
  events.clear();
  ASSERT_TRUE(session.submit(connect_command(patches), kWriteDeadlines, now));
  ASSERT_TRUE(session.submit(read_all_patches_command(), kReadDeadlines, now));
  exchange_until(at_ms(25));
  EXPECT_TRUE(events.empty()) << "mirrors need at least 20 ms";
  EXPECT_FALSE(emulated.light_at(PortId(49), now));
  exchange_until(at_ms(400));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(std::get<CommandDone>(events[0]).outcome, Outcome::kCompleted);
  const auto read = parse_patches(std::get<CommandDone>(events[1]).lines, emulator.size);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, wanted);
  EXPECT_EQ(emulated.patches(), wanted);
  EXPECT_TRUE(emulated.light_at(PortId(49), now));
  EXPECT_FALSE(emulated.carrier(PortId(49), now));
  EXPECT_TRUE(emulated.carrier(PortId(49), now + seconds(8)));
}

TEST(EmulatedSwitch, PowerFollowsTheLight) {
  Bench bench;
  Client client(bench, "admin", "root");
  const auto power = [&](int port) {
    const std::string answer = client.one("RTRV-PORT-POWER::" + std::to_string(port) + ":5:;");
    return std::stod(answer.substr(answer.find(':') + 1));
  };
  EXPECT_NEAR(power(1), -3, 0.3);
  EXPECT_EQ(power(9), -60);
  client.raw("ENT-PATCH::1,9:5:;");
  EXPECT_NEAR(power(9), -4.5, 0.3);
  client.raw("SET-PORT-ATTEN::9:5:::MODE=ABSOLUTE,LEVEL=10;");
  EXPECT_NEAR(power(9), -14.5, 0.3);
  client.raw("OPR-PORT-SHUTTER::1:5:;");
  EXPECT_EQ(power(9), -60);
  client.raw("RLS-PORT-SHUTTER::1:5:;");
  bench.control("fibre pull 1");
  EXPECT_EQ(power(1), -60);
  EXPECT_EQ(power(9), -60);
  bench.control("fibre restore 1");
  bench.control("power 1 -20");
  EXPECT_NEAR(power(1), -20, 0.3);
  EXPECT_NEAR(power(9), -31.5, 0.3);
}

TEST(EmulatedSwitch, CarrierComesAfterTheRelinkTime) {
  EmulatorOptions options = Bench::with({"switch_time=40", "relink_time=5000"});
  Bench bench(options);
  Client client(bench, "admin", "root");
  EXPECT_EQ(client.one("ENT-PATCH::1,9:5:;"), "");
  EXPECT_EQ(bench.emulated.next_deadline(), at_ms(40));
  bench.wait(milliseconds(40));
  EXPECT_TRUE(bench.emulated.light_at(PortId(9), bench.now));
  EXPECT_EQ(bench.emulated.next_deadline(), at_ms(5040));
  bench.wait(milliseconds(4999));
  EXPECT_FALSE(bench.emulated.carrier(PortId(9), bench.now));
  bench.wait(milliseconds(1));
  EXPECT_TRUE(bench.emulated.carrier(PortId(9), bench.now));
  // The same patch again moves nothing.
  EXPECT_EQ(client.one("ENT-PATCH::1,9:5:;"), "COMPLD");
  EXPECT_TRUE(bench.emulated.carrier(PortId(9), bench.now));
  bench.control("fibre pull 9");
  EXPECT_FALSE(bench.emulated.carrier(PortId(9), bench.now));
  bench.control("fibre restore 9");
  EXPECT_FALSE(bench.emulated.carrier(PortId(9), bench.now));
  bench.wait(seconds(5));
  EXPECT_TRUE(bench.emulated.carrier(PortId(9), bench.now));
}

// Whatever clients and faults do, no port has two partners and no patch is impossible.
TEST(EmulatedSwitch, NoPortHasTwoPartners) {
  RandomStream random(7, "commands");
  const char* const knobs[] = {"busy_port=deny",  "bad_pair=prefix",        "bad_pair=prtl",
                               "delay=on",        "duplicate_ports=accept", "unequal_lists=accept",
                               "completed=before"};
  uint64_t patches_made = 0;
  for (int run = 0; run < 60; ++run) {
    Bench bench(Bench::with({knobs[random.below(std::size(knobs))], "switch_time=30"}));
    Client client(bench, "admin", "root");
    // Mostly ports that exist on the side where they belong.
    const auto port = [&](uint64_t first) {
      return std::to_string(random.below(20) == 0 ? random.below(18) : first + random.below(8));
    };
    const auto list = [&](uint64_t first, uint64_t ports) {
      std::string text = port(first);
      for (; ports > 1; --ports) {
        text += (random.below(10) == 0 ? "&&" : "&") + port(first);
      }
      return text;
    };
    for (int step = 0; step < 60; ++step) {
      switch (random.below(6)) {
        case 0:
          client.raw("DLT-PATCH::" + list(1, 2) + ":5:;");
          break;
        case 1:
          bench.control("foreign " + port(1) + "," + port(9));
          break;
        case 2:
          bench.control((random.below(2) == 0 ? "mirror stick " : "mirror free ") + port(1));
          break;
        default: {
          const uint64_t ports = 1 + random.below(4);
          client.raw("ENT-PATCH::" + list(1, ports) + "," + list(9, ports) + ":5:;");
        }
      }
      bench.wait(milliseconds(random.below(50)));
      std::vector<int> partners(17, 0);
      for (const Patch& patch : bench.emulated.patches()) {
        EXPECT_TRUE(check_patch(bench.emulated.size(), patch).ok());
        EXPECT_EQ(++partners[patch.ingress.index()], 1);
        EXPECT_EQ(++partners[patch.egress.index()], 1);
      }
    }
    patches_made += bench.emulated.counters().patches_made;
  }
  EXPECT_GT(patches_made, 500U);
}

}  // namespace
}  // namespace mixnet::ocs
