#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/host_file.h"
#include "scenario/load_table.h"

namespace mixnet::scenario {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HostFile, GpusShareNicsInOrder) {
  const HostShape h20 =
      parse_host_shape("[host]\ngpus = 8\nnics = 4\nnic_rate = \"400Gbps\"\n", "h").value();
  EXPECT_THAT(h20.nic_of_gpu, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_EQ(h20.nic_rate.size(), 4U);
  const HostShape uneven =
      parse_host_shape("[host]\ngpus = 3\nnics = 2\nnic_rates = [\"400Gbps\", \"100Gbps\"]\n", "h")
          .value();
  EXPECT_THAT(uneven.nic_of_gpu, ElementsAre(0, 0, 1));
  EXPECT_EQ(uneven.nic_rate[1], BitRate::from_gbps(100));
}

TEST(HostFile, MoreNicsThanGpusCountAsOnePerGpu) {
  const HostShape shape =
      parse_host_shape("[host]\ngpus = 2\nnics = 4\nnic_rate = \"100Gbps\"\n", "h").value();
  EXPECT_THAT(shape.nic_of_gpu, ElementsAre(0, 1));
  EXPECT_THAT(shape.nic_rate, ElementsAre(BitRate::from_gbps(200), BitRate::from_gbps(200)));
}

TEST(HostFile, ExamplesAreRead) {
  for (const char* const name : {"h20", "h800"}) {
    const auto shape =
        read_host_shape(std::string(MIXNET_SOURCE_DIR "/examples/") + name + ".toml");
    ASSERT_TRUE(shape.ok()) << shape.error().text();
    EXPECT_EQ(shape->nic_of_gpu.size(), 8U);
    EXPECT_GT(shape->nvlink_rate, shape->nic_rate[0]);
  }
}

TEST(HostFile, ErrorsNameTheLineAndTheFix) {
  const auto error = [](const char* text) {
    return parse_host_shape(text, "h.toml").error().text();
  };
  EXPECT_THAT(error("[host]\ngpu = 8\nnics = 4\n"), HasSubstr("h.toml:2"));
  EXPECT_THAT(error("[host]\ngpus = 8\nnics = 4\n"), HasSubstr("nic_rate"));
  EXPECT_THAT(error("[host]\ngpus = 3\nnics = 4\nnic_rate = \"1Gbps\"\n"),
              HasSubstr("a multiple of 3"));
  EXPECT_THAT(error("[host]\ngpus = 3\nnics = 2\nnic_rates = [\"1Gbps\"]\n"),
              HasSubstr("1 rates for 2 NICs"));
  EXPECT_THAT(error("[host]\ngpus = 3\nnics = 1\nnic_rates = [\"fast\"]\n"), HasSubstr("h.toml:4"));
  EXPECT_THAT(error("[host]\ngpus = 1\nnics = 1\nnic_rate = \"1Gbps\"\nnvlink_rate = \"fast\"\n"),
              HasSubstr("h.toml:5"));
  EXPECT_THAT(error("x = 1\n"), HasSubstr("h.toml:1"));
}

TEST(LoadTable, OneLayerPerLine) {
  const Matrix<int64_t> loads =
      parse_loads("# two layers\n1,2,3\n4 5 9223372036854775807\n", "l").value();
  EXPECT_EQ(loads.rows(), 2U);
  EXPECT_EQ(loads(0, 2), 3);
  EXPECT_EQ(loads(1, 2), INT64_MAX);
}

TEST(LoadTable, ErrorsNameTheLine) {
  const auto error = [](const char* text) { return parse_loads(text, "l.csv").error().text(); };
  EXPECT_THAT(error("1,2\n3,x\n"), HasSubstr("l.csv:2: \"x\" must be an integer"));
  EXPECT_THAT(error("1,2\n3,-4\n"), HasSubstr("l.csv:2"));
  EXPECT_THAT(error("1,2\n3,9223372036854775808\n"), HasSubstr("l.csv:2"));
  EXPECT_THAT(error("1,2\n\n3\n"), HasSubstr("l.csv:3: this row has 1 values"));
  EXPECT_THAT(error(""), HasSubstr("l.csv"));
  EXPECT_THAT(error("model,corpus,layer,total_assignments,counts...\n"), HasSubstr("trace import"));
}

}  // namespace
}  // namespace mixnet::scenario
