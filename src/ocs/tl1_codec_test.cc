#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/random.h"
#include "ocs/tl1_command_parser.h"
#include "ocs/tl1_decoder.h"
#include "ocs/tl1_encoder.h"
#include "ocs/tl1_errors.h"

namespace mixnet::ocs {
namespace {

std::string pick(RandomStream& random, std::string_view alphabet, std::size_t least,
                 std::size_t most) {
  std::string text;
  for (std::size_t n = least + random.below(most - least + 1); n > 0; --n) {
    text += alphabet[random.below(alphabet.size())];
  }
  return text;
}

constexpr std::string_view kWord = "abcXYZ0189-_./";
constexpr std::string_view kValue = "abcXYZ0189-_./ :,=&<>*#@";
constexpr std::string_view kText = "ab9 :;,<>\"\\/*M\t'\xc3";

Command random_command(RandomStream& random) {
  Command command;
  command.verb = "RTRV-" + pick(random, "ABCZ", 1, 8);
  command.tid = pick(random, "abc09- ", 0, 20);
  for (std::size_t group = random.below(4); group > 0; --group) {
    AidList list(1 + random.below(3));
    for (AidItem& item : list) {
      item.first = pick(random, kWord, 1, 5);
      item.last = random.below(3) == 0 ? pick(random, kWord, 1, 5) : "";
    }
    command.aid.push_back(list);
  }
  command.ctag = Ctag{static_cast<int32_t>(1 + random.below(Ctag::kMax))};
  for (std::size_t n = random.below(4); n > 0; --n) {
    ParameterBlock block(random.below(4));
    const bool named = random.below(2) == 0;
    for (Parameter& parameter : block) {
      parameter.key = named ? pick(random, "ABCZ", 1, 6) : "";
      parameter.value = pick(random, kValue, 1, 9);
    }
    command.blocks.push_back(block);
  }
  while (!command.blocks.empty() && command.blocks.back().empty()) {
    command.blocks.pop_back();
  }
  return command;
}

Header random_header(RandomStream& random) {
  constexpr std::string_view kSids[] = {"",    "PolatisOXC", "Polatis OXC",   "M",
                                        "A;b", "26-01-02",   "A  17 REPT EVT"};
  return Header{std::string(kSids[random.below(7)]),
                random.below(2) == 0 ? "26-10-25" : "2026-10-25", "12:34:56"};
}

std::vector<TextLine> random_lines(RandomStream& random) {
  std::vector<TextLine> lines(random.below(6));
  for (TextLine& line : lines) {
    switch (random.below(3)) {
      case 0:
        line = TextLine{TextLine::Kind::kQuoted, pick(random, kText, 0, 20)};
        break;
      case 1:
        line = TextLine{TextLine::Kind::kPlain, "p" + pick(random, "ab9:,<>=.", 0, 20)};
        break;
      default:
        line = TextLine{TextLine::Kind::kComment, "c" + pick(random, "a; \"<>\\", 0, 20) + "c"};
    }
  }
  return lines;
}

Message random_message(RandomStream& random) {
  const Header header = random_header(random);
  const std::string ctag = std::to_string(1 + random.below(Ctag::kMax));
  switch (random.below(4)) {
    case 0:
      return Acknowledgement{static_cast<AckCode>(random.below(6)),
                             random.below(4) == 0 ? "" : ctag};
    case 1: {
      const char* codes[] = {"*C", "**", "*", "A", "AA", ""};
      return Autonomous{header, codes[random.below(6)], static_cast<uint32_t>(random.below(65536)),
                        random.below(2) == 0 ? "REPT EVT" : "REPT ALM EQPT", random_lines(random)};
    }
    default: {
      const auto completion = static_cast<Completion>(random.below(5));
      return Response{header,
                      ctag,
                      completion,
                      std::string(name_of(completion)),
                      random_lines(random),
                      random.below(4) == 0};
    }
  }
}

std::vector<Message> decode(std::string_view bytes, std::size_t piece) {
  Tl1Decoder decoder;
  std::vector<Message> messages;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.feed(bytes.substr(at, piece), messages);
  }
  return messages;
}

TEST(Tl1Codec, ParsesTheCommandsItEncodes) {
  RandomStream random(7, "commands");
  for (int round = 0; round < 3000; ++round) {
    const Command command = random_command(random);
    const Result<std::string> bytes = encode(command);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    const Result<Command> parsed = parse_command(*bytes);
    ASSERT_TRUE(parsed.ok()) << *bytes << ": " << parsed.error().text();
    EXPECT_EQ(*parsed, command) << *bytes;
  }
}

TEST(Tl1Codec, DecodesTheMessagesItEncodesHoweverTheyAreCut) {
  RandomStream random(7, "messages");
  for (int round = 0; round < 600; ++round) {
    std::vector<Message> sent(1 + random.below(5));
    std::string bytes;
    for (Message& message : sent) {
      message = random_message(random);
      bytes += std::visit(
          [](const auto& m) -> std::string {
            if constexpr (!std::is_same_v<std::decay_t<decltype(m)>, ProtocolError>) {
              return encode(m);
            }
            return "";
          },
          message);
      bytes += random.below(2) == 0 ? "\r\n" : "\r\n< ";
    }
    for (const std::size_t piece : {bytes.size(), std::size_t{1}, 1 + random.below(7)}) {
      ASSERT_EQ(decode(bytes, piece), sent) << bytes;
    }
  }
}

TEST(Tl1Codec, WritesCommandsAsTheSwitchDocumentsThem) {
  const Command patch{"ENT-PATCH", "", {{{"1", ""}, {"2", ""}}, {{"49", ""}, {"50", ""}}}, {5}, {}};
  EXPECT_EQ(*encode(patch), "ENT-PATCH::1&2,49&50:5:;");
  const Command range{"RTRV-PATCH", "Polatis OXC", {{{"1", "3"}}}, {6}, {}};
  EXPECT_EQ(*encode(range), "RTRV-PATCH:\"Polatis OXC\":1&&3:6:;");
  const Command size{"RTRV-EQPT", "", {{{"SYSTEM", ""}}}, {7}, {{}, {}, {{"PARAMETER", "SIZE"}}}};
  EXPECT_EQ(*encode(size), "RTRV-EQPT::SYSTEM:7:::PARAMETER=SIZE;");
  const Login login{"", "admin", Secret("root")};
  EXPECT_EQ(*encode_login(login, Ctag{123}), "ACT-USER::admin:123::root;");
  EXPECT_EQ(describe_login(login, Ctag{123}), "ACT-USER::admin:123::***;");
  EXPECT_EQ(*encode_login(Login{"", "polatis2", Secret("")}, Ctag{1}), "ACT-USER::polatis2:1:;");
}

TEST(Tl1Codec, RefusesWhatMustNeverReachASwitch) {
  struct Case {
    Command command;
    const char* complaint;
  };
  const std::vector<AidList> port = {{{"1", ""}}};
  const Case cases[] = {
      {{"DLT-PATCH", "", {}, {5}, {}}, "deletes all"},
      {{"dlt-patch", "", {{{"ALL", ""}}}, {5}, {}}, "deletes all"},
      {{"DLT-PATCH", "", {{{"1", "96"}}}, {5}, {}}, "deletes all"},
      {{"DLT-PATCH", "", {{}}, {5}, {}}, "list is empty"},
      {{"INIT-SYS", "", {{{"SYSTEM", ""}}}, {5}, {{{"", "10"}}}}, "never sent"},
      {{"ED-DAT", "", {}, {5}, {}}, "never sent"},
      {{"RTRV-PATCH", "", port, {0}, {}}, "CTAG 0"},
      {{"RTRV-PATCH", "", port, {1000000}, {}}, "CTAG 1000000"},
      {{"RTRV-PATCH;", "", port, {5}, {}}, "no TL1 verb"},
      {{"RTRV-PATCH", "a-name-of-21-letters-", port, {5}, {}}, "at most 20"},
      {{"RTRV-PATCH", "", {{{"1:2", ""}}}, {5}, {}}, "1:2"},
      {{"RTRV-PATCH", "", {{{"1", ""}, {"", ""}}}, {5}, {}}, "AID"},
      {{"ED-PORT-LABEL", "", port, {5}, {{}, {{"LABEL", "a;b"}}}}, "\";\""},
      {{"ED-PORT-LABEL", "", port, {5}, {{}, {{"LABEL", "a\"b"}}}}, "quote"},
      {{"ED-PORT-LABEL", "", port, {5}, {{}, {{"LABEL", "a\r\nb"}}}}, "control"},
      {{"ED-PORT-LABEL", "", port, {5}, {{{"A", "1"}, {"", "2"}}}}, "mixes"},
      {{"RTRV-PATCH", "", {AidList(5000, AidItem{"1", ""})}, {5}, {}}, "at most 8192"},
  };
  for (const Case& c : cases) {
    const Result<std::string> bytes = encode(c.command);
    ASSERT_FALSE(bytes.ok()) << *bytes;
    EXPECT_NE(bytes.error().text().find(c.complaint), std::string::npos) << bytes.error().text();
  }
}

TEST(Tl1Codec, NeverNamesThePasswordItRefuses) {
  const Result<std::string> bytes = encode_login(Login{"", "admin", Secret("hush;hush")}, Ctag{5});
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().text().find("hush"), std::string::npos) << bytes.error().text();
}

template <typename T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

TEST(Tl1Codec, ASecretCannotBePrintedOrConverted) {
  static_assert(!Printable<Secret>);
  static_assert(!std::is_convertible_v<Secret, std::string>);
  static_assert(!std::is_convertible_v<Secret, std::string_view>);
}

TEST(Tl1Codec, ParsesCommandsAsASwitchDoes) {
  const Result<Command> all = parse_command("\r\ndlt-patch:::123:;");
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(all->aid.empty());
  const Result<Command> both = parse_command("ENT-PATCH::,:123:");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->aid.size(), 2u);
  // Offsets of the conformance suite: the colon behind the empty CTAG.
  EXPECT_EQ(parse_command("ACT-USER::admin::123::root;").error().text(),
            "Parse error at offset 17 in command");
  EXPECT_FALSE(parse_command("").ok());
  EXPECT_FALSE(parse_command("RTRV-PATCH").ok());
  EXPECT_FALSE(parse_command("RTRV-PATCH:\"a::1;").ok());
}

TEST(Tl1Codec, ExplainsDenials) {
  using Kind = TextLine::Kind;
  const Denial bad_port =
      parse_denial({{Kind::kPlain, "IDNV"}, {Kind::kComment, "Invalid OXC port: 1000"}});
  EXPECT_EQ(bad_port.describe(), "IDNV (data not valid): Invalid OXC port: 1000");
  const Denial several = parse_denial({{Kind::kPlain, "MERR"}, {Kind::kPlain, "IZZZ"}});
  EXPECT_EQ(several.describe(), "MERR (several errors), IZZZ (unknown code)");
  EXPECT_TRUE(several.has("IZZZ"));
  EXPECT_EQ(parse_denial({{Kind::kQuoted, "no"}}).describe(), "no error code: no");
  EXPECT_EQ(class_of("IZZZ"), ErrorClass::kInput);
  EXPECT_EQ(class_of("PLNA"), ErrorClass::kPrivilege);
  EXPECT_EQ(class_of("SARB"), ErrorClass::kStatus);
  EXPECT_EQ(class_of("ENEQ"), ErrorClass::kEquipment);
  EXPECT_EQ(class_of(""), ErrorClass::kOther);
  EXPECT_TRUE(is_worth_repeating("SARB"));
  EXPECT_FALSE(is_worth_repeating("SROF"));
}

TEST(Tl1Codec, BoundsLinesAndMessages) {
  const std::string head = "\r\n\n   X 26-10-25 12:00:00\r\nM  5 COMPLD\r\n";
  const std::string next =
      "\r\n" +
      encode(Response{
          {"X", "26-10-25", "12:00:00"}, "6", Completion::kCompleted, "COMPLD", {}, false});
  const std::string long_line = "   \"" + std::string(1 << 20, 'x') + "\"\r\n;";
  std::string long_message;
  for (int i = 0; i < 120'000; ++i) {
    long_message += "   \"1,49\"\r\n";
  }
  long_message += ";";
  for (const std::string& body : {long_line, long_message}) {
    for (const std::size_t piece : {std::size_t{1} << 24, std::size_t{1}, std::size_t{999}}) {
      std::string bytes = head;
      bytes += body;
      bytes += next;
      const auto messages = decode(bytes, piece);
      ASSERT_EQ(messages.size(), 2u);
      EXPECT_EQ(std::get<ProtocolError>(messages[0]).ctag, "5");
      EXPECT_EQ(std::get<Response>(messages[1]).ctag, "6");
    }
  }
}

}  // namespace
}  // namespace mixnet::ocs
