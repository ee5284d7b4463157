#pragma once

#include <cstdint>
#include <vector>

#include "ep/call.h"
#include "ep/exchange.h"

namespace mixnet::ep {

// Moves the chunks of flows from node to node during one attempt, each as soon as it has come in:
// the first node is fed by a rank of its host, the last one tells ranks of its host what is there.
class FlowMover {
 public:
  struct Path {
    std::vector<int> nodes;
    std::vector<int> rails;        // [nodes - 1], or kInsideHost
    std::vector<uint64_t> places;  // [nodes] in the window of each
    int64_t rows = 0;
    uint64_t row_bytes = 0;
    uint64_t prefix_at = 0;  // what is sent before the first chunk, from here in the place
    uint64_t prefix_bytes = 0;
    int feeder = 0;
    std::vector<int> listeners;  // ranks of the last node's host

    int chunks() const { return chunks_of(rows, row_bytes); }
  };

  // Paths are numbered alike on all ranks.
  FlowMover(Attempt& attempt, ExchangeState& state, std::vector<Path> paths);

  const Path& path(int index) const { return paths_[at(index)]; }
  // This rank, its feeder, has put the next chunk (with the first one, the prefix too) at the
  // first node.
  void feed(int path);
  // Sends on what has come in. True: nothing more will come in that this rank sends on.
  bool advance();
  // Chunks that a listener of the path, this rank, can read at its last node.
  int here(int path) const;
  // A chunk from `rank` is still to come to a node of this rank.
  bool missing(int rank) const;

 private:
  struct Task {  // this rank is node `node` of the path
    int path;
    int node;
    int moved;  // chunks
  };

  int arrived(const Task& task) const;
  void move(const Task& task, int chunk);
  void send(const Task& task, uint64_t first, uint64_t bytes);

  Attempt& attempt_;
  ExchangeState& state_;
  std::vector<Path> paths_;
  std::vector<Task> tasks_;
  std::vector<int> fed_;  // [path] chunks, by this rank
};

// The part of a path's rows that chunk `chunk` has.
RowRange chunk_of(const FlowMover::Path& path, int chunk);

}  // namespace mixnet::ep
