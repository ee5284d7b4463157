#pragma once

namespace mixnet {

// What breaks before an iteration starts and stays broken.
enum class FailureKind {
  kNic,      // one NIC of a server
  kLink,     // the cable of one NIC: as the NIC
  kOcsPort,  // one port of the optical switch: as the optical NIC behind it
  kOcs,      // the whole optical switch of a region
  kEpsNics,  // all electrical NICs of a server; its traffic leaves over a healthy peer
  kGpu,      // one GPU; a backup in another server takes its place
  kServer,   // a whole server; a spare takes its place that is joined electrically only
};

// On which network the NIC is, or the backup GPU is reached. Fabrics without circuits have one
// network and take either for it.
enum class FailureSide { kElectrical, kOptical };

struct Failure {
  FailureKind kind = FailureKind::kNic;
  int server = 0;                               // of the cluster; kOcs: any server of the region
  FailureSide side = FailureSide::kElectrical;  // kNic, kLink, kGpu
};

const char* failure_kind_name(FailureKind kind);
const char* failure_side_name(FailureSide side);

}  // namespace mixnet
