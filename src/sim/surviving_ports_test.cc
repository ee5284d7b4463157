#include "sim/surviving_ports.h"

#include <gtest/gtest.h>

namespace mixnet::sim {
namespace {

// 16 servers of 8 GPUs and NICs: two regions of 8 servers.
Study two_regions() {
  Study study;
  study.parallelism.tp = 8;
  study.parallelism.pp = 1;
  study.parallelism.dp = 2;
  study.parallelism.ep = 8;
  study.cluster.servers = 16;
  study.cluster.gpus_per_server = 8;
  study.cluster.nics_per_server = 8;
  return study;
}

FabricSpec circuits() {
  FabricSpec spec;
  spec.kind = FabricKind::kMixnet;
  return spec;
}

std::vector<ServerPorts> after(const std::vector<Failure>& failures, const FabricSpec& spec) {
  Study study = two_regions();
  study.failures = failures;
  return surviving_ports(study, spec, Placement(study.parallelism, study.cluster));
}

TEST(SurvivingPorts, NothingBroken) {
  for (const ServerPorts& p : after({}, circuits())) {
    EXPECT_EQ(p.optical, 6);
    EXPECT_EQ(p.electrical, 2);
    EXPECT_EQ(p.gateway, -1);
  }
  EXPECT_EQ(after({}, FabricSpec{})[3].electrical, 8);
}

TEST(SurvivingPorts, OneNicOfEitherSide) {
  const auto optical = after({{FailureKind::kNic, 3, FailureSide::kOptical}}, circuits());
  EXPECT_EQ(optical[3].optical, 5);
  EXPECT_EQ(optical[3].electrical, 2);
  const auto electrical = after({{FailureKind::kLink, 3, FailureSide::kElectrical}}, circuits());
  EXPECT_EQ(electrical[3].optical, 6);
  EXPECT_EQ(electrical[3].electrical, 1);
  EXPECT_EQ(after({{FailureKind::kNic, 3, FailureSide::kOptical}}, FabricSpec{})[3].electrical, 7);
}

TEST(SurvivingPorts, AWholeSwitchIsOneRegion) {
  const auto ports = after({{FailureKind::kOcs, 10}}, circuits());
  for (int server = 0; server < 16; ++server) {
    EXPECT_EQ(ports[static_cast<std::size_t>(server)].optical, server < 8 ? 6 : 0);
    EXPECT_EQ(ports[static_cast<std::size_t>(server)].electrical, 2);
  }
}

TEST(SurvivingPorts, WithoutElectricalNicsAPeerIsTheGateway) {
  const auto ports = after(
      {{FailureKind::kEpsNics, 9}, {FailureKind::kNic, 8, FailureSide::kElectrical}}, circuits());
  EXPECT_EQ(ports[9].gateway, 10) << "8 has fewer NICs left";
  EXPECT_EQ(ports[9].optical, 5);
  EXPECT_EQ(ports[10].optical, 5);
  EXPECT_EQ(ports[10].electrical, 2);
}

// The same two NICs as on mixnet.
TEST(SurvivingPorts, AServerOfAFatTreeLosesAsManyNics) {
  FabricSpec tree;
  const auto ports = after({{FailureKind::kEpsNics, 9}}, tree);
  EXPECT_EQ(ports[9].electrical, 6);
  EXPECT_EQ(ports[8].electrical, 8);
  tree.mixnet.alpha = 3;
  EXPECT_EQ(after({{FailureKind::kEpsNics, 9}}, tree)[9].electrical, 3);
  tree.mixnet.alpha = 20;  // [mixnet] of a scenario without such a fabric is not checked
  EXPECT_EQ(after({{FailureKind::kEpsNics, 9}}, tree)[9].electrical, 7);
  tree.mixnet.alpha = 1;
  const auto twice = after({{FailureKind::kEpsNics, 9}, {FailureKind::kEpsNics, 9}}, tree);
  EXPECT_EQ(twice[9].electrical, 1) << "the job would not run without";
}

TEST(SurvivingPorts, NobodyIsCutOff) {
  const auto ports = after({{FailureKind::kOcs, 0}, {FailureKind::kEpsNics, 0}}, circuits());
  EXPECT_EQ(ports[0].electrical, 1);
  EXPECT_EQ(ports[0].gateway, -1);
}

TEST(SurvivingPorts, ABackupGpuTakesOneNic) {
  EXPECT_EQ(after({{FailureKind::kGpu, 4, FailureSide::kOptical}}, circuits())[4].optical, 5);
  const auto twice = after({{FailureKind::kGpu, 4}, {FailureKind::kGpu, 4}}, circuits());
  EXPECT_EQ(twice[4].electrical, 1);
}

TEST(SurvivingPorts, ASpareServerIsElectricalOnly) {
  const auto ports = after({{FailureKind::kServer, 5}}, circuits());
  EXPECT_EQ(ports[5].optical, 0);
  EXPECT_EQ(ports[5].electrical, 2);
}

TEST(RemoteTensorRegions, AreThoseOfTheLostGpus) {
  Study study = two_regions();
  study.failures = {{FailureKind::kGpu, 9}, {FailureKind::kNic, 2}};
  const Placement placement(study.parallelism, study.cluster);
  EXPECT_EQ(remote_tensor_regions(study, placement), (std::vector<bool>{false, true}));
  study.parallelism.tp = 1;
  EXPECT_EQ(remote_tensor_regions(study, placement), (std::vector<bool>{false, false}));
}

}  // namespace
}  // namespace mixnet::sim
