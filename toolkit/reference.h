// Published measurements: the tables of a folder such as reference/, by its index.yaml.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace assay::toolkit {

struct ReferenceRow {
  std::string op, type;
  double seconds = 0;
};

enum class Role { fit, judge };

struct ReferenceTable {
  std::string file, device, group;
  std::string launch;  // as EstimateOptions::launch
  bool warm = false;
  Role role = Role::judge;
  std::string baseline;  // file of the table on which its roofline's constants are fitted
  std::vector<ReferenceRow> rows;
};

struct ReferenceBar {
  std::string name;
  std::vector<std::string> groups;
  double above = 0;    // s: of rows that took longer
  double at_most = 0;  // mean of |predicted / measured - 1|
};

struct Reference {
  std::vector<ReferenceTable> tables;
  std::vector<ReferenceBar> bars;
};

// Errors: unreadable files, unknown or missing keys, a role that is neither, a baseline that is no
// table, a row without a time; each with its place.
Result<Reference> read_reference(const std::string& folder);

}  // namespace assay::toolkit
