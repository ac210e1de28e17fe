// Text of a page: numbers for people, and foreign text made harmless in a page.
#pragma once

#include <string>
#include <string_view>

namespace assay::page {

// What a number of a chart is; the page's script formats axes by the same names
// (format.js).
enum class Kind { bytes, seconds, hertz, per_second, bytes_per_second, count, share };

const char* word_of(Kind kind);

// Three digits and a prefix: `1.85 MiB`, `336 GB/s`, `12.3 ns`, `4.1 %`.
std::string human(double v, Kind kind);

// For text between tags and inside quoted attributes: & < > " ' become entities; control characters
// and invalid UTF-8 become U+FFFD.
std::string html(std::string_view text);

// JSON for a <script> element: what could end it or start a comment is written as \u escapes.
std::string script_safe(std::string json);

}  // namespace assay::page
