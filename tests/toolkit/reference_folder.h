// A folder of reference measurements with one table, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/reference.h"

namespace assay::test {

inline const std::string kReferenceHead =
    "schema: assay/reference/1\n"
    "sources: {lab: {from: a laboratory, licence: MIT, timed: by a clock}}\n"
    "tables:\n";

inline const std::string kCopies =
    "  - {file: t.csv, source: lab, device: nvidia/v100-pcie-16gb, group: copies, "
    "launch: 0 us, caches: cold, role: fit, baseline: t.csv}\n";

class ReferenceFolder {
 public:
  explicit ReferenceFolder(
      const std::string& table, const std::string& tables = kCopies,
      const std::string& end = "bars:\n  - {name: copies, groups: [copies], at_most: 0.5}\n",
      const std::string& head = kReferenceHead) {
    EXPECT_EQ(write_text(dir_.at("t.csv"), table), Diags{});
    EXPECT_EQ(write_text(dir_.at("index.yaml"), head + tables + end), Diags{});
  }
  Result<toolkit::Reference> read() const { return toolkit::read_reference(dir_.path()); }

  // file:line: message of the first error, the folder's name left out.
  std::string fault() const {
    const auto r = read();
    EXPECT_FALSE(r);
    if (r) return "";
    const Diag& d = r.diags()[0];
    return d.file.substr(dir_.path().size() + 1) + ":" + std::to_string(d.line) + ": " + d.message;
  }

 private:
  ScratchDirectory dir_;
};

}  // namespace assay::test
