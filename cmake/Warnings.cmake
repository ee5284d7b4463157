# One interface target that carries the flags of every module.
add_library(mixnet_flags INTERFACE)
target_compile_options(mixnet_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow
                                              -Wnon-virtual-dtor -Wold-style-cast)
if(MIXNET_SANITIZE)
  target_compile_options(mixnet_flags INTERFACE -fsanitize=${MIXNET_SANITIZE}
                                                -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(mixnet_flags INTERFACE -fsanitize=${MIXNET_SANITIZE})
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(mixnet_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  # g++ 12 at -O3 sees overflows, overlaps and unset members in inlined fmt and std::string code
  # that cannot be.
  target_compile_options(mixnet_flags INTERFACE -Wno-stringop-overflow -Wno-array-bounds
                                                -Wno-restrict -Wno-maybe-uninitialized)
endif()
