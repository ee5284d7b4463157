#pragma once

#include "daemon/json_log.h"

namespace mixnet::daemon {

// Has what gRPC logs of itself, for the whole process, written as events "grpc", as long as this
// lives. `log` outlives it.
class GrpcLog {
 public:
  explicit GrpcLog(const JsonLog& log);
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
  GrpcLog(GrpcLog&&) = delete;
  GrpcLog& operator=(GrpcLog&&) = delete;
};

}  // namespace mixnet::daemon
