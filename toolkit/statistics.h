// Figures of `assay validate`: how well order and size are predicted.
//
//   Spearman   Pearson's correlation of mid-ranks (Spearman 1904); ties share their mean rank
//   Kendall    tau-b: (concordant - discordant) / sqrt((pairs - tied in x) (pairs - tied in y))
//              (Kendall 1945), by sorting (Knight 1966)
// nullopt: fewer than two values, or all values of one side are equal.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace assay::toolkit {

std::optional<double> spearman(std::span<const double> x, std::span<const double> y);
std::optional<double> kendall(std::span<const double> x, std::span<const double> y);

// Linear interpolation between order statistics. Pre: not empty.
double quantile_of(std::vector<double> values, double q);

std::optional<double> mean(std::span<const double> values);
std::optional<double> median(std::span<const double> values);
std::optional<double> geometric_mean(std::span<const double> values);  // pre: all above 0

}  // namespace assay::toolkit
