#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ep/communicator.h"
#include "ep/conformance.h"

// What tests of communicators share.
namespace mixnet::ep {

// Over a transport that outlives it.
inline std::unique_ptr<Communicator> communicator_over(Transport& transport,
                                                       const Patience& patience) {
  return std::make_unique<Communicator>(std::shared_ptr<Transport>(&transport, [](Transport*) {}),
                                        patience);
}

// Row `row` of some, as numbers.
inline std::vector<float> floats_at(ConstAddress rows, int64_t row, int64_t hidden) {
  std::vector<float> values(static_cast<std::size_t>(hidden));
  std::memcpy(values.data(), rows.data + row * hidden * static_cast<int64_t>(sizeof(float)),
              values.size() * sizeof(float));
  return values;
}

// What is wrong with the sums that came back when every rank returns what it received: a token
// times the ranks that it reached.
inline std::string wrong_echo(const Communicator& communicator, const conformance::Load& load,
                              const conformance::RankLoad& own, const std::vector<float>& sums) {
  const DispatchLayout layout =
      dispatch_layout(TopK{own.experts, load.top_k},
                      ExpertMap(load.experts, communicator.ranks().ranks()), communicator.ranks());
  for (int64_t token = 0; token < own.tokens; ++token) {
    float reached = 0;
    for (int rank = 0; rank < communicator.ranks().ranks(); ++rank) {
      const bool needed = layout.token_in_rank(static_cast<std::size_t>(token), at(rank)) != 0;
      reached += needed && !communicator.lost().has(rank) ? 1.0F : 0.0F;
    }
    const auto x = floats_at(host_address(own.x.data()), token, load.hidden);
    const auto sum = floats_at(host_address(sums.data()), token, load.hidden);
    for (std::size_t column = 0; column < x.size(); ++column) {
      if (sum[column] != x[column] * reached) {
        return "token " + std::to_string(token) + " came back as " + std::to_string(sum[column]) +
               ", not " + std::to_string(x[column] * reached);
      }
    }
  }
  return {};
}

// A dispatch whose rows are returned as they are; what is wrong with the sums.
inline std::string echo(Communicator& communicator, const conformance::Load& load) {
  const conformance::RankLoad own =
      conformance::load_of(load, communicator.rank(), communicator.ranks().ranks());
  const Result<Dispatched> got =
      communicator.dispatch(conformance::input_of(load, own), conformance::options_of(load));
  if (!got) {
    return got.error().text();
  }
  std::vector<float> sums(own.x.size() / sizeof(float), 9.0F);
  const CombineInput back{got->x, load.hidden, load.type, false, {}, {}};
  const Result<Combined> combined =
      communicator.combine(back, got->handle, host_address(sums.data()));
  return combined ? wrong_echo(communicator, load, own, sums) : combined.error().text();
}

// Every rank sends its number to every other one; what came, "-" for nothing.
inline std::string roll_call(Communicator& communicator) {
  const std::string own = std::to_string(communicator.rank());
  const std::vector<Parcel> parcels(
      at(communicator.ranks().ranks()),
      Parcel{host_address(reinterpret_cast<const std::byte*>(own.data())), own.size()});
  const Result<Received> received = communicator.all_to_all(parcels);
  if (!received) {
    return received.error().text();
  }
  std::string text;
  for (const Parcel& parcel : received->parcels) {
    text += parcel.bytes == 0
                ? "-"
                : std::string(reinterpret_cast<const char*>(parcel.data.data), parcel.bytes);
    text += " ";
  }
  return text;
}

}  // namespace mixnet::ep
