#include "ep/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace mixnet::ep {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Membership> read_variables(const Variables& variables) {
  return read_membership(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
      },
      "node7");
}

const Variables& torchrun_variables() {
  static const Variables variables{
      {"RANK", "5"},           {"WORLD_SIZE", "8"},       {"LOCAL_RANK", "1"},
      {"GROUP_RANK", "1"},     {"LOCAL_WORLD_SIZE", "4"}, {"MASTER_ADDR", "10.0.0.1"},
      {"MASTER_PORT", "29500"}};
  return variables;
}

const Variables& mpirun_variables() {
  static const Variables variables{{"OMPI_COMM_WORLD_RANK", "2"},
                                   {"OMPI_COMM_WORLD_SIZE", "4"},
                                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                   {"MIXNET_STORE", "node0:4000"}};
  return variables;
}

// `base` with some variables changed, or removed by "-".
Variables with(Variables base, const Variables& changes) {
  for (const auto& [name, value] : changes) {
    if (value == "-") {
      base.erase(name);
    } else {
      base[name] = value;
    }
  }
  return base;
}

TEST(Environment, KnowsLaunchers) {
  const Variables torchrun = torchrun_variables();
  const Variables mpirun = mpirun_variables();
  struct Case {
    Variables variables;
    std::string expected;  // rank/ranks host store
  };
  const Case cases[] = {
      {{}, "0/1 node7 127.0.0.1:0"},
      {torchrun, "5/8 group 1 10.0.0.1:29501"},
      {with(torchrun, {{"GROUP_RANK", "-"}}), "5/8 node7 10.0.0.1:29501"},
      {with(torchrun, {{"MIXNET_PORT", "4001"}}), "5/8 group 1 10.0.0.1:4001"},
      {with(torchrun, {{"MIXNET_PORT", "4001"}, {"MASTER_PORT", "-"}}),
       "5/8 group 1 10.0.0.1:4001"},
      {with(torchrun, {{"MIXNET_STORE", "[::1]:4002"}}), "5/8 group 1 [::1]:4002"},
      {with(torchrun, {{"MIXNET_HOSTS", "4"}}), "5/8 host 2 10.0.0.1:29501"},
      {with(torchrun, {{"MIXNET_HOSTS", "1"}}), "5/8 host 0 10.0.0.1:29501"},
      {with(torchrun, {{"MIXNET_HOSTS", "1,4,3"}}), "5/8 host 2 10.0.0.1:29501"},
      {mpirun, "2/4 node7 node0:4000"},
      {with(mpirun, {{"MIXNET_HOSTS", "2,2"}}), "2/4 host 1 node0:4000"},
      {with(mpirun, {{"MIXNET_STORE", "-"}, {"MASTER_ADDR", "n"}, {"MIXNET_PORT", "9"}}),
       "2/4 node7 n:9"},
      // torchrun started by mpirun.
      {with(torchrun, mpirun), "5/8 group 1 node0:4000"},
  };
  for (const Case& one : cases) {
    const auto member = read_variables(one.variables);
    ASSERT_TRUE(member.ok()) << one.expected << ": " << member.error().message;
    EXPECT_EQ(std::to_string(member->rank) + "/" + std::to_string(member->ranks) + " " +
                  member->host + " " + member->store.text(),
              one.expected);
  }
}

TEST(Environment, NamesTheVariableAndTheFix) {
  const Variables torchrun = torchrun_variables();
  const Variables mpirun = mpirun_variables();
  struct Case {
    Variables variables;
    std::string expected;  // start of the message
  };
  const Case cases[] = {
      {with(torchrun, {{"WORLD_SIZE", "-"}}), "WORLD_SIZE is not set: start the ranks with"},
      {with(torchrun, {{"RANK", "-"}}), "RANK is not set: start the ranks with"},
      {with(mpirun, {{"OMPI_COMM_WORLD_RANK", "-"}}), "OMPI_COMM_WORLD_RANK is not set"},
      {with(torchrun, {{"RANK", "8"}}), "RANK=8: write a number from 0 to 7"},
      {with(torchrun, {{"RANK", "-1"}}), "RANK=-1: write a number from 0 to 7"},
      {with(torchrun, {{"RANK", "1x"}}), "RANK=1x: write a number from 0 to 7"},
      {with(torchrun, {{"WORLD_SIZE", "0"}}), "WORLD_SIZE=0: write a number from 1"},
      {with(torchrun, {{"GROUP_RANK", ""}}), "GROUP_RANK=: write a number from 0"},
      {with(torchrun, {{"MASTER_ADDR", "-"}}), "neither MIXNET_STORE nor MASTER_ADDR is set"},
      {with(torchrun, {{"MASTER_PORT", "-"}}), "neither MIXNET_PORT nor MASTER_PORT is set"},
      {with(torchrun, {{"MASTER_PORT", "65535"}}), "MASTER_PORT=65535 leaves no port"},
      {with(torchrun, {{"MASTER_PORT", "70000"}}), "MASTER_PORT=70000: write a number from 1"},
      {with(torchrun, {{"MIXNET_PORT", "0"}}), "MIXNET_PORT=0: write a number from 1 to 65535"},
      {with(torchrun, {{"MIXNET_STORE", "here"}}), "MIXNET_STORE=here: write HOST:PORT of rank 0"},
      {with(torchrun, {{"MIXNET_HOSTS", "9"}}),
       "MIXNET_HOSTS=9: write the number of hosts (1 to 8)"},
      {with(torchrun, {{"MIXNET_HOSTS", "4,3"}}), "MIXNET_HOSTS=4,3: write the number of hosts"},
      {with(torchrun, {{"MIXNET_HOSTS", "4,4,"}}), "MIXNET_HOSTS=4,4,: write the number of hosts"},
      {with(torchrun, {{"MIXNET_HOSTS", "0"}}), "MIXNET_HOSTS=0: write the number of hosts"},
      {with(torchrun, {{"MIXNET_HOSTS", ""}}), "MIXNET_HOSTS=: write the number of hosts"},
      {with(mpirun, {{"MIXNET_STORE", "-"}}), "neither MIXNET_STORE nor MASTER_ADDR is set"},
  };
  for (const Case& one : cases) {
    const auto member = read_variables(one.variables);
    ASSERT_FALSE(member.ok()) << one.expected;
    EXPECT_THAT(member.error().message, testing::StartsWith(one.expected));
  }
}

}  // namespace
}  // namespace mixnet::ep
