#include "daemon/grpc_log.h"

#include <grpc/support/log.h>

#include <atomic>

namespace mixnet::daemon {
namespace {

// gRPC takes a function without an argument of its own.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see above
std::atomic<const JsonLog*> current_log = nullptr;

LogLevel level_of(gpr_log_severity severity) {
  switch (severity) {
    case GPR_LOG_SEVERITY_DEBUG:
      return LogLevel::kDebug;
    case GPR_LOG_SEVERITY_INFO:
      return LogLevel::kInfo;
    case GPR_LOG_SEVERITY_ERROR:
      // What a peer did wrong, mostly: a client without a certificate. Failures of our own calls
      // are errors that we log ourselves.
      return LogLevel::kWarning;
  }
  return LogLevel::kWarning;
}

void forward(gpr_log_func_args* line) {
  if (const JsonLog* log = current_log.load()) {
    log->write(level_of(line->severity), "grpc", {{"message", line->message}});
  }
}

}  // namespace

GrpcLog::GrpcLog(const JsonLog& log) {
  current_log = &log;
  gpr_set_log_function(forward);
}

GrpcLog::~GrpcLog() { current_log = nullptr; }

}  // namespace mixnet::daemon
