#include "ep/flow_mover.h"

#include <algorithm>
#include <utility>

namespace mixnet::ep {

FlowMover::FlowMover(Attempt& attempt, ExchangeState& state, std::vector<Path> paths)
    : attempt_(attempt), state_(state), paths_(std::move(paths)), fed_(paths_.size()) {
  const int self = attempt.transport().rank();
  for (std::size_t index = 0; index < paths_.size(); ++index) {
    for (std::size_t node = 0; node < paths_[index].nodes.size(); ++node) {
      if (paths_[index].nodes[node] == self) {
        tasks_.push_back(Task{static_cast<int>(index), static_cast<int>(node), 0});
      }
    }
  }
}

void FlowMover::feed(int path) {
  const int first = paths_[at(path)].nodes.front();
  if (first == attempt_.transport().rank()) {
    ++fed_[at(path)];
  } else {
    attempt_.signal(first, kInsideHost, static_cast<uint32_t>(path));
  }
}

bool FlowMover::advance() {
  bool all = true;
  for (Task& task : tasks_) {
    const int chunks = arrived(task);
    while (task.moved < chunks) {
      move(task, task.moved++);
    }
    all = all && task.moved == paths_[at(task.path)].chunks();
  }
  return all;
}

int FlowMover::here(int path) const {
  const int last = paths_[at(path)].nodes.back();
  if (last != attempt_.transport().rank()) {
    return attempt_.signals(last, static_cast<uint32_t>(path));
  }
  const auto own = std::find_if(tasks_.begin(), tasks_.end(),
                                [&](const Task& task) { return task.path == path; });
  return arrived(*own);
}

bool FlowMover::missing(int rank) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& task) {
    const Path& path = paths_[at(task.path)];
    return task.node > 0 && path.nodes[at(task.node - 1)] == rank && arrived(task) < path.chunks();
  });
}

int FlowMover::arrived(const Task& task) const {
  const Path& path = paths_[at(task.path)];
  if (task.node > 0) {
    return attempt_.signals(path.nodes[at(task.node - 1)], static_cast<uint32_t>(task.path));
  }
  return path.feeder == attempt_.transport().rank()
             ? fed_[at(task.path)]
             : attempt_.signals(path.feeder, static_cast<uint32_t>(task.path));
}

void FlowMover::move(const Task& task, int chunk) {
  const Path& path = paths_[at(task.path)];
  if (at(task.node) + 1 == path.nodes.size()) {
    for (const int listener : path.listeners) {
      if (listener != attempt_.transport().rank() && attempt_.takes_part(listener)) {
        attempt_.signal(listener, kInsideHost, static_cast<uint32_t>(task.path));
      }
    }
    return;
  }
  const int next = path.nodes[at(task.node) + 1];
  const int rail = path.rails[at(task.node)];
  if (chunk == 0 && path.prefix_bytes > 0) {
    send(task, path.prefix_at, path.prefix_bytes);
  }
  const RowRange part = chunk_of(path, chunk);
  const uint64_t bytes = static_cast<uint64_t>(part.rows) * path.row_bytes;
  send(task, static_cast<uint64_t>(part.first) * path.row_bytes, bytes);
  attempt_.signal(next, rail, static_cast<uint32_t>(task.path));
  if (rail == kInsideHost) {
    state_.traffic.inside_copies += part.rows;
  } else {
    state_.traffic.nic_bytes[at(rail)] += static_cast<int64_t>(bytes);
    state_.traffic.nic_copies += part.rows;
  }
}

// To the next node, from and to the same offset in the place of each.
void FlowMover::send(const Task& task, uint64_t first, uint64_t bytes) {
  const Path& path = paths_[at(task.path)];
  Transport& transport = attempt_.transport();
  const int next = path.nodes[at(task.node) + 1];
  const int rail = path.rails[at(task.node)];
  const Address from = transport.window().base + path.places[at(task.node)] + first;
  const uint64_t to = path.places[at(task.node) + 1] + first;
  if (rail == kInsideHost) {
    state_.copies.copy(transport.mapped(next) + to, from, bytes);
  } else {
    transport.write(RemoteWrite{next, rail, from, bytes, to});
  }
}

RowRange chunk_of(const FlowMover::Path& path, int chunk) {
  const int64_t each = chunk_rows(path.row_bytes);
  return RowRange{chunk * each, std::min(each, path.rows - chunk * each)};
}

}  // namespace mixnet::ep
