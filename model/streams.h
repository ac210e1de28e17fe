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
  int node = 0;             // node that touches it
  std::vector<char> moves;  // per anchor axis: does the address change with it
  bool whole =
      false;  // what lies between the positions that are read, too: copies are whole regions
  bool once = false;  // every element is touched exactly once, whatever the loops
  size_t until = 0;   // loops from this depth on do not touch it (copies); nest size: all do
};

struct Streams {
  lower::Nest nest;
  std::vector<Stream> streams;
};

// Streams of the register tile's code, and of the copies of staged operands.
Streams streams_of(const ir::Program& p);

// May there be positions between those that it reads, as strides leave them?
bool leaves_out(const ir::Program& p, const Stream& s);

// What one run of the loops inside a depth touches of a stream: its operand's region over the
// tile those loops cover, in the stream's layout, as rows of contiguous bytes.
struct Footprint {
  double rows = 0;       // contiguous runs
  double run = 0;        // bytes of one run
  double near_rows = 1;  // runs that lie `stride` bytes apart (the innermost such dimension)
  double stride = 0;
  double span = 0;      // bytes from the first of them to the last one's end; 0: not known
  double far_rows = 1;  // such rows that lie `far_stride` bytes apart (the next one)
  double far_stride = 0;

  double bytes(double line) const;  // of whole lines; rows closer than a line share it
  // Capacity it takes in a cache of `sets` sets: rows whose stride maps to few sets crowd them, so
  // k lines in one set take k-1 ways of every set (4 or 8 KiB apart, the classic case).
  double occupied(double line, double sets) const;
  // Lines of its near and far rows.
  double row_lines(double line) const;
  // Sets that these fall into.
  double sets_touched(double line, double sets) const;
  // What it occupies where the number of sets is not known: rows 2^j lines apart have 2^-j of the
  // capacity.
  double crowding(double line) const;
};

// At every depth 0..stream.until. Positions further apart than `line` bytes, as strides leave them,
// are rows of their own.
std::vector<Footprint> footprints(const ir::Program& p, const Streams& s, const Stream& stream,
                                  double line);

// Of the whole program, the part of the first one of `units` units, which deal the outermost loop's
// trips out.
Footprint part_of_unit(const ir::Program& p, const Streams& s, const Stream& stream, double units,
                       double line);

// What the innermost loop of a staged operand's copy writes of it: its rows lie side by side there,
// and the loops around it go on along them.
Footprint written_side_by_side(const ir::Program& p, const Stream& copy, double line);

// Per stream the bytes of lines that its loads and stores touch, one access after the other: what a
// cache that keeps nothing would fetch. A vector touches the lines it is long, or a second one
// where it straddles; lanes that are gathered touch a line each.
std::vector<double> accessed_bytes(const ir::Program& p, const Streams& s,
                                   const lower::Counts& counts, double line);

// Runs of the output that one of `units` units writes and that end where another unit's begin: 0
// where each unit has one contiguous part, as many as there are rows where the units share the
// columns out.
struct SharedEnds {
  double count = 0, run = 0;  // bytes of one run
};
inline constexpr double kSharedRun =
    1024;  // bytes of those whose cost a profile gives; shorter ones have fewer lines to lose
SharedEnds shared_ends(const ir::Program& p, const Streams& s, double units);

// Extent of the tile per axis that loops [depth..) cover.
std::vector<int64_t> covered(const ir::Program& p, const lower::Nest& nest, size_t depth);

}  // namespace assay::model
