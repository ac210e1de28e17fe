# assay_library(NAME deps...): one static library per source folder, with those of its sub-folders
# that have no CMakeLists.txt of their own; warnings are errors. assay_test(NAME LABELS ... DEPS
# ...): one gtest executable per test folder.

# -Wno-restrict: g++ 12 reports it falsely for "literal" + std::string (GCC bug 105329).
set(ASSAY_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-restrict)

# -ffp-contract=off: the same estimate on every machine that built us (same input, same bytes).
function(assay_flags target)
  target_compile_options(${target} PRIVATE ${ASSAY_WARNINGS} -ffp-contract=off)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  if(ASSAY_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${ASSAY_SANITIZE})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # it knows other warnings
    target_compile_options(${target} PUBLIC -Wno-error -Wno-unknown-warning-option)
  endif()
  if(ASSAY_FUZZ)
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()

# Headers of the standard library and of fmt that most files take, and of GoogleTest for tests,
# are parsed once. A launcher such as ccache does better without, and whoever wants every file to
# name what it takes builds with this off.
if(CMAKE_CXX_COMPILER_LAUNCHER OR ASSAY_SANITIZE OR ASSAY_FUZZ OR ASSAY_PROBE_ONLY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompile OFF)
else()
  set(precompile ON)
endif()
option(ASSAY_PRECOMPILE "common headers are parsed once" ${precompile})

# assay_precompile(TARGET NAME headers... OPTIONS options...): TARGET shares the precompiled
# headers of this name.
function(assay_precompile target name)
  if(NOT ASSAY_PRECOMPILE)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "HEADERS;DEPS;OPTIONS" ${ARGN})
  if(NOT TARGET assay_${name}_headers)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}_headers.cpp CONTENT "")
    add_library(assay_${name}_headers OBJECT ${CMAKE_BINARY_DIR}/${name}_headers.cpp)
    assay_flags(assay_${name}_headers)
    target_compile_options(assay_${name}_headers PRIVATE ${arg_OPTIONS})
    target_link_libraries(assay_${name}_headers PRIVATE fmt::fmt ${arg_DEPS})
    target_precompile_headers(assay_${name}_headers PRIVATE ${arg_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM assay_${name}_headers)
  target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)  # g++ 12's bug again, under these names
endfunction()

include(cmake/together.cmake)

set(ASSAY_STANDARD_HEADERS <algorithm> <cmath> <cstdint> <functional> <fstream> <map> <memory> <optional> <set> <span> <sstream> <string> <string_view> <variant> <vector> <fmt/format.h>)

function(assay_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  file(GLOB inner CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cpp)
  foreach(source ${inner})
    get_filename_component(folder ${source} DIRECTORY)
    if(NOT EXISTS ${folder}/CMakeLists.txt)
      list(APPEND sources ${source})
    endif()
  endforeach()
  add_library(assay_${name} STATIC ${sources})
  assay_flags(assay_${name})
  target_link_libraries(assay_${name} PUBLIC ${ARGN})
  assay_precompile(assay_${name} library HEADERS ${ASSAY_STANDARD_HEADERS})
  assay_together(assay_${name})
endfunction()

function(assay_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(test_${name} ${sources})
  assay_flags(test_${name})
  target_compile_definitions(test_${name} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE ${arg_DEPS} GTest::gtest_main GTest::gmock)
  target_compile_options(test_${name} PRIVATE -O1)  # compiled more often than waited for
  assay_precompile(test_${name} test HEADERS <gtest/gtest.h> <gmock/gmock.h> ${ASSAY_STANDARD_HEADERS} DEPS GTest::gtest GTest::gmock OPTIONS -O1)
  assay_together(test_${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
