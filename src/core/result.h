#pragma once

#include <string>
#include <utility>
#include <variant>

#include "core/check.h"

namespace mixnet {

// What went wrong and what to do about it, worded for the person who typed the input. `where` is
// "file:line" or "file:line:column" when a file is to blame, otherwise empty.
struct Error {
  std::string message;
  std::string where;

  std::string text() const { return where.empty() ? message : where + ": " + message; }
};

inline Error error_at(std::string where, std::string message) {
  return Error{std::move(message), std::move(where)};
}

// Either a value or the Error of a file, peer or device. Not for our own bugs (CHECK).
template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit by design: `return value;` and `return Error{...};` both read naturally.
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T& value() & {
    CHECK(ok(), "value() of a failed Result");
    return std::get<0>(state_);
  }
  T&& value() && {
    CHECK(ok(), "value() of a failed Result");
    return std::get<0>(std::move(state_));
  }
  const Error& error() const {
    CHECK(!ok(), "error() of a successful Result");
    return std::get<1>(state_);
  }

  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }

 private:
  std::variant<T, Error> state_;
};

// Success, or the Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): `return Error{...};`
  Status(Error error) : error_(std::move(error)), failed_(true) {}

  bool ok() const { return !failed_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    CHECK(failed_, "error() of a successful Status");
    return error_;
  }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace mixnet
