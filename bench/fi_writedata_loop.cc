// Streams from one process to another, every write with a signal, at most 16 in flight: once with
// the least that libfabric needs ("fi_writedata"), once through FabricRails ("fabric_rails"), in
// turns. Prints one JSON object a line with the medians; `ratio` is to the bare loop.
//
//   mixnet_fi_writedata_loop [SECONDS [ROUNDS]]
//   mixnet_fi_writedata_loop SECONDS NICS RECEIVER_NICS RECEIVER_NAMESPACE BYTES
//
// The second form streams through FabricRails over several NICs (separated by commas), with the
// receiver in a network namespace of its own and processes that wait instead of spinning; as much
// as a network of 1 Gbit/s carries in that time. See four_nics.sh.
#include <fcntl.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/index.h"
#include "ep/fabric_rails.h"

namespace mixnet::bench {
namespace {

using Bytes = std::vector<std::byte>;

constexpr int kWindow = 16;  // writes in flight, per NIC
constexpr const char* kLoopback = "127.0.0.1";

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

void require(bool condition, const char* what) {
  if (!condition) {
    give_up(std::string("failed: ") + what);
  }
}

void must(int64_t code, const char* what) {
  if (code != 0) {
    give_up(std::string(what) + ": " + fi_strerror(static_cast<int>(-code)));
  }
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_s_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// What the two processes tell each other beforehand.
struct Channel {
  int fd = -1;

  void put(const Bytes& bytes) const {
    require(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "telling");
  }
  Bytes take() const {
    Bytes bytes(4096);
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    require(count > 0, "being told");
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
  }
};

// ---- bare libfabric ----

struct Side {
  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_eq* events = nullptr;
  fid_cq* completions = nullptr;
  fid_mr* memory = nullptr;
  fid_ep* endpoint = nullptr;
  Bytes window;
  uint64_t key = 0;

  explicit Side(uint64_t bytes) : window(bytes * kWindow) {
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = strdup("tcp");
    must(fi_getinfo(FI_VERSION(1, 17), kLoopback, nullptr, FI_SOURCE, hints, &info), "fi_getinfo");
    fi_freeinfo(hints);
    must(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    fi_eq_attr eq{};
    eq.wait_obj = FI_WAIT_UNSPEC;
    must(fi_eq_open(fabric, &eq, &events, nullptr), "fi_eq_open");
    must(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_DATA;
    cq.wait_obj = FI_WAIT_NONE;
    must(fi_cq_open(domain, &cq, &completions, nullptr), "fi_cq_open");
    must(fi_mr_reg(domain, window.data(), window.size(), FI_WRITE | FI_REMOTE_WRITE, 0, 1, 0,
                   &memory, nullptr),
         "fi_mr_reg");
    key = fi_mr_key(memory);
  }

  void open_endpoint(fi_info* with) {
    must(fi_endpoint(domain, with, &endpoint, nullptr), "fi_endpoint");
    must(fi_ep_bind(endpoint, &events->fid, 0), "fi_ep_bind");
    must(fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
    must(fi_enable(endpoint), "fi_enable");
  }

  fi_eq_cm_entry next_event(uint32_t expected) const {
    fi_eq_cm_entry entry{};
    uint32_t event = 0;
    const ssize_t got = fi_eq_sread(events, &event, &entry, sizeof(entry), 10'000, 0);
    require(got >= 0 && event == expected, "connecting");
    return entry;
  }

  void close() {
    for (fid* object : {&endpoint->fid, &memory->fid, &completions->fid, &domain->fid, &events->fid,
                        &fabric->fid}) {
      fi_close(object);
    }
    fi_freeinfo(info);
  }
};

struct Listening {
  std::byte name[64];
  uint64_t bytes;
  uint64_t key;
};

// Spins until `count` completions came.
void await(const Side& side, uint64_t count) {
  fi_cq_data_entry entries[kWindow];
  while (count > 0) {
    const ssize_t got =
        fi_cq_read(side.completions, entries, count < kWindow ? count : uint64_t{kWindow});
    require(got > 0 || got == -FI_EAGAIN, "fi_cq_read");
    count -= got > 0 ? static_cast<uint64_t>(got) : 0;
  }
}

void write_one(const Side& side, const Listening& to, uint64_t bytes, uint64_t slot) {
  std::byte* from = const_cast<std::byte*>(side.window.data()) + slot * bytes;
  ssize_t code = -FI_EAGAIN;
  while (code == -FI_EAGAIN) {
    code = fi_writedata(side.endpoint, from, bytes, fi_mr_desc(side.memory), slot, 0, slot * bytes,
                        to.key, nullptr);
  }
  must(code, "fi_writedata");
}

double send_bare(const Channel& channel, uint64_t bytes, uint64_t writes) {
  Listening to{};
  const Bytes told = channel.take();
  std::memcpy(&to, told.data(), sizeof(to));
  Side side(bytes);
  side.info->dest_addr = std::malloc(to.bytes);
  std::memcpy(side.info->dest_addr, to.name, to.bytes);
  side.info->dest_addrlen = to.bytes;
  side.open_endpoint(side.info);
  must(fi_connect(side.endpoint, to.name, nullptr, 0), "fi_connect");
  side.next_event(FI_CONNECTED);
  channel.take();  // the receiver is ready
  const double begin = now_s();
  uint64_t done = 0;
  for (uint64_t i = 0; i < writes; ++i) {
    if (i - done == kWindow) {
      fi_cq_data_entry entries[kWindow];
      ssize_t got = -FI_EAGAIN;
      while (got == -FI_EAGAIN) {
        got = fi_cq_read(side.completions, entries, kWindow);
      }
      require(got > 0, "fi_cq_read");
      done += static_cast<uint64_t>(got);
    }
    write_one(side, to, bytes, i % kWindow);
  }
  await(side, writes - done + 1);  // and the word of the receiver that all has arrived
  const double seconds = now_s() - begin;
  side.close();
  return seconds;
}

void receive_bare(const Channel& channel, uint64_t bytes, uint64_t writes) {
  Side side(bytes);
  fid_pep* listener = nullptr;
  must(fi_passive_ep(side.fabric, side.info, &listener, nullptr), "fi_passive_ep");
  must(fi_pep_bind(listener, &side.events->fid, 0), "fi_pep_bind");
  must(fi_listen(listener), "fi_listen");
  Listening self{};
  std::size_t length = sizeof(self.name);
  must(fi_getname(&listener->fid, self.name, &length), "fi_getname");
  self.bytes = length;
  self.key = side.key;
  Bytes told(sizeof(self));
  std::memcpy(told.data(), &self, sizeof(self));
  channel.put(told);
  const fi_eq_cm_entry request = side.next_event(FI_CONNREQ);
  side.open_endpoint(request.info);
  fi_freeinfo(request.info);
  must(fi_accept(side.endpoint, nullptr, 0), "fi_accept");
  side.next_event(FI_CONNECTED);
  channel.put({std::byte{1}});
  await(side, writes);
  // The sender registered its window under the same key.
  must(fi_writedata(side.endpoint, side.window.data(), 0, fi_mr_desc(side.memory), 1, 0, 0,
                    side.key, nullptr),
       "fi_writedata");
  await(side, 1);
  fi_close(&listener->fid);
  side.close();
}

// ---- FabricRails ----

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

double send_rails(const Nics& nics, const Channel& channel, uint64_t bytes, uint64_t writes) {
  const Bytes contact = channel.take();
  Rank self(0, nics.of_sender, bytes, nics.slow);
  channel.put(self.rails->contact());
  self.connect(contact);
  channel.take();  // the receiver is ready
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

void receive_rails(const Nics& nics, const Channel& channel, uint64_t bytes, uint64_t writes) {
  Rank self(1, nics.of_receiver, bytes, nics.slow);
  channel.put(self.rails->contact());
  self.connect(channel.take());
  channel.put({std::byte{1}});
  self.await(writes);
  self.rails->signal(0, 0, 1);
  while (!self.rails->flushed()) {
    static_cast<void>(self.rails->poll());
  }
}

// ---- measuring ----

struct Loop {
  const char* name;
  // Returns when everything has arrived: seconds from the first write to the last.
  std::function<double(const Channel&, uint64_t bytes, uint64_t writes)> send;
  std::function<void(const Channel&, uint64_t bytes, uint64_t writes)> receive;
  std::string receiver_namespace;
};

struct Measured {
  std::vector<double> mb_per_s;
  std::vector<double> cpu_s;  // of both processes
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// On CPUs of their own, or the scheduler decides which loop is faster.
void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(at(cpu), &set);
  static_cast<void>(sched_setaffinity(0, sizeof(set), &set));
}

void enter_namespace(const std::string& name) {
  if (!name.empty()) {
    const int fd = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    require(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, "entering a network namespace");
    close(fd);
  }
}

void run_once(const Loop& loop, uint64_t bytes, uint64_t writes, Measured& measured) {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "socketpair");
  const double before = cpu_s_of(RUSAGE_SELF) + cpu_s_of(RUSAGE_CHILDREN);
  const pid_t child = fork();
  require(child >= 0, "fork");
  pin_to(child == 0 ? 1 : 0);
  close(ends[child == 0 ? 0 : 1]);
  const Channel channel{ends[child == 0 ? 1 : 0]};
  if (child == 0) {
    enter_namespace(loop.receiver_namespace);
    loop.receive(channel, bytes, writes);
    std::exit(0);
  }
  const double seconds = loop.send(channel, bytes, writes);
  int status = 0;
  require(waitpid(child, &status, 0) == child && status == 0, "the receiver");
  close(channel.fd);
  measured.cpu_s.push_back(cpu_s_of(RUSAGE_SELF) + cpu_s_of(RUSAGE_CHILDREN) - before);
  measured.mb_per_s.push_back(static_cast<double>(bytes * writes) / seconds * 1e-6);
}

void print(const Loop& loop, uint64_t bytes, uint64_t writes, const Measured& measured,
           double against) {
  std::printf(
      "{\"name\": \"%s\", \"bytes\": %llu, \"window\": %d, \"writes\": %llu, \"mb_per_s\": %.1f, "
      "\"cpu_s\": %.3f, \"ratio\": %.3f}\n",
      loop.name, static_cast<unsigned long long>(bytes), kWindow,
      static_cast<unsigned long long>(writes), median(measured.mb_per_s), median(measured.cpu_s),
      against > 0 ? median(measured.mb_per_s) / against : 1.0);
  std::fflush(stdout);
}

Loop rails_loop(const Nics& nics, const std::string& receiver_namespace) {
  const auto sender = [nics](const Channel& channel, uint64_t bytes, uint64_t writes) {
    return send_rails(nics, channel, bytes, writes);
  };
  const auto receiver = [nics](const Channel& channel, uint64_t bytes, uint64_t writes) {
    receive_rails(nics, channel, bytes, writes);
  };
  return {"fabric_rails", sender, receiver, receiver_namespace};
}

void compare(double seconds, int rounds) {
  constexpr double kBytesPerSecond = 2e9;
  constexpr double kSecondsPerWrite = 5e-6;
  const Loop bare{"fi_writedata", send_bare, receive_bare, ""};
  const Loop rails = rails_loop({false, {kLoopback}, {kLoopback}}, "");
  for (uint64_t bytes = 4096; bytes <= 4 * 1024 * 1024; bytes *= 4) {
    const double one = static_cast<double>(bytes) / kBytesPerSecond + kSecondsPerWrite;
    const auto writes = static_cast<uint64_t>(seconds / one) + kWindow;
    Measured of_bare;
    Measured of_rails;
    for (int round = 0; round < rounds; ++round) {
      run_once(bare, bytes, writes, of_bare);
      run_once(rails, bytes, writes, of_rails);
    }
    print(bare, bytes, writes, of_bare, 0);
    print(rails, bytes, writes, of_rails, median(of_bare.mb_per_s));
  }
}

void fill_nics(double seconds, const std::vector<std::string>& arguments) {
  constexpr double kBytesPerSecond = 125e6;
  const auto bytes = static_cast<uint64_t>(std::atoll(arguments[4].c_str()));
  require(bytes > 0, "BYTES is a number above 0");
  const auto writes = static_cast<uint64_t>(kBytesPerSecond * seconds / static_cast<double>(bytes));
  const Loop loop = rails_loop({true, split(arguments[1]), split(arguments[2])}, arguments[3]);
  Measured measured;
  run_once(loop, bytes, writes + 1, measured);
  print(loop, bytes, writes + 1, measured, 0);
}

}  // namespace
}  // namespace mixnet::bench

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const double seconds = arguments.empty() ? 0.2 : std::atof(arguments[0].c_str());
  if (arguments.size() == 5) {
    mixnet::bench::fill_nics(seconds, arguments);
  } else {
    mixnet::bench::compare(seconds, arguments.size() > 1 ? std::atoi(arguments[1].c_str()) : 9);
  }
  return 0;
}
