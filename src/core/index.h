#pragma once

#include <cstddef>
#include <cstdint>

namespace mixnet {

// A count or id, never negative, as the index of a container.
inline std::size_t at(int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace mixnet
