#pragma once

#include <cstddef>
#include <vector>

namespace mixnet {

// Tokens, the rank that each is on, and the experts that it picked.
struct RoutedTokens {
  int top_k = 0;
  std::vector<int> source;   // [token]
  std::vector<int> experts;  // [token * top_k + slot]; a negative one: the slot sends nothing

  std::size_t tokens() const { return source.size(); }
};

}  // namespace mixnet
