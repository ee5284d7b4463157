#pragma once

#include "core/study.h"
#include "sim/program.h"

namespace mixnet::sim {

// Compute times of one stage's steps. Everything but the experts is the same on every rank.
class StepTimes {
 public:
  explicit StepTimes(const Study& study);

  // Time of a kCompute step; `slowest_rank` is the most assignments that one rank of the region
  // computes in this layer and micro-batch. `remote`: one GPU of a rank is a backup in another
  // server, so that its tensor-parallel all-reduces cross one NIC.
  SimTime compute(const Step& step, double slowest_rank, bool remote = false) const;

  // Expert time of a rank that computes `assignments`.
  SimTime expert(double assignments, bool backward) const;

 private:
  SimTime scaled(SimTime forward, bool backward) const;
  SimTime measured(SimTime at_measured_size, bool backward) const;
  SimTime dense(const Step& step) const;
  SimTime tensor(const Step& step, double slowest_rank) const;
  SimTime remote_tensor(const Step& step, double slowest_rank) const;

  Study study_;
  SimTime attention_;
  SimTime gate_;
  SimTime add_norm_;
  SimTime dense_ffn_;
  SimTime head_;
  SimTime dense_tensor_;  // all-reduce of one micro-batch's activations
};

}  // namespace mixnet::sim
