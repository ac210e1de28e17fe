// Layouts as text: `[0, 1/16, 2, 3, 1%16] pad 2:1,1 3:1,1` - physical dimensions from outermost to
// innermost (logical dimension, / block, % block), then per padded logical dimension the elements
// before and after. parse(print(l)) == l.
#pragma once

#include <string_view>

#include "base/result.h"
#include "ir/layout.h"
#include "ir/text_scanner.h"

namespace assay::ir {

Layout parse_layout(Scanner& scanner);                 // throws TextFault

Result<Layout> parse_layout(std::string_view text);    // `col` of an error: 1-based within the text

}  // namespace assay::ir
