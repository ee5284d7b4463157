#include "ep/all_to_all.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/random.h"
#include "ep/simulation_test_support.h"

namespace mixnet::ep {
namespace {

using namespace std::chrono_literals;

// [source, destination] bytes, and what every byte has to be.
struct Mail {
  Matrix<uint64_t> bytes;
  uint64_t seed = 0;

  std::byte at_place(std::size_t source, std::size_t to, uint64_t place) const {
    return static_cast<std::byte>(seed * 101 + source * 31 + to * 7 + place * 13 + place / 256);
  }
  std::vector<std::byte> parcel(std::size_t source, std::size_t to) const {
    std::vector<std::byte> parcel(bytes(source, to));
    for (uint64_t place = 0; place < parcel.size(); ++place) {
      parcel[place] = at_place(source, to, place);
    }
    return parcel;
  }
};

// What is wrong with what `self` received; parcels of the lost have to be empty.
std::string wrong_parcels(const Mail& mail, const Received& received, std::size_t self,
                          const RankSet& lost) {
  for (std::size_t source = 0; source < received.parcels.size(); ++source) {
    const Parcel& parcel = received.parcels[source];
    const std::vector<std::byte> wanted =
        lost.has(static_cast<int>(source)) ? std::vector<std::byte>{} : mail.parcel(source, self);
    if (parcel.bytes != wanted.size()) {
      return "parcel of rank " + std::to_string(source) + " has " + std::to_string(parcel.bytes) +
             " bytes, not " + std::to_string(wanted.size());
    }
    if (!std::equal(wanted.begin(), wanted.end(), parcel.data.data)) {
      return "parcel of rank " + std::to_string(source) + " has other bytes";
    }
  }
  return {};
}

// One exchange; `received`, if wanted, outlives it.
std::string exchange_mail(ExchangeState& state, const Mail& mail, Received* kept = nullptr) {
  const std::size_t self = at(state.endpoint.self());
  std::vector<std::vector<std::byte>> data;
  std::vector<Parcel> parcels;
  for (std::size_t to = 0; to < mail.bytes.cols(); ++to) {
    data.push_back(mail.parcel(self, to));
    parcels.push_back(Parcel{host_address(data.back().data()), data.back().size()});
  }
  Result<Received> received = all_to_all(state, parcels);
  if (!received) {
    return received.error().text();
  }
  std::string wrong = wrong_parcels(mail, *received, self, state.endpoint.lost);
  if (kept != nullptr) {
    *kept = *std::move(received);
  }
  return wrong;
}

Mail random_mail(std::size_t ranks, uint64_t seed) {
  RandomStream random(seed, "mail");
  Mail mail{Matrix<uint64_t>(ranks, ranks), seed};
  for (std::size_t source = 0; source < ranks; ++source) {
    for (std::size_t to = 0; to < ranks; ++to) {
      constexpr uint64_t kOdd[] = {0, 0, 1, 2, 63, 64, 65, 127, 1000, 4097};
      mail.bytes(source, to) = kOdd[random.below(10)];
    }
  }
  return mail;
}

SimulatedRanks ranks_of(const std::vector<int>& host_sizes, int rails, uint64_t seed = 1) {
  SimulatedRanks ranks;
  ranks.host_sizes = host_sizes;
  ranks.rails = rails;
  ranks.seed = seed;
  return ranks;
}

TEST(AllToAll, AnySizesOnAnyHosts) {
  struct Shape {
    std::vector<int> hosts;
    int rails;
  };
  uint64_t seed = 1;
  for (const Shape& shape : std::vector<Shape>{{{1}, 1},
                                               {{5}, 0},
                                               {{1, 1}, 1},
                                               {{2, 2}, 4},
                                               {{3, 1, 2}, 3},
                                               {{1, 1, 1, 1, 1, 1}, 2},
                                               {{4, 4, 4, 4}, 2}}) {
    ranks_of(shape.hosts, shape.rails, seed).expect_right([&](ExchangeState& state) {
      std::string wrong;
      for (uint64_t round = 0; round < 3 && wrong.empty(); ++round) {
        wrong = exchange_mail(state, random_mail(at(state.endpoint.ranks()), seed * 10 + round));
      }
      return wrong;
    });
    ++seed;
  }
}

TEST(AllToAll, NothingAtAllAndOneByteOfOneRank) {
  for (const uint64_t bytes : {0, 1}) {
    Mail mail{Matrix<uint64_t>(4, 4), 1};
    mail.bytes(3, 0) = bytes;
    ranks_of({2, 2}, 3).expect_right(
        [&](ExchangeState& state) { return exchange_mail(state, mail); });
  }
}

TEST(AllToAll, OneRankSendsOrOneReceives) {
  for (const bool sends : {true, false}) {
    Mail mail{Matrix<uint64_t>(5, 5), 2};
    for (std::size_t rank = 0; rank < 5; ++rank) {
      (sends ? mail.bytes(1, rank) : mail.bytes(rank, 1)) = 30'001;
    }
    ranks_of({2, 3}, 2).expect_right(
        [&](ExchangeState& state) { return exchange_mail(state, mail); });
  }
}

// Of earlier calls, while later ones run.
TEST(AllToAll, ResultsStayUntilTheyAreGivenBack) {
  ranks_of({2, 1}, 2).expect_right([](ExchangeState& state) {
    const std::size_t self = at(state.endpoint.self());
    std::vector<Received> kept(6);
    std::string wrong;
    for (uint64_t round = 0; round < kept.size(); ++round) {
      wrong += exchange_mail(state, random_mail(3, round), &kept[round]);
    }
    for (uint64_t round = 0; round < kept.size(); ++round) {
      wrong += wrong_parcels(random_mail(3, round), kept[round], self, state.endpoint.lost);
    }
    kept.clear();
    EXPECT_EQ(state.endpoint.memory->used(), 0u);
    return wrong;
  });
}

// What came in one call is sent on from where it is, to the next rank.
TEST(AllToAll, ParcelsMayBeInTheWindow) {
  ranks_of({2, 2}, 2).expect_right([](ExchangeState& state) {
    const std::size_t self = at(state.endpoint.self());
    Mail mail{Matrix<uint64_t>(4, 4, 999), 3};
    Received first;
    std::string wrong = exchange_mail(state, mail, &first);
    std::vector<Parcel> parcels(4);
    parcels[(self + 1) % 4] = first.parcels[2];
    const Result<Received> second = all_to_all(state, parcels);
    if (!second) {
      return second.error().text();
    }
    const std::vector<std::byte> wanted = mail.parcel(2, (self + 3) % 4);
    const Parcel& got = second->parcels[(self + 3) % 4];
    EXPECT_EQ(std::vector<std::byte>(got.data.data, got.data.data + got.bytes), wanted);
    return wrong;
  });
}

TEST(AllToAll, EveryNicTakesItsPart) {
  ranks_of({1, 2}, 3).expect_right([](ExchangeState& state) {
    const Mail mail{Matrix<uint64_t>(3, 3, 100), 1};
    const std::string wrong = exchange_mail(state, mail);
    const std::vector<int64_t> bytes = state.endpoint.self() == 0
                                           ? std::vector<int64_t>{66, 66, 68}
                                           : std::vector<int64_t>{33, 33, 34};
    EXPECT_EQ(state.traffic.nic_bytes, bytes);
    return wrong;
  });
}

TEST(AllToAll, AWindowThatIsTooSmallIsToldToAll) {
  SimulatedRanks ranks = ranks_of({2, 1}, 1);
  ranks.window_bytes = 64 << 10;
  const std::string text = ranks.said_by_all([](ExchangeState& state) {
    Mail mail{Matrix<uint64_t>(3, 3), 1};
    mail.bytes(0, 2) = 70'000;
    const std::string refusal = exchange_mail(state, mail);
    mail.bytes(0, 2) = 7'000;
    EXPECT_EQ(exchange_mail(state, mail), "") << "the next one that fits";
    EXPECT_EQ(state.endpoint.memory->used(), 0u);
    return refusal;
  });
  EXPECT_EQ(text.rfind("all-to-all: rank 0 needs ", 0), 0u) << text;
}

// Whole parcels of the survivors, none of the lost, the same ones everywhere.
TEST(AllToAll, ARankIsKilledInTheMiddle) {
  int with_loss = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SimulatedRanks ranks = ranks_of(seed % 2 == 0 ? std::vector<int>{2, 2, 1} : std::vector<int>{5},
                                    static_cast<int>(1 + seed % 3), seed);
    ranks.patience = Patience{40ms, 10s};
    RandomStream random(seed, "a blow");
    const auto victim = static_cast<int>(random.below(5));
    const auto after = Duration(static_cast<int64_t>(random.below(1'500'000)));
    ranks.faults = {SimulatedFault{SimulatedFault::Kind::kKill, victim, after}};
    const auto texts = ranks.run([&](ExchangeState& state) {
      std::string account;
      for (uint64_t round = 0; round < 6; ++round) {
        const std::string wrong = exchange_mail(state, random_mail(5, seed * 10 + round));
        account += wrong + " {" + state.endpoint.lost.text() + "}";
      }
      return account;
    });
    const std::string& witness = texts[victim == 0 ? 1 : 0];
    for (int rank = 0; rank < 5; ++rank) {
      if (rank != victim) {
        EXPECT_EQ(texts[at(rank)], witness) << "seed " << seed << ", rank " << rank;
      }
    }
    EXPECT_EQ(witness.find("parcel"), std::string::npos) << witness;
    with_loss += witness.find(std::to_string(victim)) != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(with_loss, 20);
}

}  // namespace
}  // namespace mixnet::ep
