#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "ep/collective_input.h"
#include "ep/exchange.h"
#include "ep/live_hosts.h"

namespace mixnet::ep {

// The course that all collectives without routing take: declare, compare, move; again without the
// lost ones when somebody is lost on the way.
class CollectiveCall {
 public:
  explicit CollectiveCall(ExchangeState& state)
      : state_(state), self_(state.endpoint.self()), input_(state) {}
  virtual ~CollectiveCall() = default;
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;
  CollectiveCall(CollectiveCall&&) = delete;
  CollectiveCall& operator=(CollectiveCall&&) = delete;

  Status run();

 protected:
  // What is wrong with the arguments, or nothing; then the input may be placed.
  virtual std::string prepare() = 0;
  // Lends the blocks of an attempt, if own.refusal is empty, and declares the numbers.
  virtual void lend(Attempt& attempt, const LiveHosts& hosts, Declaration& own) = 0;
  // Fields; the same on all ranks, however bad the arguments are.
  virtual Declaration declare() const = 0;
  // All declarations agree. Sets refuse() where all ranks see that it cannot be.
  virtual Attempt::Progress move(Attempt& attempt, const LiveHosts& hosts) = 0;

  void refuse(std::string why) { refusal_ = std::move(why); }
  bool refused() const { return !refusal_.empty(); }
  // Lends a block and declares its offset as the next number. 0 bytes: the number is 0.
  void lend_block(Attempt& attempt, uint64_t bytes, Declaration& own) const;

  ExchangeState& state() const { return state_; }
  int self() const { return self_; }
  int ranks() const { return state_.endpoint.ranks(); }
  CollectiveInput& input() { return input_; }
  // In the own window, or in that of a rank of this host.
  Address in_window(int rank, uint64_t offset) const {
    return state_.endpoint.transport.mapped(rank) + offset;
  }

 private:
  Attempt::Progress once(Attempt& attempt);

  ExchangeState& state_;
  int self_;
  CollectiveInput input_;
  std::string bad_;      // of the arguments of this rank
  std::string refusal_;  // the same on all ranks
};

// [rank] Number `index` of the declarations; 0 of lost ranks.
std::vector<uint64_t> numbers_of(const Attempt& attempt, std::size_t index);

// What is wrong with a number of elements, or nothing.
std::string bad_elements(const char* name, int64_t elements);

// `ranks` without `self`.
std::vector<int> all_but(const std::vector<int>& ranks, int self);

}  // namespace mixnet::ep
