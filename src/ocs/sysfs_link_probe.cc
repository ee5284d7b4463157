#include "ocs/sysfs_link_probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "net/unique_fd.h"

namespace mixnet::ocs {

SysfsLinkProbe::SysfsLinkProbe(const Region& region, const std::vector<NicId>& visible,
                               const std::string& root)
    : files_(region.nics().size()) {
  for (const NicId nic : visible) {
    files_[nic.index()] = root + "/class/net/" + region.nic(nic).interface + "/carrier";
  }
}

LinkProbe::Carrier SysfsLinkProbe::carrier(NicId nic) {
  const std::string& file = files_[nic.index()];
  if (file.empty()) {
    return Carrier::kNotObserved;
  }
  const net::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char state = 0;
  const ssize_t got = fd ? ::read(fd.get(), &state, 1) : -1;
  if (got == 1) {
    return state == '1' ? Carrier::kUp : Carrier::kDown;
  }
  // The kernel's answer for an interface that is switched off.
  return fd && got < 0 && errno == EINVAL ? Carrier::kDown : Carrier::kNotObserved;
}

}  // namespace mixnet::ocs
