#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ocs/tl1_command_parser.h"
#include "ocs/tl1_session.h"

// What switches do on the wire, each case with the stream whole, cut once at every byte, byte by
// byte, and with the next message in the same read.
namespace mixnet::ocs {
namespace {

using namespace std::chrono_literals;

struct Step {
  enum class Kind { kSubmit, kBytes, kWait, kDrop };
  Kind kind;
  std::string text;
  Duration wait{0};
};
Step submit(std::string command) { return Step{Step::Kind::kSubmit, std::move(command)}; }
Step bytes(std::string text) { return Step{Step::Kind::kBytes, std::move(text)}; }
Step wait(Duration duration) { return Step{Step::Kind::kWait, "", duration}; }
Step drop() { return Step{Step::Kind::kDrop, ""}; }

struct Case {
  std::string name;
  std::vector<Step> steps;
  std::vector<std::string> expected;
  bool logs_in_itself = false;
  bool ends_open = false;  // the last bytes end inside a message: nothing can follow them
  Duration page_grace{0};
};

const std::string kHead = "\r\n\n   PolatisOXC 26-10-25 12:00:00\r\n";
const std::string kPassword = "s3cret";
const std::string kPatch = "ENT-PATCH::1,49:1:;";
const std::string kRead = "RTRV-PATCH::ALL:1:;";

std::string answer(const std::string& rest) { return kHead + "M  " + rest + "\r\n;"; }
std::string event(const std::string& atag) {
  return kHead + "A  " + atag + " REPT EVT\r\n   \"1:EV,X,,,,,:\\\"Port 1 disabled\\\"\"\r\n;";
}

std::string line_text(const std::vector<TextLine>& lines) {
  std::string text;
  for (const TextLine& line : lines) {
    text += (text.empty() ? " " : "|") + line.text;
  }
  return text;
}

struct Describe {
  std::string operator()(const CommandDone& e) const {
    std::string text = e.command.verb + "#" + std::to_string(e.command.ctag.value) + " " +
                       std::string(name_of(e.outcome)) + line_text(e.lines);
    for (const std::string& code : e.denial.codes) {
      text += " code " + code;
    }
    return text;
  }
  std::string operator()(const LoggedIn& e) const { return "login " + e.sid; }
  std::string operator()(const LoginFailed&) const { return "login failed"; }
  std::string operator()(const LoggedOut&) const { return "logout"; }
  std::string operator()(const AutonomousEvent& e) const {
    return "event " + std::to_string(e.message.atag) + " of " + e.message.header.sid;
  }
  std::string operator()(const EventsLost&) const { return "events lost"; }
  std::string operator()(const SessionLost&) const { return "lost"; }
};

std::string all_text(const SessionEvent& event) {
  return std::visit(
      [](const auto& e) -> std::string {
        if constexpr (requires { e.message.data(); }) {
          return Describe()(e) + e.message;
        } else {
          return Describe()(e);
        }
      },
      event);
}

class Replay {
 public:
  Replay(const Case& c, std::optional<std::size_t> cut, bool single_bytes, const std::string& tail)
      : session_(options(c)), cut_(cut), single_bytes_(single_bytes) {
    session_.connected(now_);
    EXPECT_NE(session_.take_output().find(kPassword), std::string::npos);
    if (!c.logs_in_itself) {
      session_.feed(answer("4 COMPLD"), now_);
      EXPECT_TRUE(session_.state() == Tl1Session::State::kReady);
      session_.take_events();
    }
    const auto last = std::find_if(c.steps.rbegin(), c.steps.rend(),
                                   [](const Step& s) { return s.kind == Step::Kind::kBytes; });
    for (const Step& s : c.steps) {
      const bool is_last = last != c.steps.rend() && &s == &*last;
      step(is_last ? Step{s.kind, s.text + tail, s.wait} : s);
    }
  }

  // What happened; everything that was submitted ends exactly once, by a deadline.
  std::vector<std::string> finish() {
    std::vector<std::string> seen = transcript_;
    advance(60s);
    EXPECT_EQ(done_, submitted_);
    return seen;
  }
  const SessionCounters& counters() const { return session_.counters(); }
  bool sent_anything() const { return sent_; }

 private:
  static SessionOptions options(const Case& c) {
    SessionOptions options;
    options.peer = "ocs1";
    options.login = Login{"", "mixnet", Secret(kPassword)};
    options.first_ctag = Ctag{4};
    options.page_grace = c.page_grace;
    options.limits.line_bytes = 200;
    return options;
  }

  void step(const Step& s) {
    switch (s.kind) {
      case Step::Kind::kSubmit: {
        const Command command = *parse_command(s.text);
        const bool read = command.verb.substr(0, 4) == "RTRV";
        if (session_.submit(command, read ? kReadDeadlines : kWriteDeadlines, now_)) {
          ++submitted_;
        } else {
          transcript_.push_back("refused");
        }
        break;
      }
      case Step::Kind::kBytes:
        feed(s.text);
        break;
      case Step::Kind::kWait:
        advance(s.wait);
        break;
      case Step::Kind::kDrop:
        session_.disconnected("reset by peer");
        break;
    }
    collect();
  }

  void feed(std::string_view text) {
    const std::size_t start = fed_;
    fed_ += text.size();
    if (single_bytes_) {
      for (const char c : text) {
        session_.feed(std::string_view(&c, 1), now_);
      }
    } else if (cut_ && *cut_ > start && *cut_ < fed_) {
      session_.feed(text.substr(0, *cut_ - start), now_);
      session_.feed(text.substr(*cut_ - start), now_);
    } else {
      session_.feed(text, now_);
    }
  }

  void advance(Duration duration) {
    const Instant end = now_ + duration;
    for (auto next = session_.next_deadline(); next && *next <= end;
         next = session_.next_deadline()) {
      ASSERT_GE(*next, now_);
      now_ = *next;
      session_.tick(now_);
      collect();
      const auto after = session_.next_deadline();
      ASSERT_TRUE(!after || *after > now_) << "a deadline that stays due";
    }
    now_ = end;
  }

  void collect() {
    for (const SessionEvent& e : session_.take_events()) {
      EXPECT_EQ(all_text(e).find(kPassword), std::string::npos) << all_text(e);
      done_ += std::holds_alternative<CommandDone>(e) ? 1 : 0;
      transcript_.push_back(std::visit(Describe(), e));
    }
    sent_ = sent_ || !session_.take_output().empty();
  }

  Tl1Session session_;
  std::optional<std::size_t> cut_;
  bool single_bytes_;
  Instant now_{};
  std::size_t fed_ = 0;
  int submitted_ = 0;
  int done_ = 0;
  bool sent_ = false;
  std::vector<std::string> transcript_;
};

void expect_case(const Case& c) {
  SCOPED_TRACE(c.name);
  EXPECT_EQ(Replay(c, {}, false, "").finish(), c.expected);
  EXPECT_EQ(Replay(c, {}, true, "").finish(), c.expected) << "byte by byte";
  std::size_t size = 0;
  for (const Step& s : c.steps) {
    size += s.kind == Step::Kind::kBytes ? s.text.size() : 0;
  }
  for (std::size_t cut = 1; cut < size; ++cut) {
    ASSERT_EQ(Replay(c, cut, false, "").finish(), c.expected) << "cut at byte " << cut;
  }
  if (!c.ends_open) {
    EXPECT_EQ(Replay(c, {}, false, answer("777 COMPLD")).finish(), c.expected) << "coalesced";
  }
}

const std::vector<std::string> kPatched = {"ENT-PATCH#5 COMPLETED"};
const std::vector<std::string> kGone = {"ENT-PATCH#5 UNKNOWN", "lost"};

TEST(Tl1WireCases, C01EventsInTheMiddleOfAnything) {
  expect_case({"before",
               {submit(kPatch), bytes(event("17") + answer("5 COMPLD"))},
               {"event 17 of PolatisOXC", "ENT-PATCH#5 COMPLETED"}});
  expect_case({"after",
               {submit(kPatch), bytes(answer("5 COMPLD") + event("17"))},
               {"ENT-PATCH#5 COMPLETED", "event 17 of PolatisOXC"}});
  expect_case({"between pages",
               {submit(kRead), bytes(kHead + "M  5 COMPLD\r\n   \"1,49\"\r\n>" + event("17") +
                                     answer("5 COMPLD\r\n   \"2,50\""))},
               {"event 17 of PolatisOXC", "RTRV-PATCH#5 COMPLETED 1,49|2,50"}});
}

TEST(Tl1WireCases, C02SegmentsSplitAnywhere) {
  expect_case({"table",
               {submit(kRead), bytes(answer("5 COMPLD\r\n   \"1,49\"\r\n   \"2,50\""))},
               {"RTRV-PATCH#5 COMPLETED 1,49|2,50"}});
}

TEST(Tl1WireCases, C03TerminatorsInsideQuotes) {
  expect_case({"escaped",
               {submit(kRead), bytes(answer("5 COMPLD\r\n   \"1:LABEL=\\\"a;b>c<\\\"\""))},
               {"RTRV-PATCH#5 COMPLETED 1:LABEL=\"a;b>c<\""}});
  expect_case({"quotes that do not end",
               {submit(kPatch), bytes(kHead + "M  5 COMPLD\r\n   \"1,49;\r\n;")},
               kGone});
  expect_case({"an event whose quotes do not end",
               {submit(kPatch),
                bytes(kHead + "A  17 REPT EVT\r\n   \"x\r\n   \"y;\"\r\n;" + answer("5 COMPLD"))},
               {"events lost", "ENT-PATCH#5 COMPLETED"}});
}

TEST(Tl1WireCases, C04MissingTerminator) {
  Case c{"silence", {submit(kPatch), bytes(kHead + "M  5 COMPLD\r\n"), wait(2s)}, kGone};
  c.ends_open = true;
  expect_case(c);
  expect_case({"another message",
               {submit(kRead), bytes(kHead + "M  5 COMPLD\r\n   \"1,49\"\r\n" + event("17"))},
               {"RTRV-PATCH#5 UNKNOWN", "lost"}});
}

TEST(Tl1WireCases, C05OddWhiteSpaceAndCase) {
  expect_case({"line feeds only",
               {submit(kRead), bytes("\n\n  x  2026-10-25 12:00:00 \t\nm\t5 compld \n\t\"1,49\" \n"
                                     "   \t\n ;\n")},
               {"RTRV-PATCH#5 COMPLETED 1,49"}});
}

TEST(Tl1WireCases, C06Acknowledgements) {
  expect_case({"in progress extends",
               {submit(kPatch), bytes("IP 5\r\n<"), wait(9s), bytes(answer("5 COMPLD"))},
               kPatched});
  expect_case({"the other terminator, repeated",
               {submit(kPatch), bytes("\r\nip 5\r\n>IP 5\r\n>PF 5\r\n<"), wait(9s),
                bytes(answer("5 COMPLD"))},
               kPatched});
  expect_case({"not for ever", {submit(kPatch), bytes("IP 5\r\n<"), wait(10s)}, kGone});
  expect_case({"all right, then silence", {submit(kPatch), bytes("OK 5\r\n<"), wait(10s)}, kGone});
  expect_case({"without a CTAG",
               {submit(kPatch), bytes("IP\r\n<"), wait(9s), bytes(answer("5 COMPLD"))},
               kPatched});
  for (const char* code : {"RL 5", "NA 5", "NG 5", "RL"}) {
    expect_case({code, {submit(kPatch), bytes(std::string(code) + "\r\n<")}, {"ENT-PATCH#5 BUSY"}});
  }
  expect_case({"of another command",
               {submit(kPatch), bytes("RL 6\r\n<"), bytes(answer("5 COMPLD"))},
               kPatched});
}

TEST(Tl1WireCases, C07PartialCompletion) {
  expect_case({"some lines",
               {submit(kPatch), bytes(answer("5 PRTL\r\n   \"1,49\""))},
               {"ENT-PATCH#5 PARTIAL 1,49"}});
  expect_case({"none", {submit(kPatch), bytes(answer("5 PRTL"))}, {"ENT-PATCH#5 PARTIAL"}});
}

TEST(Tl1WireCases, C08Delay) {
  expect_case({"delay", {submit(kPatch), bytes(answer("5 DELAY"))}, {"ENT-PATCH#5 DELAYED"}});
}

TEST(Tl1WireCases, C09Continuation) {
  const std::string page = "\r\n   \"1,49\"\r\n";
  const std::vector<std::string> both = {"RTRV-PATCH#5 COMPLETED 1,49|2,50"};
  const std::string last = answer("5 COMPLD\r\n   \"2,50\"");
  expect_case(
      {"greater-than", {submit(kRead), bytes(kHead + "M  5 COMPLD" + page + ">" + last)}, both});
  expect_case({"retrieved blocks and a prompt",
               {submit(kRead), bytes(kHead + "M  5 RTRV" + page + ";\r\n> " + last)},
               both});
  Case repeated{"repeated completion",
                {submit(kRead), bytes(kHead + "M  5 COMPLD" + page + ";" + last), wait(200ms)},
                both};
  repeated.page_grace = 100ms;
  expect_case(repeated);
  expect_case({"a page is missing",
               {submit(kRead), bytes(kHead + "M  5 COMPLD" + page + ">"), wait(5s)},
               {"RTRV-PATCH#5 UNKNOWN", "lost"}});
}

TEST(Tl1WireCases, C09LongTables) {
  // 70,000 bytes in 64 pages of each style.
  const auto pages = [](const char* word, const char* end, const char* between) {
    std::string text;
    for (int port = 1; port <= 640; ++port) {
      text += port % 10 == 1 ? kHead + "M  5 " + word + "\r\n" : "";
      text += "   \"" + std::to_string(port) + "," + std::string(90, '9') + "\"\r\n";
      text += port % 10 == 0 ? port == 640 ? ";" : std::string(end) + between : "";
    }
    return text;
  };
  const std::string closing = answer("5 COMPLD");
  for (const std::string& text :
       {pages("COMPLD", ">", ""), pages("RTRV", ";", "\r\n> ") + closing}) {
    ASSERT_GT(text.size(), 65536u);
    const Case c{"table", {submit(kRead), bytes(text)}, {}};
    const auto whole = Replay(c, {}, false, "").finish();
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(std::count(whole[0].begin(), whole[0].end(), '|'), 639);
    EXPECT_EQ(Replay(c, {}, true, "").finish(), whole);
    for (std::size_t cut = 1; cut < text.size(); cut += 977) {
      ASSERT_EQ(Replay(c, cut, false, "").finish(), whole);
    }
  }
}

TEST(Tl1WireCases, C10OtherTags) {
  const Case c{
      "not ours",
      {submit(kPatch), bytes(answer("999 COMPLD") + answer("005 COMPLD") + answer("\"5\" COMPLD") +
                             answer("\"5 ; 5\" COMPLD") + answer("5 COMPLD"))},
      kPatched};
  expect_case(c);
  Replay run(c, {}, false, "");
  EXPECT_EQ(run.counters().foreign_answers, 4u);
  expect_case({"unreadable tag",
               {submit(kPatch), bytes(answer("0 DENY\r\n   IICT"))},
               {"ENT-PATCH#5 DENIED IICT code IICT"}});
  expect_case({"a completion of tag 0",
               {submit(kPatch), bytes(answer("0 COMPLD")), wait(1s), bytes(answer("5 COMPLD"))},
               kPatched});
}

TEST(Tl1WireCases, C11DuplicateAndLate) {
  const Case twice{"twice",
                   {submit(kPatch), bytes(answer("5 COMPLD") + answer("5 COMPLD")), submit(kRead),
                    bytes(answer("5 DENY") + answer("6 COMPLD"))},
                   {"ENT-PATCH#5 COMPLETED", "RTRV-PATCH#6 COMPLETED"}};
  expect_case(twice);
  EXPECT_EQ(Replay(twice, {}, false, "").counters().late_answers, 2u);
  const Case late{"late",
                  {submit(kPatch), wait(2s), submit(kRead),
                   bytes(answer("5 COMPLD") + answer("6 COMPLD\r\n   \"1,49\"")), wait(15s)},
                  {"ENT-PATCH#5 UNKNOWN", "RTRV-PATCH#6 COMPLETED 1,49"}};
  expect_case(late);
  EXPECT_EQ(Replay(late, {}, false, "").counters().late_answers, 1u);
  expect_case({"never",
               {submit(kPatch), wait(2s), submit(kRead), bytes(answer("6 COMPLD")), wait(8s)},
               {"ENT-PATCH#5 UNKNOWN", "RTRV-PATCH#6 COMPLETED", "lost"}});
  expect_case({"no second write beside an overdue one",
               {submit(kPatch), submit(kPatch), wait(9s), bytes(answer("5 COMPLD")), wait(1s),
                bytes(answer("6 COMPLD"))},
               {"ENT-PATCH#5 UNKNOWN", "ENT-PATCH#6 COMPLETED"}});
}

TEST(Tl1WireCases, C12SessionDrop) {
  Case cut{"in the middle of the answer",
           {submit(kPatch), submit(kRead), bytes(kHead + "M  5 COM"), drop()},
           {"ENT-PATCH#5 UNKNOWN", "RTRV-PATCH#0 NOT SENT", "lost"}};
  cut.ends_open = true;
  expect_case(cut);
  expect_case({"before the answer",
               {submit(kPatch), drop(), submit(kPatch)},
               {"ENT-PATCH#5 UNKNOWN", "lost", "refused"}});
  expect_case({"half open", {wait(25s)}, {"lost"}});
  expect_case({"alive", {wait(20s), bytes(answer("5 COMPLD")), wait(19s)}, {}});
}

TEST(Tl1WireCases, C13BannerEchoPromptTelnet) {
  expect_case({"noise",
               {submit(kPatch),
                bytes("\xff\xfb\x01\xff\xfd\x03Keep out; or else\r\nM  5 COMPLD\r\n;\r\n"
                      "Last login 26-10-24 09:00:00\r\n<ENT-PATCH::1,49:5:;\r\n"
                      "act-user::mixnet:4::" +
                      kPassword + ";\r\n> "),
                wait(1s), bytes(answer("5 COMPLD") + "\r\n<\r\n> ")},
               kPatched});
}

TEST(Tl1WireCases, C14SidTraps) {
  std::string text;
  std::vector<std::string> expected;
  int atag = 17;
  for (const std::string sid :
       {"( nil )", "", "Polatis OXC", "M", "a;b", "26-10-25 12:00:00", "A"}) {
    text +=
        "\r\n\n   " + sid + " 26-10-25 12:00:00\r\nA  " + std::to_string(atag) + " REPT EVT\r\n;";
    expected.push_back("event " + std::to_string(atag++) + " of " + (sid == "( nil )" ? "" : sid));
  }
  expect_case({"events", {bytes(text)}, expected});
  Case login{
      "login", {bytes("\r\n\n   ( nil ) 26-10-25 12:00:00\r\nM  4 COMPLD\r\n;")}, {"login "}};
  login.logs_in_itself = true;
  expect_case(login);
}

TEST(Tl1WireCases, C15LoginTraps) {
  const std::string expired = answer("5 DENY\r\n   PLNA\r\n   /* Not logged in */");
  expect_case({"the session expired",
               {submit(kPatch), bytes(expired), bytes(answer("6 COMPLD")), submit(kRead),
                bytes(answer("7 COMPLD"))},
               {"ENT-PATCH#5 DENIED PLNA|Not logged in code PLNA", "login PolatisOXC",
                "RTRV-PATCH#7 COMPLETED"}});
  expect_case({"and again",
               {submit(kPatch), bytes(expired), bytes(answer("6 COMPLD")), submit(kRead),
                bytes(answer("7 DENY\r\n   \"Not logged in\""))},
               {"ENT-PATCH#5 DENIED PLNA|Not logged in code PLNA", "login PolatisOXC",
                "RTRV-PATCH#7 DENIED Not logged in", "lost"}});
  const std::vector<std::string> failed = {"login failed", "lost"};
  for (Case c :
       {Case{"wrong password",
             {bytes(answer("4 DENY\r\n   PICC\r\n   /* not " + kPassword + " */"))},
             failed},
        Case{
            "already", {bytes(answer("4 DENY\r\n   \"Already logged in\""))}, {"login PolatisOXC"}},
        Case{"closed at once", {drop()}, failed}, Case{"silence", {wait(5s)}, failed},
        Case{"busy", {bytes("RL 4\r\n<")}, failed}}) {
    c.logs_in_itself = true;
    expect_case(c);
  }
}

TEST(Tl1WireCases, C16LinesAndDenials) {
  expect_case({"unquoted and comment lines",
               {submit(kRead), bytes(answer("5 COMPLD\r\n   1,49\r\n   /* a; \"b */"))},
               {"RTRV-PATCH#5 COMPLETED 1,49|a; \"b"}});
  const auto denied = [](const std::string& lines, const std::string& seen) {
    expect_case(
        {lines, {submit(kPatch), bytes(answer("5 DENY" + lines))}, {"ENT-PATCH#5 DENIED" + seen}});
  };
  denied("\r\n   IDNV", " IDNV code IDNV");
  denied("\r\n   /* Invalid OXC port: 1000 */", " Invalid OXC port: 1000");
  denied("\r\n   MERR\r\n   IDNV\r\n   IPMS", " MERR|IDNV|IPMS code MERR code IDNV code IPMS");
  denied("", "");
  expect_case({"unknown completion",
               {submit(kPatch), bytes(answer("5 MAYBE " + kPassword))},
               {"ENT-PATCH#5 UNINTELLIGIBLE"}});
}

TEST(Tl1WireCases, C17SelfContradictionIsLeftToReadBack) {
  expect_case({"completed but absent",
               {submit(kPatch), bytes(answer("5 COMPLD")), submit(kRead),
                bytes(answer("6 COMPLD\r\n   \"1,50\""))},
               {"ENT-PATCH#5 COMPLETED", "RTRV-PATCH#6 COMPLETED 1,50"}});
}

TEST(Tl1WireCases, C18AtagGap) {
  expect_case({"gap",
               {bytes(event("17") + event("20"))},
               {"event 17 of PolatisOXC", "events lost", "event 20 of PolatisOXC"}});
  expect_case({"wrap",
               {bytes(event("65535") + event("1"))},
               {"event 65535 of PolatisOXC", "event 1 of PolatisOXC"}});
}

TEST(Tl1WireCases, C19BadBytes) {
  using namespace std::string_literals;
  expect_case({"NUL, 8 bits, CR CR LF",
               {submit(kRead), bytes("\r\r\n\0\n   OXC 26-10-25 12:00:00\r\r\nM  5 COM\0PLD\r\r\n"
                                     "   \"\xc3\xa9\x80\"\r\r\n;"s)},
               {"RTRV-PATCH#5 COMPLETED \xc3\xa9\x80"}});
  expect_case(
      {"a long line in the answer",
       {submit(kPatch), bytes(kHead + "M  5 COMPLD\r\n   " + std::string(300, 'x') + "\r\n;")},
       kGone});
  expect_case({"a long line of noise",
               {submit(kPatch), bytes(std::string(300, 'x') + "\r\n" + answer("5 COMPLD"))},
               {"events lost", "ENT-PATCH#5 COMPLETED"}});
}

TEST(Tl1WireCases, C20NothingDangerousIsSent) {
  for (const char* command : {"DLT-PATCH:::1:;", "DLT-PATCH::ALL:1:;", "DLT-PATCH::1&&96:1:;",
                              "INIT-SYS::SYSTEM:1::10;", "ED-DAT:::1::26-01-01,00-00-00;"}) {
    Replay run({command, {submit(command)}, {}}, {}, false, "");
    EXPECT_FALSE(run.sent_anything()) << command;
    EXPECT_EQ(run.finish(), std::vector<std::string>{"refused"}) << command;
  }
}

}  // namespace
}  // namespace mixnet::ocs
