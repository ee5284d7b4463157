// The least that libfabric needs to stream from one process to another: fi_writedata with a window
// of 16, two spinning processes, no layer in between. What FabricRails is measured against.
//
//   mixnet_fi_writedata_loop [ADDRESS [SECONDS]]
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>
#include <string>
#include <vector>

#include "two_processes.h"

namespace mixnet::bench {
namespace {

std::string address =
    "127.0.0.1";  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): of main

void must(int64_t code, const char* what) {
  if (code != 0) {
    give_up(std::string(what) + ": " + fi_strerror(static_cast<int>(-code)));
  }
}

struct Side {
  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_eq* events = nullptr;
  fid_cq* completions = nullptr;
  fid_mr* memory = nullptr;
  fid_ep* endpoint = nullptr;
  std::vector<std::byte> window;
  uint64_t key = 0;

  explicit Side(uint64_t bytes) : window(bytes * kWindow) {
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type = FI_EP_MSG;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = strdup("tcp");
    must(fi_getinfo(FI_VERSION(1, 17), address.c_str(), nullptr, FI_SOURCE, hints, &info),
         "fi_getinfo");
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

double send(Pipes& pipes, uint64_t bytes, uint64_t writes) {
  Listening to{};
  const std::vector<std::byte> told = pipes.to_sender.take();
  std::memcpy(&to, told.data(), sizeof(to));
  Side side(bytes);
  side.info->dest_addr = std::malloc(to.bytes);
  std::memcpy(side.info->dest_addr, to.name, to.bytes);
  side.info->dest_addrlen = to.bytes;
  side.open_endpoint(side.info);
  must(fi_connect(side.endpoint, to.name, nullptr, 0), "fi_connect");
  side.next_event(FI_CONNECTED);
  pipes.to_sender.take();  // the receiver is ready
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

void receive(Pipes& pipes, uint64_t bytes, uint64_t writes) {
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
  std::vector<std::byte> told(sizeof(self));
  std::memcpy(told.data(), &self, sizeof(self));
  pipes.to_sender.put(told);
  const fi_eq_cm_entry request = side.next_event(FI_CONNREQ);
  side.open_endpoint(request.info);
  fi_freeinfo(request.info);
  must(fi_accept(side.endpoint, nullptr, 0), "fi_accept");
  side.next_event(FI_CONNECTED);
  pipes.to_sender.put({std::byte{1}});
  await(side, writes);
  // The sender registered its window under the same key.
  must(fi_writedata(side.endpoint, side.window.data(), 0, fi_mr_desc(side.memory), 1, 0, 0,
                    side.key, nullptr),
       "fi_writedata");
  await(side, 1);
  fi_close(&listener->fid);
  side.close();
}

}  // namespace
}  // namespace mixnet::bench

int main(int argc, char** argv) {
  using mixnet::bench::run_loop;
  if (argc > 1) {
    mixnet::bench::address = argv[1];
  }
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0.5;
  for (uint64_t bytes = 4096; bytes <= 4 * 1024 * 1024; bytes *= 4) {
    run_loop({"fi_writedata", mixnet::bench::send, mixnet::bench::receive}, bytes,
             mixnet::bench::writes_for(bytes, seconds), "");
  }
  return 0;
}
