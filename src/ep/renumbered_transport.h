#pragma once

#include <memory>
#include <vector>

#include "ep/rank_set.h"
#include "ep/transport.h"

namespace mixnet::ep {

// The survivors of a transport under numbers of their own: without gaps, in the same order, hosts
// that have nobody left dropped. What comes from others is thrown away.
class RenumberedTransport final : public Transport {
 public:
  // The rank of `inner` is not in `lost`.
  RenumberedTransport(std::shared_ptr<Transport> inner, const RankSet& lost);

  // The number of a rank of `inner`; -1: it is lost.
  int number_of(int old) const { return renamed_[at(old)]; }

  const RankMap& ranks() const override { return ranks_; }
  int rank() const override { return rank_; }
  int rails() const override { return inner_->rails(); }
  uint64_t largest_message() const override { return inner_->largest_message(); }

  Window window() override { return inner_->window(); }
  Address mapped(int peer) override { return inner_->mapped(old_of(peer)); }

  void post(int peer, std::span<const std::byte> message) override {
    inner_->post(old_of(peer), message);
  }
  void write(const RemoteWrite& write) override;
  void signal(int peer, int rail, uint32_t immediate) override {
    inner_->signal(old_of(peer), rail, immediate);
  }
  bool drained() override { return inner_->drained(); }

  Event poll() override;
  void wait(Instant until) override { inner_->wait(until); }
  Instant now() override { return inner_->now(); }

  Health health(int peer) override { return inner_->health(old_of(peer)); }
  void abandon(int peer) override { inner_->abandon(old_of(peer)); }

 private:
  int old_of(int rank) const { return old_[at(rank)]; }

  std::shared_ptr<Transport> inner_;
  std::vector<int> old_;      // [new]
  std::vector<int> renamed_;  // [old] new number, or -1
  RankMap ranks_;
  int rank_;
};

}  // namespace mixnet::ep
