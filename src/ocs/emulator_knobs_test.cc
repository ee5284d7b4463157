#include "ocs/emulator_knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ocs/emulator_test_support.h"
#include "ocs/tl1_text.h"

namespace mixnet::ocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(EmulatorKnobs, EveryOpenQuestionHasOne) {
  std::set<int> unknowns;
  std::set<std::string> names;
  for (const Knob& knob : emulator_knobs()) {
    unknowns.insert(knob.unknown);
    EXPECT_TRUE(names.insert(knob.name).second) << knob.name;
    EXPECT_THAT(describe_knobs(), HasSubstr("  " + knob.name + " "));
  }
  for (int unknown = 1; unknown <= 14; ++unknown) {
    EXPECT_TRUE(unknowns.contains(unknown)) << unknown;
  }
}

TEST(EmulatorKnobs, TakesEveryValueThatItNames) {
  for (const Knob& knob : emulator_knobs()) {
    EmulatorKnobs knobs;
    EXPECT_TRUE(set_knob(knobs, knob.name + "=" + knob.get(knobs)).ok()) << knob.name;
    if (knob.values.find('|') == std::string::npos || knob.values.starts_with("measured")) {
      continue;
    }
    for (const std::string_view value : split(knob.values, '|')) {
      EXPECT_TRUE(set_knob(knobs, knob.name + "=" + std::string(value)).ok()) << value;
      EXPECT_EQ(knob.get(knobs), value) << knob.name;
    }
  }
}

TEST(EmulatorKnobs, SaysWhatMayBeWrittenInstead) {
  EmulatorKnobs knobs;
  EXPECT_THAT(set_knob(knobs, "busy_port=perhaps").error().message, HasSubstr("overwrite|deny"));
  EXPECT_THAT(set_knob(knobs, "busy_port").error().message, HasSubstr("busy_port=VALUE"));
  EXPECT_THAT(set_knob(knobs, "bussy=deny").error().message, HasSubstr("one of busy_port"));
  EXPECT_THAT(set_knob(knobs, "max_pairs=many").error().message, HasSubstr("0..4096"));
  EXPECT_THAT(set_knob(knobs, "max_pairs=-1").error().message, HasSubstr("0..4096"));
  EXPECT_THAT(set_knob(knobs, "busy_code=SNV").error().message, HasSubstr("four letters"));
  for (const char* time : {"-1", "fast", "nan", "1e9", ""}) {
    EXPECT_FALSE(set_knob(knobs, std::string("switch_time=") + time).ok()) << time;
    EXPECT_FALSE(set_knob(knobs, std::string("reboot_time=") + time).ok()) << time;
  }
  EXPECT_TRUE(set_knob(knobs, "switch_time=0.5").ok());
  EXPECT_EQ(knobs.switching.fixed, Duration(std::chrono::microseconds(500)));
  EXPECT_TRUE(set_knob(knobs, "switch_time=measured").ok());
  EXPECT_FALSE(knobs.switching.fixed.has_value());
}

// The last answer to commands of an administrator under one setting.
struct KnobRow {
  const char* knobs;     // separated by blanks
  const char* commands;  // separated by ";"
  const char* answer;
};

constexpr KnobRow kPatchRows[] = {
    {"", "ENT-PATCH::1,9:5;ENT-PATCH::2,9:5", "COMPLD"},
    {"", "ENT-PATCH::1,9:5;ENT-PATCH::2,9:5;RTRV-PATCH:::5", "COMPLD 2,9"},
    {"busy_port=deny", "ENT-PATCH::1,9:5;ENT-PATCH::2,9:5", "DENY SNVS Port 9 is in use"},
    {"busy_port=deny", "ENT-PATCH::1,9:5;ENT-PATCH::2,9:5;RTRV-PATCH:::5", "COMPLD 1,9"},
    {"busy_port=deny", "ENT-PATCH::1,9:5;ENT-PATCH::1,9:5", "COMPLD"},
    {"busy_port=deny busy_code=SROF", "ENT-PATCH::1,9:5;ENT-PATCH::1,10:5",
     "DENY SROF Port 1 is in use"},
    {"", "ENT-PATCH::1&2&3,9&99&11:5", "DENY IDNV Invalid OXC port: 99"},
    {"", "ENT-PATCH::1&2&3,9&99&11:5;RTRV-PATCH:::5", "COMPLD"},
    {"bad_pair=prefix", "ENT-PATCH::1&2&3,9&99&11:5", "DENY IDNV Invalid OXC port: 99"},
    {"bad_pair=prefix", "ENT-PATCH::1&2&3,9&99&11:5;RTRV-PATCH:::5", "COMPLD 1,9"},
    {"bad_pair=prtl", "ENT-PATCH::1&2&3,9&99&11:5", "PRTL IDNV Invalid OXC port: 99"},
    {"bad_pair=prtl", "ENT-PATCH::1&2&3,9&99&11:5;RTRV-PATCH:::5", "COMPLD 1,9 3,11"},
    {"bad_pair=prtl", "ENT-PATCH::1,99:5", "DENY IDNV Invalid OXC port: 99"},
    {"", "ENT-PATCH::1&2,9:5", "DENY IDNV 2 ports to 1 ports"},
    {"unequal_lists=accept", "ENT-PATCH::1&2,9:5;RTRV-PATCH:::5", "COMPLD 1,9"},
    {"", "ENT-PATCH::1&1,9&10:5", "DENY IDNV Port 1 named twice"},
    {"duplicate_ports=accept", "ENT-PATCH::1&1,9&10:5;RTRV-PATCH:::5", "COMPLD 1,10"},
    {"list_code=IIPG", "ENT-PATCH::1,2:5", "DENY IIPG Ports 1 and 2 on one side"},
    {"same_side=accept", "ENT-PATCH::1,2:5;RTRV-PATCH:::5", "COMPLD 1,2"},
    {"", "ENT-PATCH::1&2&3,9&10&11:5", "COMPLD"},
    {"max_pairs=2", "ENT-PATCH::1&2&3,9&10&11:5", "DENY IDNV Too many ports (3/2)"},
    {"max_command_bytes=64",
     "ENT-PATCH::1&2&3&4&5&6&7&8,9&10&11&12&13&14&15&16:5:::::::::::::::::::::::::::::",
     "DENY IDNV Command too long"},
    {"unconnected=zero", "ENT-PATCH::1,9:5;RTRV-PATCH::1&&3:5", "COMPLD 1,9 2,0 3,0"},
    {"unconnected=empty", "RTRV-PATCH::1&2:5", "COMPLD 1, 2,"},
    {"delay=on", "ENT-PATCH::1,9:5", "DELAY"},
    {"delay=on", "ENT-PATCH::1,9:5;RTRV-PATCH:::5", "COMPLD 1,9"},
    {"boot=dark", "RTRV-EQPT::BOOT:5:::PARAMETER=MODE", "COMPLD BOOT:MODE=DARK"},
    {"monitors=none", "RTRV-PORT-POWER:::5", "COMPLD"},
    {"monitors=egress", "RTRV-PORT-POWER::1&2&9:5", "COMPLD 9:-60.00"},
    {"monitors=ingress", "RTRV-PORT-PMON::8&9:5", "COMPLD 8:1550.0,0.0,50"},
};

TEST(EmulatorKnobs, DecideWhatAPatchCommandDoes) {
  for (const KnobRow& row : kPatchRows) {
    std::vector<std::string> knobs;
    for (const std::string_view knob : words(row.knobs, 9)) {
      knobs.push_back(std::string(knob));
    }
    Bench bench(Bench::with(knobs));
    Client client(bench, "admin", "root");
    std::string answer;
    for (const std::string_view command : split(row.commands, ';')) {
      answer = client.one(std::string(command) + ";");
    }
    EXPECT_EQ(answer, row.answer) << row.knobs << ": " << row.commands;
  }
}

TEST(EmulatorKnobs, CompletedBeforeOrAfterSettling) {
  Bench after(Bench::with({"switch_time=40"}));
  Client slow(after, "admin", "root");
  EXPECT_EQ(slow.raw("ENT-PATCH::1,9:5:;"), "");
  after.wait(milliseconds(39));
  EXPECT_EQ(slow.raw(""), "");
  after.wait(milliseconds(1));
  EXPECT_EQ(slow.one(""), "COMPLD");
  EXPECT_TRUE(after.emulated.light_at(PortId(9), after.now));

  Bench before(Bench::with({"switch_time=40", "completed=before"}));
  Client quick(before, "admin", "root");
  EXPECT_EQ(quick.one("ENT-PATCH::1,9:5:;"), "COMPLD");
  EXPECT_FALSE(before.emulated.light_at(PortId(9), before.now));
  before.wait(milliseconds(40));
  EXPECT_TRUE(before.emulated.light_at(PortId(9), before.now));
}

TEST(EmulatorKnobs, AcknowledgesWhatTakesLong) {
  Bench bench(Bench::with({"switch_time=5000"}));
  Client client(bench, "admin", "root");
  EXPECT_EQ(client.raw("ENT-PATCH::1,9:5:;"), "");
  EXPECT_EQ(bench.emulated.next_deadline(), at_ms(2000));
  bench.wait(seconds(2));
  EXPECT_EQ(client.raw(""), "IP 5\r\n<");
  bench.wait(seconds(3));
  EXPECT_EQ(client.one(""), "COMPLD");

  Bench other(Bench::with({"switch_time=5000", "ack_end=>", "ack_after=100"}));
  Client greater(other, "admin", "root");
  greater.raw("ENT-PATCH::1,9:5:;");
  other.wait(milliseconds(100));
  EXPECT_EQ(greater.raw(""), "IP 5\r\n>");

  Bench quiet(Bench::with({"switch_time=5000", "ack=off"}));
  Client silent(quiet, "admin", "root");
  silent.raw("ENT-PATCH::1,9:5:;");
  quiet.wait(seconds(4));
  EXPECT_EQ(silent.raw(""), "");
}

// "M" for an answer, "A" for an event, in the order of the stream.
std::string order_of(const std::vector<Message>& messages) {
  std::string order;
  for (const Message& message : messages) {
    order += std::holds_alternative<Autonomous>(message) ? "A"
             : std::holds_alternative<Response>(message) ? "M"
                                                         : "?";
  }
  return order;
}

TEST(EmulatorKnobs, EventsComeAroundTheAnswer) {
  const auto order = [](std::vector<std::string> knobs, const char* command) {
    Bench bench(Bench::with(std::move(knobs)));
    Client client(bench, "admin", "root");
    return order_of(client.messages(command));
  };
  EXPECT_EQ(order({}, "OPR-PORT-SHUTTER::1:5:;"), "AM");
  EXPECT_EQ(order({"event_order=after"}, "OPR-PORT-SHUTTER::1&2:5:;"), "MAA");
  EXPECT_EQ(order({"event_order=between", "bad_pair=prtl", "page_lines=1", "patch_events=on"},
                  "ENT-PATCH::1&2,9&99:5:;"),
            "MAM");
  EXPECT_EQ(order({}, "ENT-PATCH::1,9:5:;"), "M");
  EXPECT_EQ(order({"patch_events=on"}, "ENT-PATCH::1&2,9&10:5:;"), "AAM");
  EXPECT_EQ(order({"reports=off"}, "OPR-PORT-SHUTTER::1:5:;"), "M");
}

TEST(EmulatorKnobs, InhibitsReportsOfTheBoxOrOfASession) {
  for (const bool box : {true, false}) {
    Bench bench(Bench::with({box ? "inhibit_scope=box" : "inhibit_scope=session"}));
    Client quiet(bench, "admin", "root");
    Client other(bench, "admin", "root");
    quiet.one("OPR-ARC-EQPT::REPMGR:5::IND;");
    bench.control("event hello");
    EXPECT_EQ(order_of(quiet.messages("")), "");
    EXPECT_EQ(order_of(other.messages("")), box ? "" : "A");
  }
}

TEST(EmulatorKnobs, LimitsSessions) {
  Bench bench(Bench::with({"max_sessions=2", "not_logged_in_code=PIUI"}));
  Client first(bench);
  EXPECT_EQ(first.one("RTRV-HDR:::5:;"), "DENY PIUI Not logged in");
  Client second(bench);
  Client third(bench);
  EXPECT_FALSE(second.wants_close());
  EXPECT_TRUE(third.wants_close());
  third.close();
  first.close();
  Client fourth(bench);
  EXPECT_FALSE(fourth.wants_close());
}

TEST(EmulatorKnobs, EndsIdleSessions) {
  const auto logged_in_after = [](std::vector<std::string> knobs, Duration idle) {
    Bench bench(Bench::with(std::move(knobs)));
    Client client(bench, "admin", "root");
    bench.wait(idle);
    return client.one("RTRV-HDR:::5:;") == "COMPLD";
  };
  EXPECT_TRUE(logged_in_after({}, minutes(15) - seconds(1)));
  EXPECT_FALSE(logged_in_after({}, minutes(15)));
  EXPECT_FALSE(logged_in_after({"idle_unit=seconds"}, seconds(15)));
  EXPECT_FALSE(logged_in_after({"idle_timeout=1"}, minutes(1)));
  EXPECT_TRUE(logged_in_after({"idle_timeout=0"}, minutes(1000)));
}

TEST(EmulatorKnobs, ViewersMayRead) {
  Bench bench(Bench::with({"view_reads=off"}));
  Client view(bench, "view", "pw");
  EXPECT_EQ(view.one("RTRV-PATCH:::5:;"), "DENY PICC Permission denied");
  EXPECT_EQ(view.one("CANC-USER::view:5:;"), "COMPLD");
}

TEST(EmulatorKnobs, PagesContinueInThreeStyles) {
  const auto pages = [](const char* style) {
    Bench bench(Bench::with({std::string("continuation=") + style, "page_lines=3"}));
    Client client(bench, "admin", "root");
    std::string text;
    for (const Message& message : client.messages("RTRV-PORT-SHUTTER::1&&8:5:;")) {
      const auto& page = std::get<Response>(message);
      text += page.completion_word + std::to_string(page.lines.size()) + (page.more ? "> " : "; ");
    }
    return text;
  };
  EXPECT_EQ(pages("more"), "COMPLD3> COMPLD3> COMPLD2; ");
  EXPECT_EQ(pages("rtrv"), "RTRV3; RTRV3; COMPLD2; ");
  EXPECT_EQ(pages("repeat"), "COMPLD3; COMPLD3; COMPLD2; ");
}

TEST(EmulatorKnobs, ChangeTheBytes) {
  const auto bytes = [](std::vector<std::string> knobs) {
    Bench bench(Bench::with(std::move(knobs)));
    Client client(bench, "admin", "root");
    client.raw("ENT-PATCH::1,9:5:;");
    return client.raw("RTRV-PATCH:::5:;");
  };
  const std::string head = "\r\n\n   PolatisOXC 26-01-01 00:00:00\r\n";
  EXPECT_EQ(bytes({}), head + "M  5 COMPLD\r\n   \"1,9\"\r\n;");
  EXPECT_EQ(bytes({"date=yyyy"}),
            "\r\n\n   PolatisOXC 2026-01-01 00:00:00\r\nM  5 COMPLD\r\n   \"1,9\"\r\n;");
  EXPECT_EQ(bytes({"line_end=lf"}),
            "\n\n   PolatisOXC 26-01-01 00:00:00\nM  5 COMPLD\n   \"1,9\"\n;");
  EXPECT_EQ(bytes({"leading_blanks=1"}),
            "\r\n\n PolatisOXC 26-01-01 00:00:00\r\nM  5 COMPLD\r\n \"1,9\"\r\n;");
  EXPECT_EQ(bytes({"quotes=off"}), head + "M  5 COMPLD\r\n   1,9\r\n;");
  EXPECT_EQ(bytes({"case=lower"}), head + "m  5 compld\r\n   \"1,9\"\r\n;");
  EXPECT_EQ(bytes({"prompt=<"}), head + "M  5 COMPLD\r\n   \"1,9\"\r\n;<");
  EXPECT_EQ(bytes({"echo=on"}), "RTRV-PATCH:::5:;" + head + "M  5 COMPLD\r\n   \"1,9\"\r\n;");
}

TEST(EmulatorKnobs, GreetsNewConnections) {
  const auto greeting = [](std::vector<std::string> knobs) {
    Bench bench(Bench::with(std::move(knobs)));
    return Client(bench).raw("");
  };
  EXPECT_EQ(greeting({}), "");
  EXPECT_EQ(greeting({"banner=No entry; M  1 COMPLD"}), "\r\nNo entry; M  1 COMPLD\r\n");
  EXPECT_EQ(greeting({"prompt=>"}), ">");
  EXPECT_EQ(greeting({"telnet=on"}), "\xff\xfb\x01\xff\xfb\x03");
}

TEST(EmulatorKnobs, BootsDarkOrAsBefore) {
  for (const bool dark : {true, false}) {
    Bench bench(Bench::with({dark ? "boot=dark" : "boot=restore", "reboot_time=3000"}));
    Client client(bench, "admin", "root");
    client.raw("ENT-PATCH::1,9:5:;");
    EXPECT_EQ(client.one("INIT-SYS::SYSTEM:5::10;"), "COMPLD");
    EXPECT_TRUE(client.wants_close());
    client.close();
    EXPECT_FALSE(bench.emulated.light_at(PortId(9), bench.now));
    bench.wait(milliseconds(2999));
    EXPECT_TRUE(Client(bench).wants_close());
    bench.wait(milliseconds(1));
    Client again(bench, "admin", "root");
    EXPECT_EQ(again.one("RTRV-PATCH:::5:;"), dark ? "COMPLD" : "COMPLD 1,9");
  }
}

TEST(EmulatorKnobs, TimesCanBeFixed) {
  Bench bench(Bench::with({"switch_time=7", "relink_time=11"}));
  Client client(bench, "admin", "root");
  client.raw("ENT-PATCH::1,9:5:;");
  bench.wait(milliseconds(17));
  EXPECT_FALSE(bench.emulated.carrier(PortId(9), bench.now));
  bench.wait(milliseconds(1));
  EXPECT_TRUE(bench.emulated.carrier(PortId(9), bench.now));
}

}  // namespace
}  // namespace mixnet::ocs
