// Rows of tables over the steps of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::cli {

// Positions of the steps that share a row: in a streamed plan those of equal labels, which are
// strips of one operator, in the order of the first ones; else each step alone.
std::vector<std::vector<size_t>> step_rows(const std::vector<std::string>& labels, bool streamed);

// `12 x conv 16x66x512 3x3 (conv0)`
std::string label_of_row(const std::string& label, size_t steps);

// `24 uploads, 1.2 GiB`
std::string label_of_transfers(bool download, int64_t count, int64_t bytes);

}  // namespace assay::cli
