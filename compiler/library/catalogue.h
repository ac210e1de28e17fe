// The catalogue: shapes of the programs that vendors' libraries run (hw_profiles/catalogue). It
// holds no efficiencies. An entry says which capabilities it needs, and where it is known from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "ir/graph.h"
#include "support/result.h"

namespace assay::compiler {

// A product C[m, n] += A[m, k] B[k, n] by tiles.
struct ProductEntry {
  std::string name;
  std::vector<ir::DType> types;  // of operands
  int64_t tile[3] = {1, 1, 1};   // rows, columns, reduction steps of a group's tile
  int64_t threads = 1;           // of a group
  // What a thread (plain lanes) or a wave (matrix instructions on registers) accumulates.
  int64_t accumulates[2] = {1, 1};
  bool matrix = false;
  int64_t slices = 1;  // parts of a group's reduction, by waves of their own
  int64_t stages = 1;  // tiles of operands under way or in use at once
  std::vector<int64_t> split_k = {1};
  bool from_scratchpad = false;  // matrix instructions read the scratchpad themselves
  bool staged = true;            // operands are copied into a scratchpad; else read from caches
  bool needs_mover = false;
  // Groups of neighbouring rows and columns of tiles that share their copies by multicast.
  int64_t cluster[2] = {1, 1};
  bool vectors = false;  // for units whose lanes are explicit vectors; `threads` is one vector then
};

// Rows: softmax, normalisations, reductions.
struct RowEntry {
  std::string name;
  std::vector<ir::Combiner> reductions;  // in order; empty: any
  bool in_registers = false;             // a wave reads its row once and keeps it
  bool merges = false;                   // all sums in one pass
  int64_t columns_more = 0;              // rows of more than so many elements,
  int64_t columns_most = INT64_MAX;      // and of at most so many
  int64_t threads = 1;                   // of a group; 0: by the row's length
  int64_t most_threads = 1024;
  int64_t vector = 1;  // elements of one load
};

struct PointwiseEntry {
  std::string name;
  int64_t threads = 1, vector = 1, per_thread = 1;
};

struct Catalogue {
  std::vector<ProductEntry> products;
  std::vector<RowEntry> rows;
  std::vector<PointwiseEntry> pointwise;
};

// One file; entries are appended. Errors: unknown or missing keys, sizes that are not 1 or more,
// tiles that the threads do not cover, each with its place.
Diags parse_catalogue(std::string_view text, std::string_view file, Catalogue& out);

// Threads of a group for rows of so many elements.
int64_t threads_for(const RowEntry& e, int64_t columns);

}  // namespace assay::compiler
