// Memory streams of a program and their footprints: what the loops inside a given depth of the nest
// touch, in bytes of whole cache lines. The base of traffic.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/program.h"
#include "lower/count.h"
#include "lower/nest.h"

namespace assay::model {

// One array that the nest touches: an operand (or its staged copy) or the output.
struct Stream {
  int tensor = -1;   // of the program's graph; for a staged copy, its source
  int staging = -1;  // index into Program::staging when this is the copy
  bool written = false;
  bool read = true;
  int node = 0;               // node that touches it
  int operand = -1;           // which read of the node it is; -1: its output
  std::vector<char> moves;    // per anchor axis: does the address change with it
  bool on_chip = false;       // a tile that a group keeps in a scratchpad
  bool with_gaps = false;     // gaps between the positions that are read are copied, too
  bool touched_once = false;  // every element is touched exactly once, whatever the loops
  size_t end_depth = 0;       // loops from this depth on do not touch it; nest size: all do
};

ir::DType type_of_stream(const ir::Program& p, const Stream& s);  // as it is stored

// Does code copy it into memory that it manages, or keep it there?
inline bool in_scratch(const Stream& s) { return s.staging >= 0 || s.on_chip; }

struct Streams {
  lower::Nest nest;
  std::vector<Stream> streams;
};

// Streams of the register tile's code, and of the copies of staged operands.
Streams streams_of(const ir::Program& p);

// Do strides leave gaps between the positions that it reads?
bool has_gaps(const ir::Program& p, const Stream& s);

// What one run of the loops inside a depth touches of a stream: its operand's region over the tile
// those loops cover, in the stream's layout, as rows of contiguous bytes.
struct Footprint {
  double rows = 0;       // contiguous runs
  double run = 0;        // bytes of one run
  double near_rows = 1;  // runs at distances of `stride` bytes (the innermost such dimension)
  double stride = 0;
  double span = 0;      // bytes from the first row's begin to the last one's end; 0: not known
  double far_rows = 1;  // such groups of rows at distances of `far_stride` bytes (the next one)
  double far_stride = 0;

  double bytes(double line) const;  // of whole lines; rows closer than a line share it
  // Capacity it takes in a cache of `sets` sets. Rows whose stride maps to few sets conflict, so k
  // lines in one set take k-1 ways of every set (4 or 8 KiB strides, the classic case).
  double occupied(double line, double sets) const;
  // Lines of its near and far rows.
  double row_lines(double line) const;
  // Sets that these map to.
  double sets_touched(double line, double sets) const;
  // Capacity it takes where the number of sets is not known: rows at a stride of 2^j lines have
  // 2^-j of it.
  double occupied_any_sets(double line) const;
};

// At every depth 0..stream.end_depth. Positions whose stride is more than `line` bytes are rows of
// their own.
std::vector<Footprint> footprints(const ir::Program& p, const Streams& s, const Stream& stream,
                                  double line);

// The same at depth 0, of the first one of `units` units that share the outermost loop's trips out.
Footprint unit_footprint(const ir::Program& p, const Streams& s, const Stream& stream, double units,
                         double line);

// What the innermost loop of a staged operand's copy writes: interleaved rows, along which the
// loops around it advance.
Footprint rows_written_by_copy(const ir::Program& p, const Stream& copy, double line);

// Per stream the bytes of lines that its loads and stores touch: what a cache that keeps nothing
// would fetch. A vector touches as many lines as it has, or one more where it straddles; a gather
// one line per lane.
std::vector<double> accessed_bytes(const ir::Program& p, const Streams& s,
                                   const lower::Counts& counts, double line);

// Runs of the output that one of `units` units writes and that end where another unit's begin. None
// where each unit has one contiguous part; one per row where the units share the columns out.
struct FalseSharingRuns {
  double count = 0, run = 0;  // bytes of one run
};
FalseSharingRuns false_sharing_runs(const ir::Program& p, const Streams& s, double units);

// Extent of the tile per axis that loops [depth..) cover.
std::vector<int64_t> tile_extents(const ir::Program& p, const lower::Nest& nest, size_t depth);

}  // namespace assay::model
