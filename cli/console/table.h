// Text for people: aligned columns and numbers with three digits.
#pragma once

#include <string>
#include <vector>

namespace assay::console {

// Columns as wide as their widest cell, two blanks between; the first is left-aligned, the others
// right. The first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

std::string duration(double seconds);  // 12.3 us, 1.23 ms, 4.56 s
std::string percent(double ratio);     // +3.4 %
std::string bytes(double count);       // 1.5 MiB

// A printed quantity with three digits and the prefix that suits it: `1939188 B` -> `1.85 MiB`,
// `336160 MB/s` -> `336 GB/s`. Text that is no quantity stays as it is.
std::string rounded_quantity(const std::string& text);

// `text` cut to `width` columns, with `..` in the middle when it was longer.
std::string shortened(const std::string& text, size_t width);

}  // namespace assay::console
