#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <vector>

#include "report/comparison_json.h"
#include "report/comparison_test_support.h"
#include "report/web_assets.h"

namespace mixnet::report {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

// The page without what is inside <script> and <style>, where "<" is not markup.
struct Page {
  std::string markup;
  std::vector<std::string> scripts;
};

Page split(const std::string& html) {
  Page page;
  std::size_t at = 0;
  for (const std::size_t end = html.size(); at < end;) {
    const std::size_t script = html.find("<script", at);
    page.markup += html.substr(at, script - at);
    if (script == std::string::npos) {
      break;
    }
    const std::size_t open = html.find('>', script) + 1;
    const std::size_t close = html.find("</script", open);
    page.markup += html.substr(script, open - script) + "</script>";
    page.scripts.push_back(html.substr(open, close - open));
    at = html.find('>', close) + 1;
  }
  return page;
}

// Elements still open at the end, or the first closing tag that does not match.
std::vector<std::string> unbalanced(const std::string& markup) {
  static const std::set<std::string> kVoid{"meta", "!doctype", "br", "link", "img"};
  std::vector<std::string> open;
  for (std::size_t at = markup.find('<'); at != std::string::npos; at = markup.find('<', at + 1)) {
    const bool closing = markup[at + 1] == '/';
    std::string name;
    for (std::size_t c = at + (closing ? 2 : 1);
         std::isalnum(static_cast<unsigned char>(markup[c])) != 0 || markup[c] == '!'; ++c) {
      name += markup[c];
    }
    if (kVoid.count(name) != 0) {
      continue;
    }
    if (!closing) {
      open.push_back(name);
    } else if (!open.empty() && open.back() == name) {
      open.pop_back();
    } else {
      return {"</" + name};
    }
  }
  return open;
}

std::string page_of(const Comparison& comparison, const ordered_json& config = {{"seed", 1}}) {
  return report_html(comparison, comparison_json(comparison, config, "0.1.0"), "A <job> & more");
}

TEST(Html, IsBalancedAndLoadsNothing) {
  for (const Comparison& comparison : {sample_comparison(), bare_comparison(), Comparison()}) {
    const Page page = split(page_of(comparison));
    EXPECT_TRUE(unbalanced(page.markup).empty()) << unbalanced(page.markup).front();
    EXPECT_THAT(page.markup, Not(HasSubstr("src=")));
    EXPECT_THAT(page.markup, Not(HasSubstr("href=")));
    EXPECT_THAT(page.markup, Not(HasSubstr("url(")));
    EXPECT_THAT(page.markup, Not(HasSubstr("@import")));
    EXPECT_THAT(page.markup, Not(HasSubstr("http://")));
    EXPECT_THAT(page.markup, Not(HasSubstr("https://")));
    EXPECT_THAT(page.markup, HasSubstr("default-src 'none'"));
    EXPECT_THAT(page.markup, Not(HasSubstr("{{")));
  }
}

TEST(Html, ShowsIterationsOnlyIfThereAreSeveral) {
  Comparison comparison = sample_comparison();
  EXPECT_THAT(split(page_of(comparison)).markup, Not(HasSubstr("id=\"series\"")));
  EXPECT_THAT(split(page_of(comparison)).markup, Not(HasSubstr("id=\"causes\"")));
  for (FabricResult& fabric : comparison.fabrics) {
    fabric.iterations.resize(3);
  }
  const Page page = split(page_of(comparison));
  EXPECT_THAT(page.markup, HasSubstr("id=\"series\""));
  EXPECT_THAT(page.markup, HasSubstr("id=\"causes\""));
  EXPECT_TRUE(unbalanced(page.markup).empty());
}

TEST(Html, HoldsTheResultTheChartsAndTheirScript) {
  const Comparison comparison = sample_comparison();
  const ordered_json result = comparison_json(comparison, {{"seed", 1}}, "0.1.0");
  const Page page = split(report_html(comparison, result, "x"));
  ASSERT_EQ(page.scripts.size(), 3u);
  EXPECT_EQ(ordered_json::parse(page.scripts[0]), result);
  EXPECT_THAT(page.scripts[1], HasSubstr(echarts_script()));
  EXPECT_THAT(page.scripts[2], HasSubstr(report_script()));
}

TEST(Html, NamesCannotBreakOut) {
  Comparison comparison = sample_comparison();
  const std::string attack = "</script><script>alert('x')</script><!-- & \"{{data}}\"";
  comparison.fabrics.front().name = attack;
  comparison.notes.push_back(attack);
  const ordered_json result = comparison_json(comparison, {{attack, attack}}, attack);
  const Page page = split(report_html(comparison, result, attack));
  ASSERT_EQ(page.scripts.size(), 3u);
  EXPECT_EQ(ordered_json::parse(page.scripts[0]), result);
  EXPECT_TRUE(unbalanced(page.markup).empty());
  EXPECT_THAT(page.markup, Not(HasSubstr("alert('x')")));
  EXPECT_THAT(page.markup, HasSubstr("&lt;/script&gt;"));
}

TEST(Html, ShowsFiguresNotesAndConfiguration) {
  const std::string markup = split(page_of(sample_comparison(), {{"model", "Mixtral"}})).markup;
  EXPECT_THAT(markup, HasSubstr("<title>A &lt;job&gt; &amp; more</title>"));
  EXPECT_THAT(markup, HasSubstr("<td>mixnet-relink</td><td>40.76</td>"));
  EXPECT_THAT(markup, HasSubstr("Which fabric: fat-tree has the shortest iteration"));
  EXPECT_THAT(markup, HasSubstr("<li>Prices are list prices of 2024 &amp; exclude power"));
  EXPECT_THAT(markup, HasSubstr("&quot;model&quot;: &quot;Mixtral&quot;"));
}

TEST(Html, EveryElementThatTheScriptDrawsInExists) {
  const std::string page = report_template();
  for (const char* id :
       {"data", "iteration", "value", "cost", "share", "traffic", "fabric", "demand", "circuits"}) {
    EXPECT_THAT(page, HasSubstr("id=\"" + std::string(id) + "\""));
    EXPECT_THAT(report_script(), HasSubstr("'" + std::string(id) + "'"));
  }
}

// The colours of report.js are keyed by activity name.
TEST(Html, TheScriptKnowsEveryActivity) {
  for (int a = 0; a < kActivityCount; ++a) {
    EXPECT_THAT(report_script(),
                HasSubstr("'" + std::string(activity_name(static_cast<Activity>(a))) + "': '#"));
  }
}

TEST(Html, EmbedsTheWholeChartLibrary) {
  const std::string script = echarts_script();
  EXPECT_THAT(script, HasSubstr("Licensed to the Apache Software Foundation"));
  EXPECT_THAT(script, HasSubstr("version=\"6.1.0\""));
  EXPECT_THAT(script.substr(script.size() - 20), HasSubstr("})"));
  // The parser of HTML would take either for the end or for markup.
  EXPECT_THAT(script, Not(HasSubstr("</script")));
  EXPECT_THAT(report_script(), Not(HasSubstr("</script")));
  EXPECT_THAT(script, Not(HasSubstr("<!--")));
}

}  // namespace
}  // namespace mixnet::report
