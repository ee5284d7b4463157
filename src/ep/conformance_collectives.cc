#include "ep/conformance_collectives.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "core/random.h"
#include "ep/exchange_plan.h"
#include "ep/live_hosts.h"
#include "ep/point_to_point.h"
#include "ep/ring.h"

namespace mixnet::ep::conformance {
namespace {

// Numbers in memory of either type.
class Numbers {
 public:
  Numbers(DataType type, int64_t count)
      : type_(type), bytes_(static_cast<std::size_t>(count * bytes_of(type)), std::byte{0xee}) {}

  int64_t count() const { return static_cast<int64_t>(bytes_.size()) / bytes_of(type_); }
  uint64_t size() const { return bytes_.size(); }
  DataType type() const { return type_; }
  Address address() { return host_address(bytes_.data()); }
  void set(int64_t index, float value) {
    if (type_ == DataType::kBf16) {
      write(index, to_bf16(value));
    } else {
      write(index, value);
    }
  }
  float get(int64_t index) const {
    return type_ == DataType::kBf16 ? to_fp32(read<Bf16>(index)) : read<float>(index);
  }
  uint64_t hash() const {
    uint64_t hash = 1469598103934665603u;
    for (const std::byte byte : bytes_) {
      hash = (hash ^ static_cast<uint64_t>(byte)) * 1099511628211u;
    }
    return hash;
  }
  bool operator==(const Numbers&) const = default;

 private:
  template <typename T>
  void write(int64_t index, T value) {
    std::memcpy(bytes_.data() + static_cast<std::size_t>(index) * sizeof value, &value,
                sizeof value);
  }
  template <typename T>
  T read(int64_t index) const {
    T value{};
    std::memcpy(&value, bytes_.data() + static_cast<std::size_t>(index) * sizeof value,
                sizeof value);
    return value;
  }

  DataType type_;
  std::vector<std::byte> bytes_;
};

// Small integers: sums over a few dozen ranks are exact in either type.
float input_value(const Amount& amount, int rank, int64_t index) {
  return static_cast<float>((rank * 7 + index * 3 + static_cast<int64_t>(amount.seed)) % 5 - 2);
}

Numbers inputs(const Amount& amount, int rank, int64_t count) {
  Numbers numbers(amount.type, count);
  for (int64_t i = 0; i < count; ++i) {
    numbers.set(i, input_value(amount, rank, i));
  }
  return numbers;
}

// Element `index` summed over those that take part.
float sum_of(const ExchangeState& state, const Amount& amount, int64_t index) {
  float sum = 0;
  for (int rank = 0; rank < state.endpoint.ranks(); ++rank) {
    sum += state.endpoint.lost.has(rank) ? 0.0F : input_value(amount, rank, index);
  }
  return sum;
}

template <typename Wanted>
std::string compare(const char* call, const Numbers& got, const Wanted& wanted) {
  for (int64_t i = 0; i < got.count(); ++i) {
    if (got.get(i) != wanted(i)) {
      return std::string(call) + ": element " + std::to_string(i) + " of " +
             std::to_string(got.count()) + " is " + std::to_string(got.get(i)) + ", not " +
             std::to_string(wanted(i));
    }
  }
  return {};
}

// Parts of different sizes, some without anything.
int64_t part_elements(const Amount& amount, int rank) {
  return rank % 3 == 1 ? 0 : amount.elements / (rank + 1) + rank % 2;
}

// The result of a sum, as long as nobody else is lost.
class SummedOnce {
 public:
  bool matches(const Numbers& sum, const RankSet& lost) {
    if (!sum_ || lost != lost_) {
      sum_ = sum;
      lost_ = lost;
    }
    return sum == *sum_;
  }
  uint64_t hash() const { return sum_->hash(); }

 private:
  std::optional<Numbers> sum_;
  RankSet lost_;
};

// Rank 0 sends to all others in turn, twice; these receive late.
std::string check_one_way(ExchangeState& state, const Amount& amount) {
  for (const int64_t count : {amount.elements, amount.elements / 2}) {
    Numbers data = inputs(amount, state.endpoint.self(), count);
    if (state.endpoint.self() != 0) {
      const Status status = receive(state, Incoming{0, data.address(), data.size()});
      std::string wrong =
          status ? compare("receive", data, [&](int64_t i) { return input_value(amount, 0, i); })
                 : status.error().text();
      if (!wrong.empty()) {
        return wrong;
      }
      continue;
    }
    for (int to = 1; to < state.endpoint.ranks(); ++to) {
      const Status status = send(state, Outgoing{to, data.address(), data.size()});
      if (!status) {
        return status.error().text();
      }
    }
  }
  return {};
}

Numbers random_inputs(const Amount& amount, int rank, int64_t count) {
  Numbers numbers(amount.type, count);
  RandomStream random(amount.seed + static_cast<uint64_t>(rank), "sums");
  for (int64_t i = 0; i < count; ++i) {
    numbers.set(i, static_cast<float>(random.normal()));
  }
  return numbers;
}

// Element `index` added host by host around the ring, rounded at each.
float sum_along_ring(const LiveHosts& hosts, const std::vector<Numbers>& all, int first,
                     int64_t index) {
  Numbers rounded = Numbers(all.front().type(), 1);
  for (int step = 0; step < hosts.hosts(); ++step) {
    float sum = step == 0 ? -0.0F : rounded.get(0);
    for (const int rank : hosts.of((first + step) % hosts.hosts())) {
      sum += all[at(rank)].get(index);
    }
    rounded.set(0, sum);
  }
  return rounded.get(0);
}

std::string all_reduce_in_order(ExchangeState& state, const std::vector<Numbers>& all) {
  Numbers data = all[at(state.endpoint.self())];
  const Status status = all_reduce(state, data.address(), data.count(), data.type());
  if (!status) {
    return status.error().text();
  }
  Numbers wanted(data.type(), data.count());
  const LiveHosts hosts(state.endpoint.transport.ranks(), state.endpoint.lost);
  const RingCut cut = ring_cut(hosts, data.count(), data.type(), state.endpoint.transport.rails());
  for (int lane = 0; lane < cut.lanes; ++lane) {
    for (int rail = 0; rail < cut.rails; ++rail) {
      for (int host = 0; host < cut.hosts; ++host) {
        const RowRange range = cut.segment(lane, rail, host);
        for (int64_t i = range.first; i < range.first + range.rows; ++i) {
          wanted.set(i, sum_along_ring(hosts, all, host, i));
        }
      }
    }
  }
  return data == wanted ? "" : "all-reduce: sums are taken in another order";
}

std::string reduce_scatter_in_order(ExchangeState& state, const std::vector<Numbers>& all) {
  const int self = state.endpoint.self();
  const int64_t each = all.front().count() / state.endpoint.ranks();
  Numbers in = all[at(self)];
  Numbers out(in.type(), each);
  const Status status = reduce_scatter(state, in.address(), each, in.type(), out.address());
  if (!status) {
    return status.error().text();
  }
  Numbers wanted(in.type(), each);
  const LiveHosts hosts(state.endpoint.transport.ranks(), state.endpoint.lost);
  for (int64_t i = 0; i < each; ++i) {
    wanted.set(i,
               sum_along_ring(hosts, all, hosts.after(hosts.position_of(self)), self * each + i));
  }
  return out == wanted ? "" : "reduce-scatter: sums are taken in another order";
}

std::string check_amount(ExchangeState& state, const Amount& amount) {
  for (const auto& check : {check_all_reduce, check_reduce_scatter, check_all_gather,
                            check_all_gather_v, check_transfers}) {
    std::string wrong = check(state, amount);
    if (!wrong.empty()) {
      return wrong;
    }
  }
  for (int root = 0; root < state.endpoint.ranks(); ++root) {
    std::string wrong = check_broadcast(state, amount, root);
    if (!wrong.empty()) {
      return wrong;
    }
  }
  const Status met = barrier(state);
  std::string wrong = met ? sums_repeat(state, amount) : met.error().text();
  return wrong.empty() ? sums_in_order(state, amount) : wrong;
}

}  // namespace

std::string check_all_reduce(ExchangeState& state, const Amount& amount) {
  Numbers data = inputs(amount, state.endpoint.self(), amount.elements);
  const Status status = all_reduce(state, data.address(), amount.elements, amount.type);
  if (!status) {
    return status.error().text();
  }
  return compare("all-reduce", data, [&](int64_t i) { return sum_of(state, amount, i); });
}

std::string check_reduce_scatter(ExchangeState& state, const Amount& amount) {
  const int self = state.endpoint.self();
  const int64_t each = (amount.elements + 2) / state.endpoint.ranks();
  Numbers in = inputs(amount, self, each * state.endpoint.ranks());
  Numbers out(amount.type, each);
  const Status status = reduce_scatter(state, in.address(), each, amount.type, out.address());
  if (!status) {
    return status.error().text();
  }
  return compare("reduce-scatter", out,
                 [&](int64_t i) { return sum_of(state, amount, self * each + i); });
}

std::string check_all_gather(ExchangeState& state, const Amount& amount) {
  const int64_t each = (amount.elements + 2) / state.endpoint.ranks();
  Numbers in = inputs(amount, state.endpoint.self(), each);
  Numbers out(amount.type, each * state.endpoint.ranks());
  const Status status = all_gather(state, in.address(), in.size(), out.address());
  if (!status) {
    return status.error().text();
  }
  return compare("all-gather", out, [&](int64_t i) {
    const auto rank = static_cast<int>(i / each);
    return state.endpoint.lost.has(rank) ? 0.0F : input_value(amount, rank, i % each);
  });
}

std::string check_all_gather_v(ExchangeState& state, const Amount& amount) {
  const int ranks = state.endpoint.ranks();
  int64_t all = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    all += part_elements(amount, rank);
  }
  const int self = state.endpoint.self();
  Numbers in = inputs(amount, self, part_elements(amount, self));
  Numbers out(amount.type, all);
  const auto sizes =
      all_gather_v(state, GatherInput{in.address(), in.size()}, out.address(), out.size());
  if (!sizes) {
    return sizes.error().text();
  }
  int64_t place = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const int64_t count = state.endpoint.lost.has(rank) ? 0 : part_elements(amount, rank);
    if ((*sizes)[at(rank)] != static_cast<uint64_t>(count * bytes_of(amount.type))) {
      return "all-gather: " + std::to_string((*sizes)[at(rank)]) + " bytes of rank " +
             std::to_string(rank);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (out.get(place++) != input_value(amount, rank, i)) {
        return "all-gather: the part of rank " + std::to_string(rank) + " is another one";
      }
    }
  }
  return {};
}

std::string check_broadcast(ExchangeState& state, const Amount& amount, int root) {
  Numbers data = inputs(amount, state.endpoint.self(), amount.elements);
  const Status status = broadcast(state, data.address(), data.size(), root);
  if (!status) {
    return state.endpoint.lost.has(root) ? "" : status.error().text();
  }
  return compare("broadcast", data, [&](int64_t i) { return input_value(amount, root, i); });
}

std::string check_transfers(ExchangeState& state, const Amount& amount) {
  const int ranks = state.endpoint.ranks();
  const int self = state.endpoint.self();
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (self + distance) % ranks;
    const int from = (self + ranks - distance) % ranks;
    Numbers mine = inputs(amount, self, amount.elements + self);
    Numbers got(amount.type, amount.elements + from);
    const Status status = send_receive(state, Outgoing{to, mine.address(), mine.size()},
                                       Incoming{from, got.address(), got.size()});
    std::string wrong = status ? compare("send_receive", got,
                                         [&](int64_t i) { return input_value(amount, from, i); })
                               : status.error().text();
    if (!wrong.empty()) {
      return wrong;
    }
  }
  return check_one_way(state, amount);
}

std::string sums_repeat(ExchangeState& state, const Amount& amount) {
  const int ranks = state.endpoint.ranks();
  Numbers in = random_inputs(amount, state.endpoint.self(), amount.elements);
  const int64_t each = amount.elements / ranks;
  SummedOnce whole;
  SummedOnce part;
  for (int round = 0; round < 3; ++round) {
    Numbers data = in;
    const Status status = all_reduce(state, data.address(), amount.elements, amount.type);
    bool same = !status || whole.matches(data, state.endpoint.lost);
    Numbers own(amount.type, each);
    const Status scattered = reduce_scatter(state, in.address(), each, amount.type, own.address());
    same = same && (!scattered || part.matches(own, state.endpoint.lost));
    if (!status || !scattered) {
      return (status ? scattered : status).error().text();
    }
    if (!same) {
      return "the same sums have other bits";
    }
  }
  uint64_t own = whole.hash();
  std::vector<uint64_t> all(at(ranks));
  const Status status = all_gather(state, host_address(&own), sizeof own, host_address(all.data()));
  if (!status) {
    return status.error().text();
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (!state.endpoint.lost.has(rank) && all[at(rank)] != own) {
      return "all-reduce: rank " + std::to_string(rank) + " has other bits";
    }
  }
  return {};
}

std::string sums_in_order(ExchangeState& state, const Amount& amount) {
  std::vector<Numbers> all;
  for (int rank = 0; rank < state.endpoint.ranks(); ++rank) {
    all.push_back(random_inputs(amount, rank, amount.elements));
  }
  std::string wrong = all_reduce_in_order(state, all);
  return wrong.empty() ? reduce_scatter_in_order(state, all) : wrong;
}

namespace {

std::string collectives_of(Transport& transport, const std::vector<int64_t>& sizes) {
  HostCopyEngine copies;
  ExchangeState state(transport, copies, Patience{});
  uint64_t seed = 1;
  for (const int64_t elements : sizes) {
    for (const DataType type : {DataType::kBf16, DataType::kFp32}) {
      std::string wrong = check_amount(state, Amount{elements, type, seed++});
      if (!wrong.empty()) {
        return std::to_string(elements) + " elements: " + wrong;
      }
    }
  }
  const uint64_t used = state.endpoint.memory->used();
  return used == 0 ? "" : std::to_string(used) + " bytes of the window are still lent";
}

}  // namespace

std::string collectives(Transport& transport) {
  return collectives_of(transport, {0, 1, 7, 1000, 100'003});
}

std::string collectives_in_part(Transport& transport) {
  return collectives_of(transport, {7, 5003});
}

}  // namespace mixnet::ep::conformance
