#pragma once

namespace mixnet::internal {
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* explanation);
}  // namespace mixnet::internal

// A violated CHECK is a bug in this code base, never bad input: it names the place and aborts, in
// every build type. What a file, a peer or a device did wrong is a Result.
#define CHECK(condition, explanation)                \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::mixnet::internal::check_failed(__FILE__, __LINE__, #condition, explanation))
