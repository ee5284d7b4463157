#include "cli/place_arguments.h"

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

}  // namespace mixnet::cli
