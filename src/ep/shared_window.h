#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/result.h"
#include "ep/transport.h"
#include "net/unique_fd.h"

namespace mixnet::ep {

// Of this boot of the machine, the same in all its containers; "-" when it cannot be read.
std::string boot_id();

// By what a process of the same host finds the memory of another one. It names an open descriptor
// of a live process, so nothing is left behind when that process is killed.
struct SharedName {
  int pid = 0;
  int fd = -1;
  uint64_t inode = 0;          // of the memory: a process id that was used again is noticed
  uint64_t pid_namespace = 0;  // inode of the namespace in which `pid` means anything
  std::string boot;            // id of the running kernel: tells machines apart
  uint64_t control_bytes = 0;
  uint64_t window_bytes = 0;
};

// The shared memory of one rank: a control area for the transport, then the window that peers write
// to. Both start on a page. Pages exist only once they are touched, so that a window of 16 GiB
// costs nothing but addresses. A file without a name (memfd), whose size nobody can change.
class SharedWindow {
 public:
  // Zeroed. Sizes are rounded up to pages.
  static Result<SharedWindow> create(uint64_t control_bytes, uint64_t window_bytes);
  // What another process (or thread) created. Errors name `owner`, such as "rank 3".
  static Result<SharedWindow> open(const SharedName& name, const std::string& owner);

  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;
  SharedWindow(SharedWindow&& other) noexcept;
  SharedWindow& operator=(SharedWindow&&) = delete;
  ~SharedWindow();

  const SharedName& name() const { return name_; }
  std::byte* control() const { return base_; }
  Window window() const { return Window{Address{base_ + name_.control_bytes}, name_.window_bytes}; }

 private:
  SharedWindow(SharedName name, net::UniqueFd memory, std::byte* base);
  static Result<SharedWindow> map(SharedName name, net::UniqueFd memory);
  uint64_t bytes() const { return name_.control_bytes + name_.window_bytes; }

  SharedName name_;
  net::UniqueFd memory_;  // kept open by the creator only: peers open it through its number
  std::byte* base_;       // null: moved from
};

// Opens what another process of this host has open, for reading and writing.
Result<net::UniqueFd> open_descriptor_of(int pid, int fd, const std::string& owner);

}  // namespace mixnet::ep
