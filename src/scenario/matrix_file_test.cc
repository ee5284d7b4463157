#include "scenario/matrix_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_directory.h"

namespace mixnet::scenario {
namespace {

using ::testing::HasSubstr;

TEST(MatrixFile, AllSpellingsGiveTheSameMatrix) {
  DemandMatrix expected(2, 2);
  expected(0, 0) = 0;
  expected(0, 1) = 1.5;
  expected(1, 0) = 200;
  for (const char* text :
       {"0 1.5\n200 0\n", "0,1.5\n2e2,0", "# bytes\n\n 0 , 1.50\r\n\t200\t-0 \r\n",
        "[[0,1.5],[200,0]]", "[[0, 1.5],\n # second\n [200, 0]]\n", "[[0 1.5] [200 0]],",
        "0 1.5 # first\n200 0#second\n", "[[0,1.5], # first\n[200,0]]"}) {
    const Result<DemandMatrix> matrix = parse_matrix(text, "m");
    ASSERT_TRUE(matrix) << text << ": " << matrix.error().text();
    EXPECT_EQ(*matrix, expected) << text;
    EXPECT_FALSE(std::signbit((*matrix)(1, 1)));
  }
}

TEST(MatrixFile, AByteOrderMarkIsLeftOut) {
  const test_support::TemporaryDirectory directory;
  EXPECT_TRUE(read_matrix(directory.write("m.csv",
                                          "\xEF\xBB\xBF"
                                          "0,1\n2,0\n")));
}

TEST(MatrixFile, RefusesBadText) {
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"", "m: there is no matrix"},
      {"# nothing\n\n", "m: there is no matrix"},
      {"1 2\n3\n", "m:2: this row has 1 values, the rows before it have 2"},
      {"1 2\n3 4 5\n", "m:2: this row has 3"},
      {"1 2 3\n4 5 6\n", "m:2: the matrix has 2 rows of 3 values, but must be square"},
      {"1 2\n3 x\n", "m:2: \"x\" is not a number"},
      {"1 2\n\n3 4;\n", "m:3: \"4;\" is not a number"},
      {"1 -2\n3 4\n", "m:1: \"-2\" is negative"},
      {"1 nan\n3 4\n", "m:1: \"nan\" is not a number"},
      {"1 inf\n3 4\n", "m:1: \"inf\" is out of range"},
      {"1 1e999\n3 4\n", "m:1: \"1e999\" is out of range"},
      {"1,,2\n", "m:1: a value is missing"},
      {"1,2,\n", "m:1: a value is missing"},
      {",1\n", "m:1: a value is missing"},
      {"[[1,2],[3,4]]\n[[1,2],[3,4]]", "m:2: a second matrix"},
      {"[[1,2],\n[3]]", "m:2: this row has 1"},
      {"[1,2]", "m:1: expected [, the start of a row, found \"1\""},
      {"[[1,2],[3,4]", "m:1: expected [, the start of a row, found the end"},
      {"[[1,2],[3,4]]]", "m:1: expected [[, the start of a matrix"},
      {"[[1,,2]]", "m:1: expected a value"},
      {"[[1,]]", "m:1: a value is missing"},
      {"[[]]", "m:1: the row is empty"},
      {"[]", "m:1: expected [, the start of a row"},
      {"[[[1]]]", "m:1: expected a value or ], found \"[\""},
      {"[[1", "m:1: expected a value or ], found the end"},
  };
  for (const auto& [text, message] : cases) {
    const Result<DemandMatrix> matrix = parse_matrix(text, "m");
    ASSERT_FALSE(matrix) << text;
    EXPECT_THAT(matrix.error().text(), HasSubstr(message)) << text;
  }
}

TEST(MatrixFile, RefusesMoreRowsThanTheLimit) {
  std::string text;
  for (std::size_t row = 0; row <= kMaxMatrixRows; ++row) {
    text += "1\n";
  }
  EXPECT_THAT(parse_matrix(text, "m").error().text(), HasSubstr("at most 4096"));
}

TEST(MatrixFile, ReadsFilesAndNamesThem) {
  const mixnet::test_support::TemporaryDirectory directory;
  EXPECT_TRUE(read_matrix(directory.write("m.txt", "5")));
  EXPECT_THAT(read_matrix(directory.write("bad.txt", "5\nx")).error().text(),
              HasSubstr("bad.txt:2: "));
  EXPECT_THAT(read_matrix(directory.file("none.txt")).error().text(),
              HasSubstr("none.txt: cannot read the file"));
  EXPECT_THAT(read_matrix(directory.file(".")).error().text(), HasSubstr("cannot read the file"));
}

}  // namespace
}  // namespace mixnet::scenario
