#include "ep/store.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <thread>
#include <utility>

#include "ep/host_list.h"
#include "ep/monotonic.h"
#include "ep/tcp_store.h"
#include "ep/tcp_store_wire.h"

namespace mixnet::ep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Instant soon(Duration after = seconds(20)) { return monotonic_now() + after; }

std::unique_ptr<TcpStoreServer> serve_store(uint16_t port = 0) {
  auto server = TcpStoreServer::start({"127.0.0.1", port});
  CHECK(server, "loopback has ports");
  return *std::move(server);
}

net::HostPort address_of(const TcpStoreServer& server) { return {"127.0.0.1", server.port()}; }

// What both kinds of store have to do; `other` is the store as another rank sees it.
void expect_store(Store& store, Store& other) {
  EXPECT_TRUE(store.set("small", "x", soon()).ok());
  EXPECT_TRUE(store.set("empty", "", soon()).ok());
  const std::string large(300'000, 'y');
  EXPECT_TRUE(store.set("large", large, soon()).ok());
  EXPECT_EQ(*other.get("small", soon()), "x");
  EXPECT_EQ(*other.get("small", monotonic_now() - seconds(1)), "x");  // asks once even so
  EXPECT_EQ(*other.get("empty", soon()), "");
  EXPECT_EQ(*other.get("large", soon()), large);
  EXPECT_TRUE(other.set("small", "z", soon()).ok());
  EXPECT_EQ(*store.get("small", soon()), "z");

  const auto missing = other.get("missing", soon(milliseconds(30)));
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("'missing'"));
  EXPECT_EQ(*other.get("small", soon()), "z");

  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_TRUE(store.set("late", "came", soon()).ok());
  });
  EXPECT_EQ(*other.get("late", soon()), "came");
  late.join();
  EXPECT_FALSE(store.set("", "x", soon()).ok());
  EXPECT_FALSE(store.set(std::string(kMaxStoreKeyBytes + 1, 'k'), "x", soon()).ok());
}

// True: a value of the largest size comes back and one more byte is refused.
bool takes_largest(Store& store) {
  std::string value(kMaxStoreValueBytes, 'y');
  const bool kept = store.set("k", value, soon()).ok() && *store.get("k", soon()) == value;
  value += 'y';
  return kept && !store.set("k", value, soon()).ok();
}

TEST(MemoryStore, KeepsValues) {
  MemoryStore store;
  expect_store(store, store);
}

TEST(TcpStore, KeepsValues) {
  const auto server = serve_store();
  TcpStore one(address_of(*server));
  TcpStore other(address_of(*server));
  expect_store(one, other);
  EXPECT_TRUE(takes_largest(other));
}

TEST(TcpStore, WaitsForAServerThatComesLaterAndForOneThatComesBack) {
  auto server = serve_store();
  const net::HostPort address = address_of(*server);
  server.reset();
  std::thread starts([&] {
    std::this_thread::sleep_for(milliseconds(60));
    server = serve_store(address.port);
  });
  TcpStore store(address);
  EXPECT_TRUE(store.set("key", "one", soon()).ok());
  starts.join();
  server.reset();
  server = serve_store(address.port);
  EXPECT_TRUE(store.set("key", "two", soon()).ok());
  EXPECT_EQ(*store.get("key", soon()), "two");
}

TEST(TcpStore, NamesAServerThatNeverComes) {
  auto server = serve_store();
  const net::HostPort address = address_of(*server);
  server.reset();
  TcpStore store(address);
  const Status set = store.set("key", "one", soon(milliseconds(80)));
  ASSERT_FALSE(set.ok());
  EXPECT_THAT(set.error().message, HasSubstr(address.text()));
  EXPECT_THAT(set.error().message, HasSubstr("connection refused"));
}

// A connection that writes `bytes`; true: it was closed by the server.
bool closed_after(const TcpStoreServer& server, std::string_view bytes) {
  const net::UniqueFd stranger(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = net::numeric_addresses(address_of(server)).front();
  CHECK(connect(stranger.get(), address.get(), address.size) == 0, "the server listens");
  CHECK(send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0, "the server reads");
  pollfd one{stranger.get(), POLLIN, 0};
  char byte = 0;
  return poll(&one, 1, 5000) == 1 && recv(stranger.get(), &byte, 1, 0) <= 0;
}

TEST(TcpStore, ClosesTheConnectionsOfStrangersOnly) {
  const auto server = serve_store();
  TcpStore store(address_of(*server));
  TcpStore waiting(address_of(*server));
  EXPECT_TRUE(store.set("key", "value", soon()).ok());
  std::thread waits([&] { EXPECT_EQ(*waiting.get("later", soon()), "came"); });
  EXPECT_TRUE(closed_after(*server, "GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(closed_after(*server, store_header(9, 1, 0) + "k"));
  EXPECT_TRUE(closed_after(*server, store_header(kStoreGet, 0, 0)));
  EXPECT_TRUE(closed_after(*server, store_header(kStoreSet, 1, kMaxStoreValueBytes + 1)));
  EXPECT_TRUE(closed_after(*server, store_header(kStoreSet, kMaxStoreKeyBytes + 1, 1)));
  // A request before the answer to the one before.
  const std::string get = store_header(kStoreGet, 1, 0) + "?";
  EXPECT_TRUE(closed_after(*server, get + get));
  EXPECT_EQ(*store.get("key", soon()), "value");
  EXPECT_TRUE(store.set("later", "came", soon()).ok());
  waits.join();
}

TEST(TcpStore, IsNotTakenInByAnotherServer) {
  const net::UniqueFd listening(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = net::numeric_addresses({"127.0.0.1", 0}).front();
  ASSERT_EQ(bind(listening.get(), address.get(), address.size), 0);
  ASSERT_EQ(listen(listening.get(), 8), 0);
  ASSERT_EQ(
      getsockname(listening.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size),
      0);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      pollfd one{listening.get(), POLLIN, 0};
      if (poll(&one, 1, 10) == 1) {
        const net::UniqueFd client(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
        EXPECT_GT(send(client.get(), "HTTP/1.1 400 Bad Request\r\n\r\n", 28, MSG_NOSIGNAL), 0);
        char byte = 0;
        EXPECT_GT(recv(client.get(), &byte, 1, 0), 0);
      }
    }
  });
  TcpStore store(address.host_port());
  const auto value = store.get("key", soon(milliseconds(150)));
  done = true;
  other.join();
  ASSERT_FALSE(value.ok());
  EXPECT_THAT(value.error().message, HasSubstr(address.host_port().text()));
}

TEST(StoreTable, IsBounded) {
  StoreTable table;
  for (std::size_t i = 0; i < kMaxStoreKeys; ++i) {
    ASSERT_TRUE(table.set(std::to_string(i), "").ok());
  }
  EXPECT_TRUE(table.set("0", "again").ok());
  EXPECT_EQ(*table.find("0"), "again");
  const Status full = table.set("one more", "");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().message, "the store has 65536 keys, no room for 'one more'");
}

TEST(GetOfRanks, NamesThoseThatDidNotCome) {
  MemoryStore store;
  ASSERT_TRUE(store.set("r/0", "a", soon()).ok());
  ASSERT_TRUE(store.set("r/2", "c", soon()).ok());
  const auto some = get_of_ranks(store, "r/", {0, 1, 2, 3}, soon(milliseconds(20)));
  ASSERT_FALSE(some.ok());
  EXPECT_EQ(some.error().message, "ranks 1, 3 did not come: nobody set 'r/1' in time");
  EXPECT_THAT(*get_of_ranks(store, "r/", {2, 0}, soon()), testing::ElementsAre("c", "a"));
}

TEST(MeetLast, KeepsRankZeroUntilAllOthersAreDone) {
  MemoryStore store;
  const Status alone = meet_last(store, "last/", 0, 3, soon(milliseconds(20)));
  ASSERT_FALSE(alone.ok());
  EXPECT_THAT(alone.error().message, HasSubstr("ranks 1, 2 did not come"));
  EXPECT_TRUE(meet_last(store, "last/", 1, 3, soon()).ok());
  EXPECT_TRUE(meet_last(store, "last/", 2, 3, soon()).ok());
  EXPECT_TRUE(meet_last(store, "last/", 0, 3, soon()).ok());
}

// What every rank gets to hear when it says that it is on `hosts[rank]`.
std::vector<Result<RankMap>> agree(const std::vector<std::string>& hosts) {
  MemoryStore store;
  const int ranks = static_cast<int>(hosts.size());
  std::vector<Result<RankMap>> maps(hosts.size(), Error{"nothing", {}});
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const Membership member{rank, ranks, hosts[at(rank)], {}};
      maps[at(rank)] = agree_on_hosts(store, "hosts/", member, soon());
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return maps;
}

TEST(AgreeOnHosts, NumbersHostsByTheirNames) {
  for (const auto& map : agree({"b", "b", "a", "c", "c"})) {
    ASSERT_TRUE(map.ok());
    EXPECT_EQ(*map, RankMap({2, 1, 2}));
  }
}

TEST(AgreeOnHosts, TellsEveryRankWhatIsWrong) {
  for (const auto& map : agree({"a", "b", "a"})) {
    ASSERT_FALSE(map.ok());
    EXPECT_THAT(map.error().message, HasSubstr("rank 2 is on host 0: number the ranks host by"));
  }
}

TEST(AgreeOnHosts, NamesRanksThatAreMissing) {
  MemoryStore store;
  const auto map = agree_on_hosts(store, "h/", {0, 2, "a", {}}, soon(milliseconds(20)));
  ASSERT_FALSE(map.ok());
  EXPECT_THAT(map.error().message, HasSubstr("rank 1 did not come"));
  const auto other = agree_on_hosts(store, "i/", {1, 2, "a", {}}, soon(milliseconds(20)));
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("rank 0 did not say which ranks share a host"));
}

TEST(AgreeOnHosts, NoticesJobsOfDifferentSizes) {
  MemoryStore store;
  ASSERT_TRUE(store.set("h/hosts", "+2,2", soon()).ok());
  const auto map = agree_on_hosts(store, "h/", {1, 2, "a", {}}, soon());
  ASSERT_FALSE(map.ok());
  EXPECT_THAT(map.error().message, HasSubstr("start all ranks as one job"));
}

}  // namespace
}  // namespace mixnet::ep
