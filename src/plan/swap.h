#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Balancing one MoE layer of one step inside its hosts, between the count of tokens and the
// dispatch. Every rank runs this on the same counts and gets the same answer, without a message.
//
// Definitions. A slot holds one expert (or none, -1) and computes the tokens sent to it; slots are
// numbered GPU after GPU, GPUs host after host. The load of a GPU is the sum of its slots' tokens,
// and the layer waits for the heaviest GPU.
//
// Swaps ("Balancing and Beyond", SIGCOMM 2026, section 4.2): in each host the heaviest GPU is
// paired with the lightest, the second with the second lightest, and so on. Each pair takes the
// exchange of two slots that lowers the larger of its two loads most, if that load falls by at
// least tau tokens (plan/swap_cost.h). An empty slot can take part: the exchange is then a move.
// Spilling sends tokens to another replica of their expert, which moves no weights. It lowers the
// largest load as far as tokens and replicas permit: the linear program that LPLB solves for its
// fixed graphs equals a network flow, whose integral optimum is found here for any replicas.
namespace mixnet::plan {

struct StepShape {
  int gpus = 0;           // of the expert-parallel group
  int slots_per_gpu = 0;  // at most 65,536; a GPU with fewer has empty slots
  int gpus_per_host = 8;  // the last host may have fewer
  int experts = 0;        // experts are 0 ... experts - 1
};

struct SwapRule {
  int64_t threshold = 1;   // tau, in tokens; >= 1
  int swaps_per_pair = 1;  // taken one after another, each pays tau
  // Rounds of pairing. A second or later round is kept only if the largest load of its host falls
  // by at least tau per swap that one GPU of the host takes part in; the first is the rule above.
  int rounds = 1;
  // Spill before the swaps, and once more if there were any. Tokens stay in their host; to spill
  // across hosts, state the group as one host with `rounds` 0.
  bool spill = false;
};

// Slots `heavy` and `light`, of two GPUs of one host, exchange experts and tokens. `fall` is by how
// many tokens the larger of the two loads fell. `light` was empty if it is a move.
struct ExpertSwap {
  int heavy = -1;
  int light = -1;
  int64_t fall = 0;
  bool operator==(const ExpertSwap&) const = default;
};

// Views into the balancer, valid until its next call.
struct BalancedStep {
  std::span<const ExpertSwap> swaps;     // in the order in which they apply
  std::span<const int> slot_expert;      // after the swaps
  std::span<const int64_t> slot_tokens;  // after swaps and spilling
  int64_t heaviest_before = 0;           // load of the heaviest GPU
  int64_t heaviest_after = 0;
};

// Owns all memory that decisions need: after construction nothing is allocated. An answer depends
// on the arguments alone, not on earlier calls; no two balancers share anything.
class StepBalancer {
 public:
  // Tokens of one host in one step, at most, and of one GPU at most its even share of them: leaves
  // room for a slot number beside a count.
  static constexpr int64_t kMostTokens = int64_t{1} << 46;

  StepBalancer(const StepShape& shape, const SwapRule& rule);

  // `slot_expert` and `slot_tokens` have one entry per slot, [gpus * slots_per_gpu]; an empty slot
  // has no tokens. `gpu_lost` is empty or has one entry per GPU: a GPU with a value other than 0
  // takes no part and has no tokens. Arguments of other sizes, experts out of range, negative or
  // too large counts are a CHECK.
  //
  // No exchange puts an expert on a GPU that already holds it. Ties: of equal GPUs the lower index
  // counts as heavier; of equal exchanges the lowest slot of the heavy GPU, then of the light one,
  // is taken.
  //
  // O(gpus_per_host log + pairs * slots log slots) per host and round; spilling adds a maximum flow
  // on GPUs and replicas per step of a binary search.
  BalancedStep balance(std::span<const int> slot_expert, std::span<const int64_t> slot_tokens,
                       std::span<const uint8_t> gpu_lost = {});

  // Fills `slot_tokens` from the tokens per expert: an even split over the replicas, the remainder
  // one token each to those with the lowest slots. Returns the tokens of experts without a slot on
  // a GPU that is not lost.
  int64_t split(std::span<const int> slot_expert, std::span<const int64_t> expert_tokens,
                std::span<int64_t> slot_tokens, std::span<const uint8_t> gpu_lost = {});

 private:
  struct Host {
    int first_gpu;
    int end_gpu;
  };
  struct Exchange {
    int heavy = -1;
    int light = -1;
    int64_t fall = 0;
  };
  struct Hop {  // how the search of spill() reached a GPU
    int from_slot = -1;
    int to_slot = -1;
  };

  int gpu_of(int slot) const { return slot / shape_.slots_per_gpu; }
  int first_slot(int gpu) const { return gpu * shape_.slots_per_gpu; }
  void take_in(std::span<const int> slot_expert, std::span<const int64_t> slot_tokens,
               std::span<const uint8_t> gpu_lost);
  int64_t heaviest(const Host& host) const;
  void balance_host(const Host& host);
  bool swap_round(const Host& host, bool must_pay);
  int order_by_load(const Host& host);
  int swap_pair(int heavy, int light);
  Exchange best_exchange(int heavy, int light, int64_t gap);
  Exchange best_compared(int heavy, int light, int32_t gap);
  Exchange best_searched(int heavy, int light, int64_t gap);
  void stamp_experts(int heavy, int light);
  std::span<const uint64_t> sorted_keys(int light);
  void apply(int heavy_slot, int light_slot);
  void spill(const Host& host);
  bool link_replicas(const Host& host);
  bool fits(const Host& host, int64_t limit);
  int find_room(int from_gpu, int64_t limit);
  void push(int from_gpu, int to_gpu, int64_t limit);

  StepShape shape_;
  SwapRule rule_;
  std::vector<int> expert_;      // [slots] as balanced so far
  std::vector<int64_t> tokens_;  // [slots]
  std::vector<int64_t> load_;    // [gpus]
  std::vector<uint8_t> lost_;    // [gpus]
  std::vector<int> order_;       // GPUs of a host, heaviest first
  std::vector<ExpertSwap> swaps_;
  // Which experts the two GPUs of a pair hold: an entry equal to stamp_ says yes.
  std::vector<uint64_t> on_heavy_;  // [experts]
  std::vector<uint64_t> on_light_;
  uint64_t stamp_ = 0;
  std::vector<uint64_t> keys_;    // tokens << 16 | slot of the light GPU
  std::vector<int32_t> doubled_;  // twice the tokens of the light GPU's slots
  // Spilling: the replicas of an expert in a host as a ring of slots.
  std::vector<int> ring_;              // [slots] the next replica
  std::vector<int> ring_first_;        // [experts]
  std::vector<int> ring_last_;         // [experts]
  std::vector<int64_t> trial_tokens_;  // [slots]
  std::vector<int64_t> trial_load_;    // [gpus]
  std::vector<Hop> hop_;               // [gpus]
  std::vector<uint64_t> reached_;      // [gpus] stamps
  std::vector<int> queue_;             // [gpus]
  uint64_t search_ = 0;
};

}  // namespace mixnet::plan
