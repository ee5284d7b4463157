#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/routed_tokens.h"

// Routed tokens in text: one token per line, its rank and then the experts that it picked,
// separated by commas or blanks; -1 is a slot without expert. Blank lines and lines that start with
// # are skipped. Example of two tokens with three experts each:
//
//   0, 17, 4, 201
//   1, 4, 88, -1
namespace mixnet::scenario {

// Which ranks and experts there are.
struct TokenLimits {
  int ranks = 0;
  int experts = 0;
  int top_k = 0;  // experts that a token picks; 0: any number
};

// Errors name the line: a number that is none, a rank or expert that does not exist, an expert that
// a token picks twice, lines of different length or of another length than top-k.
Result<RoutedTokens> read_token_file(const std::string& path, const TokenLimits& limits);
Result<RoutedTokens> parse_tokens(std::string_view text, const std::string& name,
                                  const TokenLimits& limits);

}  // namespace mixnet::scenario
