#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace mixnet::ocs {

// A password. It cannot be printed, compared or converted by accident: only reveal() gives the
// text, and only what puts it on the wire, or removes it from a text, calls that.
class Secret {
 public:
  explicit Secret(std::string text) : text_(std::move(text)) {}
  std::string_view reveal() const { return text_; }

 private:
  std::string text_;
};

}  // namespace mixnet::ocs
