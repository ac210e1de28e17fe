# assay_library(NAME folder deps...): one static library per source folder, warnings are errors.
# assay_test(NAME LABELS ... DEPS ...): one gtest executable per test folder.

# -Wno-restrict: g++ 12 reports it falsely for "literal" + std::string (GCC bug 105329).
set(ASSAY_WARNINGS -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-restrict)

# -ffp-contract=off: the same estimate on every machine that built us (same input, same bytes).
function(assay_flags target)
  target_compile_options(${target} PRIVATE ${ASSAY_WARNINGS} -ffp-contract=off)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  if(ASSAY_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=address,undefined -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # it knows other warnings
    target_compile_options(${target} PUBLIC -Wno-error -Wno-unknown-warning-option)
  endif()
  if(ASSAY_FUZZ)
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
endfunction()

function(assay_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(assay_${name} STATIC ${sources})
  assay_flags(assay_${name})
  target_link_libraries(assay_${name} PUBLIC ${ARGN})
endfunction()

function(assay_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(test_${name} ${sources})
  assay_flags(test_${name})
  target_compile_definitions(test_${name} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE ${arg_DEPS} GTest::gtest_main GTest::gmock)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
