#pragma once

#include <optional>
#include <string>
#include <utility>

#include "core/result.h"
#include "net/unique_fd.h"

namespace mixnet::ocs {

// Keeps a second controller of this machine away from a region. Released when it is destroyed, and
// by the kernel when the process dies, however it dies. It says nothing about other machines.
class RegionLock {
 public:
  // `path`: a file that is made if need be and stays. Errors: "region r1 is controlled by mixnetd,
  // pid 123", or that the file cannot be written.
  static Result<RegionLock> acquire(const std::string& path, const std::string& region,
                                    const std::string& program);

  // Who has the lock, "mixnetd, pid 123"; nothing if nobody has, or the file cannot be read.
  static std::optional<std::string> holder(const std::string& path);

 private:
  explicit RegionLock(net::UniqueFd file) : file_(std::move(file)) {}

  net::UniqueFd file_;
};

}  // namespace mixnet::ocs
