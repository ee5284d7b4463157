#include "report/sweep_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/page.h"

namespace mixnet::report {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

ordered_json sample() {
  const ordered_json fabric = {{"name", "fat-tree"}, {"iteration_s", 1.5}};
  return {{"label", "A <label>"},
          {"version", "1.2"},
          {"axes",
           {{{"keys", {"mixnet.alpha"}},
             {"log", false},
             {"values", {1, 2, 3}},
             {"magnitudes", {1, 2, 3}}}}},
          {"points", {{{"fabrics", {fabric}}}, nullptr, {{"error", "</script><script>alert(1)"}}}}};
}

TEST(SweepHtml, TellsWhatItIsMadeOf) {
  const std::string page = sweep_html(sample());
  EXPECT_THAT(page, HasSubstr("<h1>A &lt;label&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("3 points, 1 not simulated yet, 1 failed"));
  EXPECT_THAT(page, HasSubstr("mixnet 1.2"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
}

TEST(SweepHtml, TextOfAPointCannotEndItsScript) {
  const std::string page = sweep_html(sample());
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
}

TEST(SweepHtml, EmbedsTheDataUnchanged) {
  const std::string page = sweep_html(sample());
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t start = page.find(open) + open.size();
  const std::size_t end = page.find("</script>", start);
  EXPECT_EQ(ordered_json::parse(page.substr(start, end - start)), sample());
}

TEST(SweepHtml, LoadsNothing) {
  const std::string page = sweep_html(sample());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  const std::string markup = page.substr(0, page.find("id=\"data\""));
  EXPECT_THAT(markup, Not(HasSubstr("src=")));
  EXPECT_THAT(markup, Not(HasSubstr("href=")));
}

TEST(Page, FillsEveryPlaceOnce) {
  EXPECT_EQ(filled("a {{x}} b {{y}}{{x}}", {{"x", "{{y}}"}, {"y", "2"}}), "a {{y}} b 2{{y}}");
}

}  // namespace
}  // namespace mixnet::report
