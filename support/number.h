// Text to the nearest double, as std::from_chars reads it. C++ libraries of phones lack that
// function for doubles: there strtod is asked, about exactly the characters that from_chars would
// take.
#pragma once

#include <charconv>

namespace assay {

// Of decimal numbers: `-1`, `2.5`, `.5`, `1e-3`. Errors as from_chars: invalid_argument,
// result_out_of_range (`value` stays as it is).
std::from_chars_result read_double(const char* first, const char* last, double& value);

// The same by strtod; its own function so that it is tested where it is not needed.
std::from_chars_result read_double_by_strtod(const char* first, const char* last, double& value);

}  // namespace assay
