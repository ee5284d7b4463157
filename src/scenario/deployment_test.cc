#include "scenario/deployment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kSmall = R"([model]
name = "deepseek-r1"
[cluster]
gpu = "h20"
nics_per_server = 4
nic_rate = "400Gbps"
[serving]
ep = 32
batches = [8, 16]
)";

std::string small_with(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  const Result<Deployment> d = parse_deployment(text, "d.toml");
  return d.ok() ? "no error" : d.error().text();
}

TEST(Deployment, MissingKeysKeepTheirDefaults) {
  const Result<Deployment> d = parse_deployment(kSmall, "d.toml");
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(d->model.name, "deepseek-v3");
  EXPECT_EQ(d->gpu.name, "h20");
  EXPECT_EQ(d->gpus_per_host, 8);
  EXPECT_EQ(d->nics_per_host, 4);
  EXPECT_EQ(d->batches, (std::vector<int>{8, 16}));
  EXPECT_EQ(d->phase, Phase::kDecode);
  EXPECT_EQ(d->overheads.relay.kernel, Deployment().overheads.relay.kernel);
  EXPECT_FALSE(d->imbalance.has_value());
  EXPECT_TRUE(d->measured.empty());
}

TEST(Deployment, EveryKeyIsRead) {
  const std::string text = kSmall + R"(phase = "forward"
context = 8192
[precision]
weight_bytes = 2
dispatch_bytes = 2
combine_bytes = 1
cache_bytes = 1
[compute]
efficiency = 0.5
memory_efficiency = 0.8
nvlink_efficiency = 0.7
sm_share = 0.2
launch = "3us"
other = "1ms"
[transport]
direct = { latency = "1us", kernel = "2us" }
nvlink = { latency = "3us", kernel = "4us" }
[transport.relay]
latency = "5us"
kernel = "6us"
[skew]
gpu = 1.5
nic = 1.4
host = 1.1
[[measured]]
batch = 16
attention = "139us"
dispatch = "88us"
gemm = "69us"
combine = "64us"
[[measured]]
batch = 8
transport = "relay"
gemm = "68us"
)";
  const Result<Deployment> d = parse_deployment(text, "d.toml");
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(d->phase, Phase::kForward);
  EXPECT_EQ(d->context, 8192);
  EXPECT_DOUBLE_EQ(d->weight_bytes + d->dispatch_bytes + d->combine_bytes + d->cache_bytes, 6);
  EXPECT_DOUBLE_EQ(d->compute_efficiency, 0.5);
  EXPECT_DOUBLE_EQ(d->memory_efficiency, 0.8);
  EXPECT_DOUBLE_EQ(d->nvlink_efficiency, 0.7);
  EXPECT_DOUBLE_EQ(d->sm_share, 0.2);
  EXPECT_EQ(d->launch, SimTime::from_us(3));
  EXPECT_EQ(d->other, SimTime::from_ms(1));
  EXPECT_EQ(d->overheads.direct.latency, SimTime::from_us(1));
  EXPECT_EQ(d->overheads.nvlink.kernel, SimTime::from_us(4));
  EXPECT_EQ(d->overheads.relay.latency, SimTime::from_us(5));
  EXPECT_DOUBLE_EQ(d->skew.gpu, 1.5);
  EXPECT_DOUBLE_EQ(d->skew.host_copies, 1.1);  // as the host's, if it is not written
  ASSERT_EQ(d->measured.size(), 2U);           // by batch
  EXPECT_EQ(d->measured[0].transport, Transport::kRelay);
  EXPECT_FALSE(d->measured[0].attention.has_value());
  EXPECT_EQ(d->measured[1].combine, SimTime::from_us(64));
}

TEST(Deployment, ErrorsNameTheLineAndTheFix) {
  const std::string more_keys = kSmall + "[compute]\neficiency = 0.5\n";
  EXPECT_THAT(error_of(more_keys), AllOf(StartsWith("d.toml:11"), HasSubstr("`efficiency`")));
  EXPECT_THAT(error_of(small_with("[serving]", "[servng]")), HasSubstr("serving"));
  EXPECT_THAT(error_of(small_with("\"h20\"", "\"h21\"")),
              AllOf(StartsWith("d.toml:4"), HasSubstr("`h20`")));
  EXPECT_THAT(error_of(small_with("deepseek-r1", "deepsek-r1")),
              AllOf(StartsWith("d.toml:2"), HasSubstr("`deepseek-r1`")));
  EXPECT_THAT(error_of(small_with("ep = 32", "ep = 20")),
              AllOf(StartsWith("d.toml:8"), HasSubstr("for example 24")));
  EXPECT_THAT(error_of(small_with("ep = 32", "ep = 512")), HasSubstr("at most 256"));
  EXPECT_THAT(error_of(small_with("nics_per_server = 4", "nics_per_server = 3")),
              AllOf(StartsWith("d.toml:5"), HasSubstr("multiple")));
  EXPECT_THAT(error_of(small_with("400Gbps", "400")), StartsWith("d.toml:6"));
  EXPECT_THAT(error_of(small_with("name = \"deepseek-r1\"", "")), HasSubstr("either `name`"));
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
  EXPECT_THAT(error_of("[model"), StartsWith("d.toml:1"));
  EXPECT_THAT(error_of("model = 3\n"), StartsWith("d.toml:1"));
}

TEST(Deployment, BatchesAreWholeNumbersOnce) {
  for (const char* wrong : {"[]", "8", "[0]", "[8, 1.5]", "[8, \"16\"]", "[-1]", "[8, 2000000]"}) {
    EXPECT_THAT(error_of(small_with("[8, 16]", wrong)),
                AllOf(StartsWith("d.toml:9"), HasSubstr("`batches`")))
        << wrong;
  }
  EXPECT_THAT(error_of(small_with("[8, 16]", "[8, 16, 8]")), HasSubstr("8 twice"));
}

TEST(Deployment, SkewIsEitherAnImbalanceOrRatios) {
  const Result<Deployment> d = parse_deployment(kSmall + "[skew]\nimbalance = 2.5\n", "d.toml");
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(d->imbalance, 2.5);
  EXPECT_THAT(error_of(kSmall + "[skew]\nimbalance = 2\ngpu = 1.5\n"),
              AllOf(StartsWith("d.toml:12"), HasSubstr("exclude each other")));
  EXPECT_THAT(error_of(kSmall + "[skew]\nimbalance = 33\n"), HasSubstr("between 1 and 32"));
  EXPECT_THAT(error_of(kSmall + "[skew]\nnic = 0.5\n"), HasSubstr("between 1"));
}

TEST(Deployment, MeasuredTimesArePositiveAndOnceForEachBatch) {
  const std::string row = "[[measured]]\nbatch = 16\n";
  EXPECT_THAT(error_of(kSmall + row + "gemm = \"0\"\n"),
              AllOf(StartsWith("d.toml:12"), HasSubstr("longer than 0")));
  EXPECT_THAT(error_of(kSmall + row + "gemm = \"2s\"\n"), HasSubstr("at most 1s"));
  EXPECT_THAT(error_of(kSmall + row + "gemm = \"5us\"\n" + row + "gemm = \"6us\"\n"),
              HasSubstr("measured twice"));
  EXPECT_THAT(error_of(kSmall + row), AllOf(StartsWith("d.toml:11"), HasSubstr("add `attention`")));
  EXPECT_THAT(error_of(kSmall + row + "transport = \"relais\"\n"), HasSubstr("`relay`"));
  EXPECT_THAT(error_of(kSmall + "[transport]\nrelay = { latency = \"1us\" }\n"),
              HasSubstr("`kernel`"));
}

TEST(Deployment, ModelsAreAlsoReadFromTheirConfiguration) {
  const test_support::TemporaryDirectory directory;
  std::filesystem::copy_file(MIXNET_SOURCE_DIR "/tests/data/hf/mixtral.json",
                             directory.file("config.json"));
  std::string text = small_with("name = \"deepseek-r1\"", "config = \"config.json\"");
  text.replace(text.find("ep = 32"), 7, "ep = 8");
  const Result<Deployment> d = read_deployment(directory.write("d.toml", text));
  ASSERT_TRUE(d.ok()) << d.error().text();
  EXPECT_EQ(d->model.experts, 8);
  EXPECT_THAT(read_deployment(directory.file("none.toml")).error().text(), HasSubstr("none.toml"));
}

}  // namespace
}  // namespace mixnet::scenario
