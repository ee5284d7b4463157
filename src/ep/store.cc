#include "ep/store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <numeric>

#include "core/index.h"
#include "ep/monotonic.h"

namespace mixnet::ep {
namespace {

// How many absent ranks an error names, and how long each is asked for once the time is over.
constexpr std::size_t kMaxNamedRanks = 16;
constexpr Duration kLastQuestion = std::chrono::milliseconds(100);

std::string absent_text(const std::vector<int>& absent, bool more, const Error& first) {
  return fmt::format("{} {}{} did not come: {}", absent.size() == 1 ? "rank" : "ranks",
                     fmt::join(absent, ", "), more ? ", ..." : "", first.message);
}

}  // namespace

Status StoreTable::set(std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kMaxStoreKeyBytes) {
    return Error{
        fmt::format("a key of {} bytes: 1 to {} are allowed", key.size(), kMaxStoreKeyBytes), {}};
  }
  if (value.size() > kMaxStoreValueBytes) {
    return Error{fmt::format("a value of {} bytes for '{}': at most {} are allowed", value.size(),
                             key, kMaxStoreValueBytes),
                 {}};
  }
  const auto found = values_.find(key);
  if (found == values_.end() && values_.size() == kMaxStoreKeys) {
    return Error{fmt::format("the store has {} keys, no room for '{}'", kMaxStoreKeys, key), {}};
  }
  const std::size_t old = found == values_.end() ? 0 : found->second.size();
  if (bytes_ - old + value.size() > kMaxStoreBytes) {
    return Error{fmt::format("the store holds {} bytes, no room for '{}'", bytes_, key), {}};
  }
  bytes_ += value.size() - old;
  values_.insert_or_assign(std::string(key), std::string(value));
  return {};
}

const std::string* StoreTable::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

Status MemoryStore::set(std::string_view key, std::string_view value, Instant /*until*/) {
  const std::lock_guard lock(mutex_);
  Status status = table_.set(key, value);
  changed_.notify_all();
  return status;
}

Result<std::string> MemoryStore::get(std::string_view key, Instant until) {
  std::unique_lock lock(mutex_);
  const std::chrono::steady_clock::time_point deadline(until.time_since_epoch());
  const std::string* value = nullptr;
  changed_.wait_until(lock, deadline, [&] { return (value = table_.find(key)) != nullptr; });
  if (value == nullptr) {
    return Error{fmt::format("nobody set '{}' in time", key), {}};
  }
  return *value;
}

Result<std::vector<std::string>> get_of_ranks(Store& store, const std::string& prefix,
                                              const std::vector<int>& ranks, Instant until) {
  std::vector<std::string> values;
  std::vector<int> absent;
  Error first;
  for (const int rank : ranks) {
    if (absent.size() > kMaxNamedRanks) {
      break;
    }
    const Instant last = absent.empty() ? until : monotonic_now() + kLastQuestion;
    auto value = store.get(prefix + std::to_string(rank), last);
    if (value) {
      values.push_back(*std::move(value));
      continue;
    }
    if (absent.empty()) {
      first = value.error();
    }
    absent.push_back(rank);
  }
  if (absent.empty()) {
    return values;
  }
  const bool more = absent.size() > kMaxNamedRanks;
  absent.resize(std::min(absent.size(), kMaxNamedRanks));
  return Error{absent_text(absent, more, first), {}};
}

Status meet_last(Store& store, const std::string& prefix, int rank, int ranks, Instant until) {
  if (rank != 0) {
    return store.set(prefix + std::to_string(rank), "", until);
  }
  std::vector<int> others(at(ranks - 1));
  std::iota(others.begin(), others.end(), 1);
  const auto met = get_of_ranks(store, prefix, others, until);
  return met ? Status() : Status(met.error());
}

}  // namespace mixnet::ep
