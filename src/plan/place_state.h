#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/matrix.h"

// A placement under change, and what its changes do to the load of every resource; the arithmetic
// of plan/place.h. Experts are numbered by descending load.
namespace mixnet::plan {

// Load of every expert by where its tokens start.
struct LoadOrigins {
  Matrix<double> host;  // [E, N]
  Matrix<double> nic;   // [E, M]
};

// What a search does not change. Loads are scaled to a mean GPU load of 1.
struct PlaceModel {
  std::vector<double> load;            // [E], descending
  std::vector<std::size_t> host_of;    // [D]
  std::vector<std::size_t> nic_of;     // [D]
  std::vector<std::size_t> start;      // [D + 1]: first slot of a GPU
  std::vector<std::size_t> first_nic;  // [N + 1]: NICs of a host
  std::vector<int> repeats;            // [D]: how often a GPU must hold every expert, floor(S / E)
  std::vector<int> most_copies;        // [E]: slots that an expert can use
  std::vector<int> home;               // [E]: the host it must stay on, or -1
  std::shared_ptr<const LoadOrigins> origins;  // null with one host; copies of a model share it
  std::vector<double> nic_factor;              // [M]: amount to objective; all 0 with one host
  double gpu_factor = 1;                       // the same for GPU loads
  // A GPU load above this counts for more than any other load, so that it is lowered first.
  double gpu_cap = 0;

  std::size_t experts() const { return load.size(); }
  std::size_t gpus() const { return host_of.size(); }
  std::size_t nics() const { return nic_factor.size(); }
  std::size_t hosts() const { return first_nic.size() - 1; }
  std::size_t slots() const { return start.back(); }
  double from_host(std::size_t expert, std::size_t host) const {
    return origins->host(expert, host);
  }
  double from_nic(std::size_t expert, std::size_t nic) const { return origins->nic(expert, nic); }
  bool networked() const { return !nic_factor.empty() && nic_factor[0] > 0; }
};

class PlaceState {
 public:
  // `expert_of` is a valid map of slots to experts. The model outlives the state.
  PlaceState(const PlaceModel& model, std::vector<int> expert_of);

  // The same placement, its resources weighed as another model of the same problem does.
  PlaceState under(const PlaceModel& model) &&;

  const PlaceModel& model() const { return *model_; }
  const std::vector<int>& experts() const { return expert_of_; }
  int expert_at(std::size_t slot) const { return expert_of_[slot]; }
  std::size_t gpu_of(std::size_t slot) const { return gpu_of_[slot]; }
  int copies(int expert) const { return copies_[static_cast<std::size_t>(expert)]; }
  double piece(int expert) const { return piece_[static_cast<std::size_t>(expert)]; }
  int on(std::size_t gpu, int expert) const { return on_(gpu, static_cast<std::size_t>(expert)); }
  double gpu_load(std::size_t gpu) const { return value_[gpu]; }
  double gpu_worst() const;
  double nic_worst() const;

  // Resources: GPUs, then what NICs receive, then what they send. Value: share of the objective.
  std::size_t resources() const { return value_.size(); }
  double value(std::size_t resource) const;
  std::size_t worst_resource() const;
  double worst() const { return value(worst_resource()); }

  // May this GPU take one more slot of the expert?
  bool can_take(std::size_t gpu, int expert) const;
  // May this GPU give up one?
  bool can_give(std::size_t gpu, int expert) const;

  // Largest value of the resources that a swap of two slots' experts changes, after it; infinite if
  // it is not allowed.
  double swap_peak(std::size_t slot_a, std::size_t slot_b) const;
  void swap(std::size_t slot_a, std::size_t slot_b);

  // Gives a slot to another expert. Allowed if the old one keeps a slot and both GPU rules hold.
  bool can_replace(std::size_t slot, int expert) const;
  void replace(std::size_t slot, int expert);
  // Largest value of the GPUs that an allowed replacement changes, after it.
  double replace_gpu_peak(std::size_t slot, int expert) const;

  // All that two GPUs of equally many slots hold, exchanged; allowed within homes.
  bool can_exchange(std::size_t gpu_a, std::size_t gpu_b) const;
  void exchange(std::size_t gpu_a, std::size_t gpu_b);

  // Sums again what increments have rounded.
  void rebuild();

 private:
  double gpu_value(double load) const;
  void set_send_base();
  // Adds `sign` slots of an expert, at its current piece, to a GPU's resources.
  void charge(std::size_t gpu, std::size_t expert, double sign);
  void charge_everywhere(std::size_t expert, double sign);

  const PlaceModel* model_;
  std::vector<int> expert_of_;       // [P]
  std::vector<std::size_t> gpu_of_;  // [P]
  std::vector<int> copies_;          // [E]
  std::vector<double> piece_;        // [E]: load of one slot
  Matrix<int> on_;                   // [D, E]
  std::vector<double> value_;        // GPU loads unscaled, NICs scaled
  std::vector<double> send_base_;    // [M]: scaled, if nothing were local
};

}  // namespace mixnet::plan
