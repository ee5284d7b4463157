#include "core/check.h"

#include <cstdio>
#include <cstdlib>

namespace mixnet::internal {

void check_failed(const char* file, int line, const char* condition, const char* explanation) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s (%s)\n", file, line, condition, explanation);
  std::abort();
}

}  // namespace mixnet::internal
