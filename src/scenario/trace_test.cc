#include "scenario/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "scenario/npy.h"
#include "scenario/trace_side_file.h"
#include "scenario/trace_writer.h"
#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using ::mixnet::test_support::read_all;
using ::mixnet::test_support::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

RoutingTrace small_trace() {
  return RoutingTrace::from_counts({1, 2, 3, 4, 5, 6, 7, 0x01020304}, 2, 1, 2, 2,
                                   {.model = "m",
                                    .top_k = 2,
                                    .source_kind = "ep-rank",
                                    .iteration_kind = "iteration",
                                    .origin = "test"});
}

// An .npy file with the given dict and data, padded like numpy.save.
std::string npy(std::string dict, const std::string& data, int major = 1) {
  const std::size_t width = major == 1 ? 2 : 4;
  while ((8 + width + dict.size() + 1) % 64 != 0) {
    dict += ' ';
  }
  dict += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  for (std::size_t i = 0; i < width; ++i) {
    file += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  }
  return file + dict + data;
}

const std::string kOneCell = "{'descr': '<u4', 'fortran_order': False, 'shape': (1, 1, 1, 1), }";
const std::string kSeven("\7\0\0\0", 4);

TEST(Trace, GoldenBytes) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_trace(small_trace(), directory.file("t.npy")));
  // As numpy.save writes numpy.array([...], '<u4').reshape(2, 1, 2, 2).
  const std::string dict = "{'descr': '<u4', 'fortran_order': False, 'shape': (2, 1, 2, 2), }";
  const std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict +
                               std::string(117 - dict.size(), ' ') + "\n" +
                               std::string(
                                   "\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0"
                                   "\5\0\0\0\6\0\0\0\7\0\0\0\4\3\2\1",
                                   32);
  EXPECT_EQ(read_all(directory.file("t.npy")), expected);
  EXPECT_EQ(read_all(directory.file("t.json")),
            R"({
  "model": "m",
  "top_k": 2,
  "source_kind": "ep-rank",
  "iteration_kind": "iteration",
  "origin": "test",
  "shape": [
    2,
    1,
    2,
    2
  ]
}
)");
  EXPECT_EQ(directory.entries(), 2) << "a temporary file was left behind";
}

TEST(Trace, RoundTrip) {
  const TemporaryDirectory directory;
  const RoutingTrace before = small_trace();
  ASSERT_TRUE(write_trace(before, directory.file("t.npy")));
  const Result<RoutingTrace> after = RoutingTrace::map(directory.file("t.npy"));
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->shape(), before.shape());
  EXPECT_EQ(after->info(), before.info());
  EXPECT_THAT(after->view().row(0, 0, 0), ElementsAre(1, 2));
  EXPECT_THAT(after->view().row(0, 0, 1), ElementsAre(3, 4));
  EXPECT_THAT(after->view().row(1, 0, 1), ElementsAre(7, 0x01020304));
}

TEST(Trace, MappingOutlivesTheFileNameAndTheFirstOwner) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_trace(small_trace(), directory.file("t.npy")));
  Result<RoutingTrace> first = RoutingTrace::map(directory.file("t.npy"));
  ASSERT_TRUE(first);
  const RoutingTrace copy = *first;
  first = Error{"dropped", ""};
  std::filesystem::remove(directory.file("t.npy"));
  EXPECT_THAT(copy.view().row(1, 0, 0), ElementsAre(5, 6));
}

TEST(Trace, OnlyWhatIsReadOccupiesMemory) {
  const TemporaryDirectory directory;
  // 64 GiB of counts in a sparse file: it can be mapped and read anywhere, but not loaded.
  const TraceShape shape{1 << 14, 16, 64, 1024};
  const std::string path = directory.write("big.npy", format_npy_header(shape));
  std::error_code failed;
  std::filesystem::resize_file(path, 128 + (std::uintmax_t{1} << 36), failed);
  if (failed) {
    GTEST_SKIP() << "the file system of " << path << " holds no sparse file of 64 GiB";
  }
  ASSERT_EQ(format_npy_header(shape).size(), 128U);
  const Result<RoutingTrace> trace = RoutingTrace::map(path);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->view().row((1 << 14) - 1, 15, 63)[1023], 0U);
}

TEST(Trace, ReadsAllVersionsAndKeyOrders) {
  const TemporaryDirectory directory;
  for (const int major : {1, 2, 3}) {
    for (const std::string& dict :
         {kOneCell, std::string(R"({"shape":(1,1,1,1),"fortran_order":False,"descr":"<u4"})")}) {
      const Result<RoutingTrace> trace =
          RoutingTrace::map(directory.write("t.npy", npy(dict, kSeven, major)));
      ASSERT_TRUE(trace) << trace.error().text();
      EXPECT_THAT(trace->view().row(0, 0, 0), ElementsAre(7));
      EXPECT_EQ(trace->info(), TraceInfo{});
    }
  }
}

TEST(Trace, RefusesMalformedFiles) {
  const auto with = [](const char* descr, const char* order, const char* shape) {
    return std::string("{'descr': ") + descr + ", 'fortran_order': " + order +
           ", 'shape': " + shape + ", }";
  };
  const std::string good = npy(kOneCell, kSeven);
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "empty"},
      {"\x93NUMP", "not an .npy file"},
      {"PK\3\4 a zip file", "not an .npy file"},
      {"\x93NUMPY\1", "cut off"},
      {std::string("\x93NUMPY\1\0\x10", 9), "cut off"},
      {std::string("\x93NUMPY\4\0\x10\0", 10), "version 4.0"},
      {good.substr(0, 40), "cut off: it needs 118 bytes, 30 are there"},
      {npy(with("'<i8'", "False", "(1, 1, 1, 1)"), kSeven), "array.astype('<u4')"},
      {npy(with("'>u4'", "False", "(1, 1, 1, 1)"), kSeven), "\">u4\""},
      {npy(with("[('a', '<u4')]", "False", "(1, 1, 1, 1)"), kSeven), "record type"},
      {npy(with("'<u4'", "True", "(1, 1, 1, 1)"), kSeven), "ascontiguousarray"},
      {npy(with("'<u4'", "Maybe", "(1, 1, 1, 1)"), kSeven), "True or False"},
      {npy(with("'<u4'", "False", "(1, 1, 1)"), kSeven), "3 dimensions"},
      {npy(with("'<u4'", "False", "()"), kSeven), "0 dimensions"},
      {npy(with("'<u4'", "False", "(1, 0, 1, 1)"), ""), "empty"},
      {npy(with("'<u4'", "False", "(1, -1, 1, 1)"), kSeven), "dimension"},
      {npy(with("'<u4'", "False", "(1, 1, 1, 99999999999999999999)"), kSeven), "63 bits"},
      {npy(with("'<u4'", "False", "(4294967296, 4294967296, 1, 1)"), kSeven), "too large"},
      {npy(with("'<u4'", "False", "(4611686018427387905, 1, 1, 1)"), kSeven), "truncated"},
      {npy(with("'<u4'", "False", "(1, 1 1, 1)"), kSeven), "expected ')'"},
      {npy(kOneCell, kSeven.substr(1)), "truncated"},
      {npy(kOneCell, kSeven + kSeven), "truncated or has something appended"},
      {npy("{'descr': '<u4', 'shape': (1, 1, 1, 1)}", kSeven), "missing"},
      {npy("{'descr': '<u4', 'descr': '<u4'}", kSeven), "twice"},
      {npy("{'descr': '<u4', 'order': 'C'}", kSeven), "unknown key \"order\""},
      {npy("{'descr: }", kSeven), "does not end"},
      {npy(kOneCell + "x", kSeven), "more text"},
      {npy("[1]", kSeven), "expected '{'"},
  };
  const TemporaryDirectory directory;
  for (const auto& [content, message] : cases) {
    const std::string path = directory.write("bad.npy", content);
    const Result<RoutingTrace> trace = RoutingTrace::map(path);
    ASSERT_FALSE(trace) << "should fail with: " << message;
    EXPECT_THAT(trace.error().message, HasSubstr(message));
    EXPECT_EQ(trace.error().where, path);
  }
}

TEST(Trace, RefusesDataAtAnOddOffset) {
  const TemporaryDirectory directory;
  std::string file = std::string("\x93NUMPY\1\0", 8);
  file += static_cast<char>(kOneCell.size());
  file += '\0';
  ASSERT_NE((file.size() + kOneCell.size()) % 4, 0U);
  const Result<RoutingTrace> trace =
      RoutingTrace::map(directory.write("odd.npy", file + kOneCell + kSeven));
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("multiple of 4"));
}

TEST(Trace, RefusesWhatIsNoFile) {
  const TemporaryDirectory directory;
  EXPECT_THAT(RoutingTrace::map(directory.file("none.npy")).error().text(),
              HasSubstr("none.npy: cannot read the trace: No such file"));
  EXPECT_THAT(RoutingTrace::map(directory.file(".")).error().message, HasSubstr("regular file"));
}

TEST(TraceSideFile, RefusesWrongContent) {
  const TraceShape shape{1, 1, 1, 1};
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "not JSON"},
      {"{\"model\": ", "not JSON"},
      {"[]", "one JSON object"},
      {"{\"modell\": \"x\"}", "\"modell\" is unknown"},
      {"{\"model\": 3}", "must be a text"},
      {"{\"top_k\": -1}", "at least 0"},
      {"{\"top_k\": 1.5}", "at least 0"},
      {"{\"top_k\": 99999999999}", "at least 0"},
      {"{\"shape\": [1, 1, 1]}", "four integers"},
      {"{\"shape\": [1, 1, 1, -1]}", "four integers"},
      {"{\"shape\": [1, 1, 1, 2]}", "belongs to an array of 1 x 1 x 1 x 2"},
  };
  for (const auto& [text, message] : cases) {
    const Result<TraceInfo> info = parse_side_file(text, shape, "t.json");
    ASSERT_FALSE(info) << text;
    EXPECT_THAT(info.error().text(), StartsWith("t.json: "));
    EXPECT_THAT(info.error().message, HasSubstr(message));
  }
  EXPECT_TRUE(parse_side_file("{}", shape, "t.json"));
}

TEST(TraceWriter, LeavesNothingWithoutCommit) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("t.npy", "old");
  {
    Result<TraceWriter> writer = TraceWriter::create(path, {1, 1, 1, 2});
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->append(std::vector<uint32_t>{1}));
  }
  EXPECT_EQ(read_all(path), "old");
  EXPECT_EQ(directory.entries(), 1);
}

TEST(TraceWriter, RefusesBadTargets) {
  const TemporaryDirectory directory;
  const auto problem = [&](const std::string& name, const TraceShape& shape) {
    return TraceWriter::create(directory.file(name), shape).error().message;
  };
  EXPECT_THAT(problem("t.bin", {1, 1, 1, 1}), HasSubstr("must end in .npy"));
  EXPECT_THAT(problem("t.npy", {1, 0, 1, 1}), HasSubstr("empty"));
  EXPECT_THAT(problem("t.npy", {INT64_MAX, 2, 1, 1}), HasSubstr("too large"));
  EXPECT_THAT(problem("none/t.npy", {1, 1, 1, 1}), HasSubstr("No such file"));
  directory.write("config.json", "{\"hidden_size\": 4096}");
  EXPECT_THAT(problem("config.npy", {1, 1, 1, 1}), HasSubstr("give the trace another name"));
  EXPECT_EQ(directory.entries(), 1);
}

TEST(TraceWriter, ReplacesAnEarlierTrace) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("t.npy");
  ASSERT_TRUE(write_trace(small_trace(), path));
  ASSERT_TRUE(write_trace(RoutingTrace::from_counts({9}, 1, 1, 1, 1, TraceInfo{}), path));
  const Result<RoutingTrace> trace = RoutingTrace::map(path);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_THAT(trace->view().row(0, 0, 0), ElementsAre(9));
  EXPECT_EQ(trace->info().model, "");
}

TEST(TraceWriter, FollowsLinksAndWritesToDevices) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("target.npy", directory.file("t.npy"));
  ASSERT_TRUE(write_trace(small_trace(), directory.file("t.npy")));
  EXPECT_TRUE(std::filesystem::is_symlink(directory.file("t.npy")));
  EXPECT_TRUE(RoutingTrace::map(directory.file("target.npy")));
  std::filesystem::create_symlink("/dev/null", directory.file("none.npy"));
  std::filesystem::create_symlink("/dev/null", directory.file("none.json"));
  EXPECT_TRUE(write_trace(small_trace(), directory.file("none.npy")));
  EXPECT_TRUE(std::filesystem::is_character_file(directory.file("none.json")));
  EXPECT_EQ(directory.entries(), 5);
}

TEST(TraceDeathTest, CountsMustFillTheShape) {
  EXPECT_DEATH(RoutingTrace::from_counts({1, 2, 3}, 1, 1, 2, 2, TraceInfo{}), "do not fill");
}

}  // namespace
}  // namespace mixnet::scenario
