// Well-formed UTF-8 (Unicode, table 3-7): no overlong forms, surrogates or values past U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

// Length of the well-formed sequence at text[i], or 0.
size_t utf8_length(std::string_view text, size_t i);

bool is_utf8(std::string_view text);

}  // namespace assay
