// Text for people: aligned columns and numbers with three digits.
#pragma once

#include <string>
#include <vector>

namespace assay::console {

// Columns as wide as their widest cell, two blanks between. The first is left-aligned, the others
// right-aligned. The first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

std::string duration(double seconds);  // 12.3 us, 1.23 ms, 4.56 s
std::string percent(double ratio);     // +3.4 %
std::string bytes(double count);       // 1.5 MiB

// A quantity with three digits and a suitable prefix: `1939188 B` -> `1.85 MiB`,
// `336160 MB/s` -> `336 GB/s`. Other text is unchanged.
std::string rounded_quantity(const std::string& text);

// `text`; if longer than `width`, with `..` in place of its middle.
std::string shortened(const std::string& text, size_t width);

inline constexpr size_t kLabelWidth = 48;  // columns that a table gives to a step's label

}  // namespace assay::console
