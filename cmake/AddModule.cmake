# add_module(NAME [COMPUTES]
#   COMPUTES               computes enough that even the Debug build has to optimise it
#   HEADERS  a.h ...       public headers, beside the sources
#   SOURCES  a.cc ...
#   MODULES  core ...      mixnet modules it may include
#   PUBLIC_LIBS fmt::fmt   libraries that its headers expose
#   PRIVATE_LIBS ...       libraries that only its sources use
#   TESTS    a_test.cc ... unit tests beside the code, one test binary per module
#   SLOW_TESTS ...         the same, labelled slow)
#
# Defines mixnet_NAME (static), mixnet_NAME_test and mixnet_NAME_link, an empty program linked
# against the whole archive: it fails when the module uses a symbol of a module it does not name.
function(add_module NAME)
  cmake_parse_arguments(
    M "COMPUTES" "" "HEADERS;SOURCES;MODULES;PUBLIC_LIBS;PRIVATE_LIBS;TESTS;SLOW_TESTS" ${ARGN})
  set(LIB mixnet_${NAME})
  add_library(${LIB} STATIC ${M_SOURCES})
  target_sources(${LIB} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src
                                                FILES ${M_HEADERS})
  foreach(DEP ${M_MODULES})
    target_link_libraries(${LIB} PUBLIC mixnet_${DEP})
  endforeach()
  target_link_libraries(${LIB} PUBLIC ${M_PUBLIC_LIBS} PRIVATE ${M_PRIVATE_LIBS} mixnet_flags)

  if(M_COMPUTES)
    target_compile_options(${LIB} PRIVATE $<$<CONFIG:Debug>:-O1>)
  endif()

  add_executable(${LIB}_link ${PROJECT_SOURCE_DIR}/tests/link/empty_main.cc)
  target_link_libraries(${LIB}_link PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${LIB}> mixnet_flags)
  add_test(NAME link.${NAME} COMMAND ${LIB}_link)
  set_tests_properties(link.${NAME} PROPERTIES LABELS fast)

  mixnet_test_binary(${LIB}_test fast "${M_TESTS}" ${LIB} ${M_PRIVATE_LIBS})
  mixnet_test_binary(${LIB}_slow_test slow "${M_SLOW_TESTS}" ${LIB} ${M_PRIVATE_LIBS})
endfunction()

# One GoogleTest binary with the given label. A fast one is one CTest test, since starting a program
# with sanitizers takes longer than most of its cases; every case of a slow one is a test.
function(mixnet_test_binary TARGET LABEL FILES)
  if(NOT FILES)
    return()
  endif()
  add_executable(${TARGET} ${FILES})
  target_link_libraries(${TARGET} PRIVATE ${ARGN} GTest::gtest_main GTest::gmock mixnet_flags)
  target_include_directories(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${TARGET} PRIVATE MIXNET_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(LABEL STREQUAL "fast")
    add_test(NAME ${TARGET} COMMAND ${TARGET} --gtest_brief=1)
    set_tests_properties(${TARGET} PROPERTIES LABELS fast TIMEOUT 300)
  else()
    gtest_discover_tests(${TARGET} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${LABEL} TIMEOUT 300)
  endif()
endfunction()
