#include "cli/place_arguments.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "scenario/host_file.h"

namespace mixnet::cli {

Result<plan::PlaceCluster> cluster_of(PlaceArguments& typed) {
  std::optional<HostShape> shape;
  if (!typed.topology.empty()) {
    Result<HostShape> read = scenario::read_host_shape(typed.topology);
    if (!read) {
      return read.error();
    }
    shape = std::move(read).value();
    typed.nvlink_rate = shape->nvlink_rate;
    const int room = static_cast<int>(shape->nic_of_gpu.size());
    typed.gpus_per_host = room;
    if (typed.gpus == 0 && typed.nodes > 0) {
      typed.gpus = typed.nodes * room;
    } else if (typed.nodes == 0 && typed.gpus > 0) {
      typed.nodes = (typed.gpus + room - 1) / room;
    }
  }
  if (typed.gpus == 0 || typed.nodes == 0) {
    return Error{"give --gpus and --nodes, or one of them and --topology", ""};
  }
  if (!shape) {
    shape = plan::one_nic_per_gpu((typed.gpus + typed.nodes - 1) / typed.nodes);
  }
  return plan::even_cluster(typed.gpus, typed.nodes, typed.slots, *shape);
}

std::vector<std::string> shape_notes(const PlaceArguments& typed) {
  std::vector<std::string> notes;
  const int least = typed.gpus / typed.nodes;
  const int larger = typed.gpus % typed.nodes;
  const int most = least + (larger > 0 ? 1 : 0);
  if (larger > 0) {
    notes.push_back(fmt::format(
        "{} GPUs do not divide over {} nodes: the first {} ha{} {}, the other{} {}; EPLB needs "
        "nodes of equal size and cannot apply",
        typed.gpus, typed.nodes, larger, larger == 1 ? "s" : "ve", most,
        typed.nodes - larger == 1 ? " has" : "s have", least));
  }
  if (most < typed.gpus_per_host) {
    notes.push_back(
        fmt::format("a node has {} GPUs at most, and the host of {} has {}: the rest "
                    "of it is not used",
                    most, typed.topology, typed.gpus_per_host));
  }
  return notes;
}

Status check_groups(const PlaceArguments& typed, int64_t experts, const std::string& file) {
  if (experts % typed.groups == 0) {
    return Status();
  }
  return error_at(file, fmt::format("its {0} experts do not divide into {1} groups of equal size: "
                                    "give --groups a divisor of {0}",
                                    experts, typed.groups));
}

}  // namespace mixnet::cli
