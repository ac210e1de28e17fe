// Published measurements: the tables of a folder such as reference/, by its index.yaml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/result.h"

namespace assay::toolkit {

struct ReferenceRow {
  std::string op, type;
  double seconds = 0;
  std::vector<std::string> more;  // of the table's further columns
};

enum class Role { fit, judge };

// Who measured, under which licence, and how.
struct ReferenceSource {
  std::string name, from, licence, timed;
};

struct ReferenceTable {
  std::string file, device, group;
  std::string source;  // a ReferenceSource's name
  std::string launch;  // as EstimateOptions::launch
  bool warm = false;
  Role role = Role::judge;
  std::string baseline;       // file of the table on which its roofline's constants are fitted
  std::string not_estimated;  // why no estimate is held against it; "": one is
  // Rows are programs of one operator, as `programs` reads them: `xgemm` (kernel_tuner.h). "": they
  // are operators.
  std::string programs;
  std::vector<std::string> columns;  // behind op, type, seconds
  std::vector<ReferenceRow> rows;
};

// What a bar is of: the mean of |predicted / measured - 1|; how programs are ordered (accuracy.h).
enum class BarFigure { error, kendall, subset_regret };

struct ReferenceBar {
  std::string name;
  std::vector<std::string> groups;
  double above = 0;  // s: of rows that took longer; of operators
  BarFigure figure = BarFigure::error;
  double bound = 0;  // at least of `kendall`, at most of others
};

struct Reference {
  std::vector<ReferenceSource> sources;
  std::vector<ReferenceTable> tables;
  std::vector<ReferenceBar> bars;
  // Bytes per s of the datasheets, by device: what the roofline's constants are parts of.
  std::map<std::string, double> bandwidths;
};

// Rows of one table: `op,type,seconds` in its first line, then a row each. Errors, each with its
// place: an unreadable file, another head, a row that is none, no row.
Result<std::vector<ReferenceRow>> read_measurements(const std::string& path);

// Errors, each with its place: unreadable files, unknown or missing keys, a role that is neither, a
// source or baseline that is none. So are a bar or bandwidth of no table, an empty table, and a row
// that is none.
Result<Reference> read_reference(const std::string& folder);

}  // namespace assay::toolkit
