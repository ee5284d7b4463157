#pragma once

#include "daemon/json_log.h"

namespace mixnet::daemon {

// Has what gRPC logs of itself, for the whole process, written as events "grpc". `log` outlives all
// use of gRPC.
void log_grpc_to(const JsonLog& log);

}  // namespace mixnet::daemon
