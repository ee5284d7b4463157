#include "net/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

namespace mixnet::net {

void open_standard_descriptors() {
  // open() takes the lowest number that is free.
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) {
    fd = ::open("/dev/null", O_RDWR);
  }
  if (fd > STDERR_FILENO) {
    ::close(fd);
  }
}

}  // namespace mixnet::net
