// The loop of fi_writedata_loop.cc through FabricRails, over any number of NICs: every write with a
// signal, a window of 16 per NIC, two processes that spin, or that wait when NICs are slow.
//
//   mixnet_fabric_rails_loop [SENDER_NICS [SECONDS [RECEIVER_NICS RECEIVER_NAMESPACE BYTES]]]
//
// NICs are separated by commas. With all arguments: the receiver in another network namespace, one
// size, and as many writes as a network of 1 Gbit/s carries in that time.
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "ep/fabric_rails.h"
#include "two_processes.h"

namespace mixnet::bench {
namespace {

using Bytes = std::vector<std::byte>;

struct Nics {
  bool slow = false;
  std::vector<std::string> of_sender;
  std::vector<std::string> of_receiver;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    parts.push_back(part);
  }
  return parts;
}

struct Rank {
  Bytes window;
  bool waits;
  std::unique_ptr<ep::FabricRails> rails;

  Rank(int rank, const std::vector<std::string>& nics, uint64_t bytes, bool slow)
      : window(bytes * kWindow * nics.size()), waits(slow) {
    ep::FabricRails::Options options;
    options.ranks = ep::RankMap({1, 1});
    options.rank = rank;
    options.nics = nics;
    options.window = ep::Window{ep::host_address(window.data()), window.size()};
    auto opened = ep::FabricRails::open(options);
    if (!opened) {
      give_up(opened.error().text());
    }
    rails = std::move(*opened);
  }

  void connect(const Bytes& contact_of_peer) {
    std::vector<Bytes> contacts(2);
    const int peer = 1 - rails->rank();
    contacts[static_cast<std::size_t>(peer)] = contact_of_peer;
    const std::vector<int> peers{peer};
    if (const Status status = rails->connect(contacts, peers, std::chrono::seconds(10)); !status) {
      give_up(status.error().text());
    }
  }

  // True: a signal came.
  bool step() {
    const bool signal = rails->poll().kind == ep::Event::Kind::kSignal;
    if (!signal && waits) {
      rails->wait(std::chrono::milliseconds(10));
    }
    return signal;
  }

  void await(uint64_t count) {
    while (count > 0) {
      count -= step() ? 1 : 0;
      require(!rails->closed(1 - rails->rank()), "the other process is gone");
    }
  }

  // A rail that has room for another write, those after `last` first.
  int next_rail(int last) {
    while (true) {
      for (int i = 1; i <= rails->rails(); ++i) {
        const int rail = (last + i) % rails->rails();
        if (rails->pending_writes(rail) < kWindow) {
          return rail;
        }
      }
      require(!step(), "signals go the other way");
    }
  }
};

double send(const Nics& nics, Pipes& pipes, uint64_t bytes, uint64_t writes) {
  const Bytes contact = pipes.to_sender.take();
  Rank self(0, nics.of_sender, bytes, nics.slow);
  pipes.to_receiver.put(self.rails->contact());
  self.connect(contact);
  pipes.to_sender.take();  // the receiver is ready
  std::vector<uint64_t> sent(nics.of_sender.size());
  const double begin = now_s();
  int rail = -1;
  for (uint64_t i = 0; i < writes; ++i) {
    rail = self.next_rail(rail);
    const auto lane = static_cast<uint64_t>(rail);
    const uint64_t offset = (lane * kWindow + sent[lane]++ % kWindow) * bytes;
    self.rails->write({1, rail, ep::host_address(self.window.data() + offset), bytes, offset});
    self.rails->signal(1, rail, static_cast<uint32_t>(i));
  }
  self.await(1);
  return now_s() - begin;
}

void receive(const Nics& nics, Pipes& pipes, uint64_t bytes, uint64_t writes) {
  Rank self(1, nics.of_receiver, bytes, nics.slow);
  pipes.to_sender.put(self.rails->contact());
  self.connect(pipes.to_receiver.take());
  pipes.to_sender.put({std::byte{1}});
  self.await(writes);
  self.rails->signal(0, 0, 1);
  while (!self.rails->flushed()) {
    static_cast<void>(self.rails->poll());
  }
}

void run(const Nics& nics, uint64_t bytes, uint64_t writes, const std::string& receiver_namespace) {
  const auto sender = [&](Pipes& pipes, uint64_t size, uint64_t count) {
    return send(nics, pipes, size, count);
  };
  const auto receiver = [&](Pipes& pipes, uint64_t size, uint64_t count) {
    receive(nics, pipes, size, count);
  };
  run_loop({"fabric_rails", sender, receiver}, bytes, writes, receiver_namespace);
}

}  // namespace
}  // namespace mixnet::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto argument = [&](std::size_t i, const char* otherwise) {
    return arguments.size() > i ? arguments[i] : std::string(otherwise);
  };
  mixnet::bench::Nics nics;
  nics.of_sender = mixnet::bench::split(argument(0, "127.0.0.1"));
  nics.of_receiver = mixnet::bench::split(argument(2, argument(0, "127.0.0.1").c_str()));
  const double seconds = std::atof(argument(1, "0.5").c_str());
  if (arguments.size() > 4) {
    nics.slow = true;
    constexpr double kBytesPerSecond = 125e6;
    const auto bytes = static_cast<uint64_t>(std::atoll(arguments[4].c_str()));
    const double writes = kBytesPerSecond * seconds / static_cast<double>(bytes);
    mixnet::bench::run(nics, bytes, static_cast<uint64_t>(writes) + 1, arguments[3]);
    return 0;
  }
  for (uint64_t bytes = 4096; bytes <= 4 * 1024 * 1024; bytes *= 4) {
    mixnet::bench::run(nics, bytes, mixnet::bench::writes_for(bytes, seconds), "");
  }
  return 0;
}
