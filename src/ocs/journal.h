#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "ocs/region.h"

namespace mixnet::ocs {

using TransactionId = int64_t;  // from 1, never used twice in one journal

// What a transaction is to reach. NICs by name, so that a changed region file changes no meaning.
struct Intent {
  TransactionId id = 0;
  std::vector<std::pair<std::string, std::string>> circuits;  // all that are wanted in the region
};

// What must survive a crash: what is wanted, and whether it was reached. Every call has taken
// effect, or failed and changed nothing, when it returns.
class Journal {
 public:
  virtual ~Journal() = default;
  // The last intent; none in a new journal.
  virtual Result<std::optional<Intent>> last_intent() = 0;
  // Was the outcome of every circuit of the last intent known?
  virtual Result<bool> last_is_settled() = 0;
  // Before anything is sent to the switch.
  virtual Result<TransactionId> begin(
      const std::vector<std::pair<std::string, std::string>>& circuits) = 0;
  // Commands about to be sent for the last intent, without secrets; for whoever reads the journal.
  virtual Status note(TransactionId id, const std::string& text) = 0;
  // The outcome of every circuit is known; `summary` for whoever reads the journal.
  virtual Status settle(TransactionId id, const std::string& summary) = 0;
};

}  // namespace mixnet::ocs
