#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/instant.h"
#include "core/result.h"

namespace mixnet::ep {

// Where ranks meet before they can talk to each other: keys and values that every rank may set and
// read. Any rank may be first. A store outlives the last use that any rank makes of it: rank 0 of a
// TcpStore calls meet_last() before it lets go of the server.
class Store {
 public:
  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  Store(Store&&) = delete;
  Store& operator=(Store&&) = delete;

  // Replaces what was there. Gives up at `until`.
  virtual Status set(std::string_view key, std::string_view value, Instant until) = 0;
  // Waits until the key is set, at most until `until`; asks once in any case, which may take
  // 100 ms. Errors name the key and the store.
  virtual Result<std::string> get(std::string_view key, Instant until) = 0;
};

inline constexpr std::size_t kMaxStoreKeyBytes = 1024;
// Of one value. 1 KiB below the 16 MiB that a stream queues, which leaves room for what goes
// before.
inline constexpr std::size_t kMaxStoreValueBytes = (std::size_t{16} << 20) - 1024;
inline constexpr std::size_t kMaxStoreKeys = 65536;
inline constexpr std::size_t kMaxStoreBytes = std::size_t{1} << 30;

// The bounded table behind a store. Not thread-safe.
class StoreTable {
 public:
  // Errors say which bound was hit.
  Status set(std::string_view key, std::string_view value);
  // Null: not set.
  const std::string* find(std::string_view key) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::size_t bytes_ = 0;
};

// For ranks that are threads of one process.
class MemoryStore final : public Store {
 public:
  Status set(std::string_view key, std::string_view value, Instant until) override;
  Result<std::string> get(std::string_view key, Instant until) override;

 private:
  std::mutex mutex_;  // guards table_
  std::condition_variable changed_;
  StoreTable table_;
};

// The values of `prefix` + rank for every rank of `ranks`, in that order. The error names the ranks
// that did not set theirs.
Result<std::vector<std::string>> get_of_ranks(Store& store, const std::string& prefix,
                                              const std::vector<int>& ranks, Instant until);
// To be called by every rank as its last use of the store: returns on `rank` 0 when all others
// called it, on others at once.
Status meet_last(Store& store, const std::string& prefix, int rank, int ranks, Instant until);

}  // namespace mixnet::ep
