#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/instant.h"
#include "ocs/tl1_session.h"

namespace mixnet::ocs {

struct ControllerOptions {
  SessionOptions session;
  // Reconnecting: doubled from `least` to `most`, less a random part of up to a half.
  Duration least_backoff = std::chrono::milliseconds(100);
  Duration most_backoff = std::chrono::seconds(10);
  uint64_t seed = 1;  // of the random part

  // Finish a transaction that an earlier run left unsettled? Without, nothing is switched unasked.
  bool resume = true;
  Duration transaction_deadline = std::chrono::seconds(30);
  int max_rounds = 3;           // of delete, create, read back within one transaction
  std::size_t max_waiting = 8;  // transactions
  std::size_t max_pairs_per_command = 256;

  bool check_shutters = true;
  bool check_power = true;
  double least_dbm = -20;  // at the ports of a circuit; below it is dark
  Duration light_deadline = std::chrono::seconds(1);
  // After a write without an answer the switch is not read for so long: it may still be at it.
  Duration settle_after_unknown = std::chrono::milliseconds(500);
  // How long a transaction waits for the NICs; zero: it reports without.
  Duration carrier_deadline = std::chrono::seconds(10);
  Duration carrier_interval = std::chrono::milliseconds(20);
  // For so long after a switch a missing carrier raises no alarm: the NICs are coming back.
  Duration relink_window = std::chrono::seconds(10);

  Duration health_interval = std::chrono::seconds(2);  // of reading everything while idle
  int failures_to_quarantine = 3;
  Duration quarantine = std::chrono::minutes(10);
};

// Circuits of one command: each may be two patches.
inline std::size_t batch_limit(const ControllerOptions& options) {
  return options.max_pairs_per_command < 2 ? 1 : options.max_pairs_per_command / 2;
}

}  // namespace mixnet::ocs
