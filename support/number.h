// Text to the nearest double, as std::from_chars. Some C++ libraries (Android's) lack it for
// doubles; there strtod converts exactly the characters that from_chars would read.
#pragma once

#include <charconv>

namespace assay {

// Of decimal numbers: `-1`, `2.5`, `.5`, `1e-3`. Errors as from_chars: invalid_argument,
// result_out_of_range (`value` stays as it is).
std::from_chars_result read_double(const char* first, const char* last, double& value);

// The same by strtod; public so that it is tested on every platform.
std::from_chars_result read_double_by_strtod(const char* first, const char* last, double& value);

// To `digits` significant digits: more would be noise in a file.
double rounded_to(double v, int digits);

}  // namespace assay
