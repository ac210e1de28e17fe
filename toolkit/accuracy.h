// The error table: estimates of a library's kernels against published measurements, beside
// rooflines. Profiles alone are used; nothing is fitted to a table but the roofline's constants.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "support/result.h"
#include "toolkit/progress.h"
#include "toolkit/reference.h"

namespace assay::toolkit {

struct ErrorSummary {
  int64_t n = 0;
  double mean = 0, median = 0, worst_tenth = 0;  // of |predicted / measured - 1|
  double bias = 0;                               // mean of predicted / measured - 1
};

// Rows of one table that took longer than `above` and up to `below`.
struct AccuracyRow {
  std::string device, group;
  Role role = Role::judge;
  double above = 0, below = 0;  // s; the first row of a table is of all its times
  ErrorSummary model, datasheet, constants;
  bool carried = false;   // another table gave the roofline's constants
  double coverage = 0;    // of the intervals, whose quantiles come from the other devices
  double half_width = 0;  // median, relative to the estimate
  int64_t refused = 0;    // rows that no entry computes
};

// Of a table whose rows are programs of one operator: does the model find the good ones?
struct ProgramAccuracy {
  std::string device, group;
  Role role = Role::judge;
  ErrorSummary errors;
  // How estimates order the programs. Regret: the measured time of the program with the least
  // estimate over that of the fastest; among all, and the mean over random subsets of 1,000.
  double kendall = 0, spearman = 0, regret = 1, subset_regret = 1;
};

struct AccuracyBar {
  std::string name;
  double value = 0, bar = 0;
  bool holds = false;
  bool at_least = false;  // whether it holds above the bar
  bool share = true;      // shown in %
};

// Of one row of a table, in s. `low` and `high`: 90 % lie within, counted over other devices; of
// programs, the estimate's own interval.
struct AccuracyPoint {
  double measured = 0, predicted = 0, low = 0, high = 0;
};

struct AccuracyTable {
  std::string device, group;
  Role role = Role::judge;
  int64_t refused = 0;
  std::vector<AccuracyPoint> points;  // as the table has them
};

struct Accuracy {
  std::vector<AccuracyRow> rows;
  std::vector<ProgramAccuracy> programs;
  std::vector<AccuracyBar> bars;
  std::vector<AccuracyTable> tables;  // of operators, then of programs
  std::string residuals;  // quantiles over all tables, as a file for hw_profiles/residuals
  Diags notes;            // why rows were refused, each kind once
};

struct AccuracyOptions {
  std::string device;  // of the tables; "": all
  Progress progress;
  const CancelToken* cancel = nullptr;
};

// `all`, `to 10 us`, `above 200 us`.
std::string regime_name(const AccuracyRow& r);
std::string role_name(Role r);
// Its value or bar: `8.5 %`, `0.820`.
std::string figure_text(const AccuracyBar& b, double v);

// Of |predicted / measured - 1|. Pre: as many of both.
ErrorSummary summary_of(std::span<const double> predicted, std::span<const double> measured);

// Errors: a profile that is missing or refused; cancelled.
Result<Accuracy> accuracy(const Reference& reference, const AccuracyOptions& options);

}  // namespace assay::toolkit
