#include "ep/shared_window.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "core/check.h"
#include "net/stream_errors.h"

namespace mixnet::ep {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

uint64_t whole_pages(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

uint64_t own_pid_namespace() {
  struct stat info {};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

Error cannot_share(const std::string& owner, const std::string& why) {
  return Error{fmt::format("cannot share memory with {}: {}", owner, why), {}};
}

// Why `pid` means nothing here, or that this user may not look into it.
Status check_process(const SharedName& name, const std::string& owner) {
  if (name.boot != boot_id()) {
    return cannot_share(owner,
                        "it runs on another machine, or does not see /proc: list every "
                        "machine as a host of its own");
  }
  if (name.pid_namespace != own_pid_namespace()) {
    return cannot_share(owner,
                        "it runs in another pid namespace: start the ranks of a host in "
                        "one container, or their containers with a common one "
                        "(such as --pid=host)");
  }
  struct stat info {};
  if (stat(fmt::format("/proc/{}", name.pid).c_str(), &info) != 0) {
    return cannot_share(owner, fmt::format("its process {} is not running", name.pid));
  }
  if (info.st_uid != geteuid()) {
    return cannot_share(owner, fmt::format("its process {} runs as user {}, this one as user {}: "
                                           "start all ranks of a host as one user",
                                           name.pid, info.st_uid, geteuid()));
  }
  return {};
}

}  // namespace

std::string boot_id() {
  const net::UniqueFd file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 36> text{};
  const ssize_t size = file ? read(file.get(), text.data(), text.size()) : 0;
  return size == static_cast<ssize_t>(text.size()) ? std::string(text.data(), text.size()) : "-";
}

Result<net::UniqueFd> open_descriptor_of(int pid, int fd, const std::string& owner) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  net::UniqueFd opened(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (opened) {
    return opened;
  }
  const int code = errno;
  if (code == ENOENT) {
    return cannot_share(owner, fmt::format("its process {} is not running", pid));
  }
  return cannot_share(owner, fmt::format("{}: {}", path, net::errno_text(code)));
}

Result<SharedWindow> SharedWindow::create(uint64_t control_bytes, uint64_t window_bytes) {
  SharedName name;
  name.pid = getpid();
  name.pid_namespace = own_pid_namespace();
  name.boot = boot_id();
  name.control_bytes = whole_pages(control_bytes);
  name.window_bytes = whole_pages(window_bytes);
  net::UniqueFd memory(memfd_create("mixnet", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto size = static_cast<off_t>(name.control_bytes + name.window_bytes);
  struct stat info {};
  if (!memory || ftruncate(memory.get(), size) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0 ||
      fstat(memory.get(), &info) != 0) {
    return Error{fmt::format("no shared memory of {} bytes: {}", size, net::errno_text(errno)), {}};
  }
  name.fd = memory.get();
  name.inode = info.st_ino;
  return map(std::move(name), std::move(memory));
}

Result<SharedWindow> SharedWindow::open(const SharedName& name, const std::string& owner) {
  if (Status process = check_process(name, owner); !process) {
    return process.error();
  }
  auto memory = open_descriptor_of(name.pid, name.fd, owner);
  if (!memory) {
    return memory.error();
  }
  struct stat info {};
  if (fstat(memory->get(), &info) != 0 || info.st_ino != name.inode) {
    return cannot_share(owner, fmt::format("process {} is another one by now", name.pid));
  }
  // Memory that could still shrink would end this process with a bus error.
  const int seals = fcntl(memory->get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || info.st_size < 0 ||
      static_cast<uint64_t>(info.st_size) != name.control_bytes + name.window_bytes) {
    return cannot_share(owner, "its memory is not of the size that it announced");
  }
  auto mapped = map(name, *std::move(memory));
  if (mapped) {
    mapped->memory_.reset();
  }
  return mapped;
}

Result<SharedWindow> SharedWindow::map(SharedName name, net::UniqueFd memory) {
  const uint64_t bytes = name.control_bytes + name.window_bytes;
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory.get(), 0);
  if (base == MAP_FAILED) {
    return Error{fmt::format("no room to map {} bytes of shared memory (see ulimit -v): {}", bytes,
                             net::errno_text(errno)),
                 {}};
  }
  // A core dump of one rank is to hold what that rank computed, not the windows of all of them.
  madvise(base, bytes, MADV_DONTDUMP);
  return SharedWindow(std::move(name), std::move(memory), static_cast<std::byte*>(base));
}

SharedWindow::SharedWindow(SharedName name, net::UniqueFd memory, std::byte* base)
    : name_(std::move(name)), memory_(std::move(memory)), base_(base) {}

SharedWindow::SharedWindow(SharedWindow&& other) noexcept
    : name_(std::move(other.name_)),
      memory_(std::move(other.memory_)),
      base_(std::exchange(other.base_, nullptr)) {}

SharedWindow::~SharedWindow() {
  if (base_ != nullptr) {
    CHECK(munmap(base_, bytes()) == 0, "what was mapped can be unmapped");
  }
}

}  // namespace mixnet::ep
