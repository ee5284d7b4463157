#pragma once

namespace mixnet::net {

// Opens /dev/null for every one of the descriptors 0 to 2 that is closed, so that no file or socket
// takes its place and is written to by what prints. First of all in main().
void open_standard_descriptors();

}  // namespace mixnet::net
