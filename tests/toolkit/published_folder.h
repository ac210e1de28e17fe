// A folder of made-up published measurements with two devices, three groups, a table of programs
// and one that is not estimated.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/reference.h"

namespace assay::test {

inline constexpr int kManyRows = 1500;

class PublishedFolder {
 public:
  PublishedFolder() {
    write("index.yaml", R"yaml(schema: assay/reference/1
sources: {lab: {from: a laboratory, licence: MIT, timed: by a clock}}
tables:
  - {file: copies_v100.csv, source: lab, device: nvidia/v100-pcie-16gb, group: copies, launch: 0 us,
     caches: cold, role: fit, baseline: copies_v100.csv}
  - {file: copies_t4.csv, source: lab, device: nvidia/t4, group: copies, launch: 0 us, caches: cold,
     role: judge, baseline: copies_v100.csv}
  - {file: sums_t4.csv, source: lab, device: nvidia/t4, group: "sums <b>", launch: 0 us,
     caches: cold, role: judge, baseline: sums_t4.csv}
  - {file: tiles.csv, source: lab, device: nvidia/rtx-3090, group: tiles, launch: stream,
     caches: warm, role: judge, programs: xgemm}
  - {file: left.csv, source: lab, device: none, group: left, launch: stream, caches: warm,
     role: judge, not_estimated: a drawing}
bars:
  - {name: near, groups: [copies, "sums <b>"], at_most: 0.5}
  - {name: order, groups: [tiles], figure: kendall, at_least: 0.9}
)yaml");
    write("copies_v100.csv", elementwise("relu", kManyRows, 1.1e-11));
    write("copies_t4.csv", elementwise("relu", 40, 3.2e-11));
    write("sums_t4.csv", elementwise("add", 30, 4.5e-11));
    write("left.csv", "op,type,seconds\nrelu n=1000,f32,1e-5\n");
    write("tiles.csv",
          "op,type,seconds,MWG,NWG,KWG,MDIMC,NDIMC,MDIMA,NDIMB,KWI,VWM,VWN,STRM,STRN,SA,SB\n"
          "matmul m=1024 n=1024 k=1024,f32,0.0004,16,16,32,8,8,8,8,2,1,1,0,0,0,0\n"
          "matmul m=1024 n=1024 k=1024,f32,0.0001,64,64,32,16,8,16,16,2,4,4,0,0,1,1\n");
  }
  std::string path() const { return dir_.path(); }
  Result<toolkit::Reference> read() const { return toolkit::read_reference(dir_.path()); }

 private:
  void write(const std::string& file, const std::string& text) {
    EXPECT_EQ(write_text(dir_.at(file), text), Diags{});
  }
  // Times from a few to hundreds of microseconds, a tenth around so much an element.
  static std::string elementwise(const std::string& op, int rows, double seconds) {
    std::string out = "op,type,seconds\n";
    for (int i = 0; i < rows; ++i) {
      const int n = 300'000 + i * (20'000'000 / rows);
      out += op + " n=" + std::to_string(n) + ",f32," +
             std::to_string(n * seconds * (0.95 + 0.01 * (i % 11)) * 1e6) + "e-6\n";
    }
    return out;
  }
  ScratchDirectory dir_;
};

}  // namespace assay::test
