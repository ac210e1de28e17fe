// The table of everything a dialect may spell, with the holes each spelling may have. A kernel that
// needs a missing optional spelling is `unsupported`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace assay::codegen {

struct SpellingRow {
  std::string_view name;
  std::string_view holes[8];  // unused ones are empty
  bool required = true;

  std::vector<std::string_view> hole_names() const;
};

std::span<const SpellingRow> spelling_rows();
bool is_spelling(std::string_view name);

}  // namespace assay::codegen
