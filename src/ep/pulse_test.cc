#include "ep/pulse.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <thread>
#include <utility>

#include "ep/monotonic.h"

namespace mixnet::ep {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Rank 0 of two, whose peer is whoever sends to its socket.
class PulseOfTwo {
 public:
  PulseOfTwo() {
    auto socket = open_beat_socket("127.0.0.1");
    auto peer = open_beat_socket("127.0.0.1");
    CHECK(socket && peer, "loopback has sockets");
    peer_ = *std::move(peer);
    address_ = beat_address(*socket);
    PulseOptions options;
    options.ranks = 2;
    options.interval = milliseconds(5);
    options.communicator = 77;
    options.beats = &beats_;
    options.sockets.push_back(*std::move(socket));
    PulsePeer peer_options;
    peer_options.rank = 1;
    peer_options.addresses = {beat_address(peer_)};
    options.peers.push_back(std::move(peer_options));
    auto pulse = Pulse::start(std::move(options));
    CHECK(pulse, "a pulse starts");
    pulse_ = *std::move(pulse);
  }

  void send(const Beat& beat) {
    const auto bytes = encode_beat(beat);
    sendto(peer_.get(), bytes.data(), bytes.size(), 0, address_.get(), address_.size);
  }
  // The age of the last sign of life.
  Duration silence() const {
    const Instant now = monotonic_now();
    return now - pulse_->health(1, now).heard;
  }
  int peer() const { return peer_.get(); }

 private:
  std::atomic<uint64_t> beats_{0};
  net::UniqueFd peer_;
  net::SocketAddress address_;
  std::unique_ptr<Pulse> pulse_;
};

TEST(Pulse, SendsDatagramsToOtherHosts) {
  PulseOfTwo two;
  std::array<std::byte, 64> bytes{};
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    pollfd readable{two.peer(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 5000), 1);
    const ssize_t size = recv(two.peer(), bytes.data(), bytes.size(), 0);
    ASSERT_GT(size, 0);
    const auto beat = decode_beat(std::span(bytes).first(static_cast<std::size_t>(size)));
    ASSERT_TRUE(beat.has_value());
    EXPECT_EQ(beat->rank, 0U);
    EXPECT_EQ(beat->communicator, 77U);
    EXPECT_GT(beat->counter, last);
    last = beat->counter;
  }
}

TEST(Pulse, HearsItsPeersButNoStrangers) {
  PulseOfTwo two;
  const Instant silent_by = monotonic_now() + seconds(10);
  uint64_t counter = 0;
  while (two.silence() < milliseconds(60) && monotonic_now() < silent_by) {
    ++counter;
    two.send(Beat{1, 78, counter});           // of another job
    two.send(Beat{2, 77, counter});           // of a rank that does not exist
    two.send(Beat{0xFFFFFFFF, 77, counter});  // the same
    send(two.peer(), "hello", 5, MSG_DONTWAIT);
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_GE(two.silence(), milliseconds(60));
  const Instant heard_by = monotonic_now() + seconds(10);
  while (two.silence() > milliseconds(30) && monotonic_now() < heard_by) {
    two.send(Beat{1, 77, ++counter});
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_LE(two.silence(), milliseconds(500));
}

TEST(Pulse, NamesAnAddressThatIsNone) {
  const auto socket = open_beat_socket("eth0");
  ASSERT_FALSE(socket.ok());
  EXPECT_EQ(socket.error().message, "'eth0' is no address of a NIC: write one such as 10.0.0.5");
}

TEST(Pulse, NamesAProcessThatIsNotThere) {
  const auto process = watch_process(0x3FFFFFF, "rank 4");
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().message, "cannot watch process 67108863 of rank 4: it is not running");
}

}  // namespace
}  // namespace mixnet::ep
