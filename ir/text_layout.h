// Layouts as text: `[0, 1/16, 2, 3, 1%16] pad 2:1,1 3:1,1`. Physical dimensions come from outermost
// to innermost, as logical dimension, / block, % block. `pad` lists the elements before and after a
// logical dimension. parse(print(l)) == l.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/layout.h"
#include "ir/text_scanner.h"
#include "support/result.h"

namespace assay::ir {

Layout parse_layout(Scanner& scanner);  // throws TextFault

// Why a layout does not fit a tensor of `shape`: a logical dimension that does not exist or is not
// placed, or more storage than kMaxElements. Empty: it fits.
std::string layout_fault(const Layout& layout, std::span<const int64_t> shape);

Result<Layout> parse_layout(std::string_view text);  // `col` of an error: 1-based within the text

}  // namespace assay::ir
