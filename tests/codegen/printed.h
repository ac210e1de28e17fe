// A kernel printed in a dialect of the library, or the errors.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "codegen/render.h"

namespace assay::testing {

inline std::string printed_in(const ir::Kernel& kernel, const char* dialect) {
  const auto d = codegen::parse_dialect(codegen::dialect_text(dialect), dialect);
  EXPECT_TRUE(d.ok());
  const auto text = codegen::render(std::vector{kernel}, *d);
  return text.ok() ? *text : assay::render(text.diags());
}

}  // namespace assay::testing
