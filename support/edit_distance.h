// "did you mean": the nearest name of a list by edit distance (optimal string alignment).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, or "" when none is within a third of its length (at least 1).
std::string nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace assay
