#include "ocs/region_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace mixnet::ocs {
namespace {

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;

Error failed(const std::string& path) {
  return error_at(path, std::generic_category().message(errno));
}

// Does `path` still lead to the file that is open?
bool is_current(const std::string& path, int fd) {
  struct stat named {};
  struct stat open {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 &&
         named.st_ino == open.st_ino && named.st_dev == open.st_dev;
}

// "mixnetd, pid 123", as its holder wrote it.
std::string holder_of(int fd) {
  std::array<char, 256> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  std::string result(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  result.erase(std::min(result.find('\n'), result.size()));
  std::ranges::replace_if(
      result, [](char c) { return c < ' ' || c > '~'; }, '?');
  return result.empty() ? "another program" : result;
}

}  // namespace

Result<RegionLock> RegionLock::acquire(const std::string& path, const std::string& region,
                                       const std::string& program) {
  net::UniqueFd file;
  do {  // again when somebody removed or replaced the file between opening and locking it
    file.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode));
    if (!file) {
      return failed(path);
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) {
        return failed(path);
      }
      return Error{fmt::format("region {} is controlled by {}: stop it first (lock file {})",
                               region, holder_of(file.get()), path),
                   ""};
    }
  } while (!is_current(path, file.get()));
  const std::string text = fmt::format("{}, pid {}\n", program, ::getpid());
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return failed(path);
  }
  return RegionLock(std::move(file));
}

std::optional<std::string> RegionLock::holder(const std::string& path) {
  const net::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // Shared, so that two who ask do not see each other; released at once.
  if (!file || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) {
    return std::nullopt;
  }
  return holder_of(file.get());
}

}  // namespace mixnet::ocs
