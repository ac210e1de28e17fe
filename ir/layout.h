// Layouts: the memory order of a tensor's or a staged tile's elements.
//
// A layout lists physical dimensions from outermost to innermost. Physical dimension p holds
//   ((index[dim] + pad_before[dim]) / div) % mod        (mod 0: no modulo)
// NCHW16c of a tensor [N,C,H,W]: {0,1,0} {1,16,0} {2,1,0} {3,1,0} {1,1,16}.
// Padding is part of the storage: `before` and `after` extra elements per logical dimension, which
// are zero where zero padding was written. Reads of the padding are inside the storage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/index.h"

namespace assay::ir {

struct PhysicalDim {
  int dim = 0;  // logical dimension
  int64_t div = 1;
  int64_t mod = 0;  // 0: none
  bool operator==(const PhysicalDim&) const = default;
};

struct Pad {
  int64_t before = 0, after = 0;
  bool operator==(const Pad&) const = default;
};

struct Layout {
  std::vector<PhysicalDim> dims;  // outermost first
  std::vector<Pad> pad;           // per logical dimension; empty: none
  double pad_value = 0;           // what its storage holds; a whole number
  bool operator==(const Layout&) const = default;
};

Layout row_major(int rank);

// row_major with logical dimension `dim` split: its remainder modulo `block` becomes innermost.
Layout blocked(int rank, int dim, int64_t block);

Pad pad_of(const Layout& layout, int dim);
bool is_padded(const Layout& layout);
// The padding that reads of `value` outside the tensor may enter: none where it holds another one.
Pad pad_of_value(const Layout& layout, int dim, double value);

// Extents of the physical dimensions for a tensor of `shape`; blocks are rounded up.
std::vector<int64_t> physical_shape(const Layout& layout, std::span<const int64_t> shape);
int64_t physical_elements(const Layout& layout, std::span<const int64_t> shape);

// Element offset of the logical position `index` (one Index per logical dimension).
Index physical_offset(const Layout& layout, std::span<const int64_t> shape,
                      std::span<const Index> index, Ranges ranges);
// The same of one position.
int64_t element_at(const Layout& layout, std::span<const int64_t> shape,
                   std::span<const int64_t> position);

// `[0, 1/16, 2, 3, 1%16] pad 2:1,1 3:1,1 of 128` (of 0 is not shown): round-trips through
// parse_layout.
std::string print(const Layout& layout);

}  // namespace assay::ir
