#include "scenario/flow_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mixnet::scenario {
namespace {

using ::testing::HasSubstr;

TEST(FlowFile, ReadsFieldsCommentsBlankLinesAndCarriageReturns) {
  const Result<FlowSet> set = parse_flows(
      "# made by hand\r\nNodes 4\r\nConnections 2\r\nTriggers 0\n\n"
      "0->3 id 2 start 0 size 5\r\n  3->1\tsize 7 start 12 id 1 # last\n \n",
      "x.cm");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->hosts, 4);
  ASSERT_EQ(set->flows.size(), 2U);
  EXPECT_EQ(set->flows[0].source, 0);
  EXPECT_EQ(set->flows[0].destination, 3);
  EXPECT_EQ(set->flows[0].size, Bytes(5));
  EXPECT_EQ(set->flows[1].source, 3);
  EXPECT_EQ(set->flows[1].destination, 1);
  EXPECT_EQ(set->flows[1].start.ps(), 12);
  EXPECT_EQ(set->flows[1].size, Bytes(7));
}

TEST(FlowFile, ReadsBackWhatItWrites) {
  const std::string text =
      "Nodes 3\nConnections 2\n0->1 id 1 start 0 size 9\n"
      "2->0 id 2 start 5 size 1\n";
  EXPECT_EQ(flow_text(parse_flows(text, "x.cm").value()), text);
}

TEST(FlowFile, ReadsTheStoredFiles) {
  const std::string folder = MIXNET_SOURCE_DIR "/tests/data/flows/";
  const Result<FlowSet> set = read_flow_file(folder + "moe_128_ep32_256K.cm");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->hosts, 128);
  int64_t total = 0;
  for (const Flow& flow : set->flows) {
    total += flow.size.count();
  }
  EXPECT_EQ(set->flows.size(), 3'968U);
  EXPECT_EQ(total, 1'032'552'448);
}

struct BadText {
  const char* text;
  const char* where;
  const char* message;
};

TEST(FlowFile, NamesTheLineOfWhatIsWrong) {
  const BadText cases[] = {
      {"", "x.cm:1", "ends before the line 'Nodes N'"},
      {"Nodes 2\n", "x.cm:1", "ends before the line 'Connections C'"},
      {"0->1 id 1 start 0 size 1\n", "x.cm:1", "begins with the lines"},
      {"Nodes 0\n", "x.cm:1", "from 1 to"},
      {"Nodes -3\n", "x.cm:1", "'Nodes -3'"},
      {"Nodes 4 5\n", "x.cm:1", "one whole number"},
      {"Nodes 99999999999999999999\n", "x.cm:1", "from 1 to"},
      {"Nodes 2\nNodes 2\n", "x.cm:2", "given twice"},
      {"Nodes 2\nConnections none\n", "x.cm:2", "'Connections none'"},
  };
  for (const BadText& bad : cases) {
    const Result<FlowSet> set = parse_flows(bad.text, "x.cm");
    ASSERT_FALSE(set.ok()) << bad.text;
    EXPECT_EQ(set.error().where, bad.where) << bad.text;
    EXPECT_THAT(set.error().message, HasSubstr(bad.message));
  }
}

TEST(FlowFile, NamesTheFlowLineOfWhatIsWrong) {
  const BadText cases[] = {
      {"0->4 id 1 start 0 size 1\n", "x.cm:3", "from 0 to 3 (Nodes 4)"},
      {"-1->2 id 1 start 0 size 1\n", "x.cm:3", "not understood"},
      {"1->1 id 1 start 0 size 1\n", "x.cm:3", "does not send to itself"},
      {"0-1 id 1 start 0 size 1\n", "x.cm:3", "not understood"},
      {"0->1 id 0 start 0 size 1\n", "x.cm:3", "'id 0'"},
      {"0->1 id 3 start 0 size 1\n", "x.cm:3", "'id 3'"},
      {"0->1 id 1 start 0 size -5\n", "x.cm:3", "'size -5'"},
      {"0->1 id 1 start 0 size 0\n", "x.cm:3", "'size 0'"},
      {"0->1 id 1 start 0 size 1.5\n", "x.cm:3", "whole number of bytes"},
      {"0->1 id 1 start 0 size 64K\n", "x.cm:3", "'size 64K'"},
      {"0->1 id 1 start -1 size 1\n", "x.cm:3", "'start -1'"},
      {"0->1 id 1 start 0\n", "x.cm:3", "no size"},
      {"0->1 id 1 size 5\n", "x.cm:3", "no start"},
      {"0->1 start 0 size 5\n", "x.cm:3", "no id"},
      {"0->1 id 1 start 0 size\n", "x.cm:3", "'size '"},
      {"0->1 id 1 id 2 start 0 size 5\n", "x.cm:3", "'id' is given twice"},
      {"0->1 id 1 start 0 size 5 prio 1\n", "x.cm:3", "'prio' is not supported"},
      {"0->1 id 1 trigger 4 size 5\n", "x.cm:3", "'trigger' is not supported"},
      {"Triggers 2\n", "x.cm:3", "'Triggers' is not supported"},
      {"trigger id 1 oneshot\n", "x.cm:3", "'trigger' is not supported"},
      {"failure switch_type TOR switch_id 0 link_id 1\n", "x.cm:3", "'failure' is not supported"},
      {"0->1 id 1 start 0 size 5\n1->0 id 1 start 0 size 5\n", "x.cm:4", "two flows"},
      {"0->1 id 1 start 0 size 5\n", "x.cm:3", "ends after 1 flows"},
      {"0->1 id 1 start 0 size 5\n1->0 id 2 start 0 size 5\n2->0 id 2 start 0 size 5\n", "x.cm:5",
       "more flows"},
  };
  for (const BadText& bad : cases) {
    const Result<FlowSet> set =
        parse_flows(std::string("Nodes 4\nConnections 2\n") + bad.text, "x.cm");
    ASSERT_FALSE(set.ok()) << bad.text;
    EXPECT_EQ(set.error().where, bad.where) << bad.text;
    EXPECT_THAT(set.error().message, HasSubstr(bad.message));
  }
}

TEST(FlowFile, NamesAFileThatCannotBeRead) {
  EXPECT_THAT(read_flow_file("/nonexistent/x.cm").error().text(),
              HasSubstr("/nonexistent/x.cm: cannot read the flow file: No such file"));
  EXPECT_THAT(read_flow_file("/").error().text(), HasSubstr("cannot read the flow file"));
}

}  // namespace
}  // namespace mixnet::scenario
