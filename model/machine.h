// Machine: a target's numbers resolved for the physics: seconds, bytes, instructions per second of
// one unit. Prepared once; what a profile does not know is filled by a stated assumption, and every
// assumption is listed, so that an estimate can say what it rests on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/target.h"
#include "support/result.h"

namespace assay::model {

// A number and the relative half-width of its interval (0: exact or unknown).
struct Quantity {
  double value = 0;
  double spread = 0;  // (high - low) / (2 value)
  bool assumed = false;
  std::string path;  // profile field, for explanations
  double parts = 1;  // of a unit, a rate of theirs together; a wave runs on one
};

// How a part that is held falls: all up to `from`, `half` of it at `middle` where that lies
// between, nothing from `to` on.
struct HitCurve {
  double from = 0, middle = 0, half = 0.5, to = 0;  // bytes; to = 0: not known
};

struct Level {  // one memory, near to far
  std::string name;
  bool shared = false;            // one instance serves several units, or would
  bool on_chip_explicit = false;  // code copies into it (scratchpad)
  bool last = false;              // nothing lies behind it for this program: dram or host
  double instances = 1;           // in the whole device
  Quantity capacity;              // bytes of one instance that are still held whole (retention.h)
  double middle = 0;              // bytes of which `middle_hits` is; 0: not known
  double middle_hits = 0.5;
  double end = 0;            // bytes beyond which nothing is
  bool cyclic_scan = false;  // these three from a sweep that streams, else from the knee of a chase
  double line = 64;          // bytes of a transfer
  double whole_line = 64;    // of which transfers may be parts
  double sets = 1;           // of a cache; from ways where known, else as if of 8 to 15 ways
  Quantity read, write;      // bytes/s of one instance, all its units together
  Quantity per_unit_read, per_unit_write;  // bytes/s one unit alone reaches
  double sharpness =
      32;  // p of the bandwidth law; where it is not known, `read` is what all units reach
  double together =
      1;  // of the sum of the times of reading and writing, what both take side by side at least
  double short_run_read = 1,
         short_run_write = 1;  // times as long per byte, in runs of a few lines that lie apart
  HitCurve single_use_retention,
      reuse_retention;  // of data used once, and of data used again and again before, by the bytes
                        // of other data that came in since; `to` 0: not known
  Quantity co_tenant_eviction;  // bytes/s that others bring into an instance meanwhile; 0: not
                                // known, or nobody does
  std::optional<double> run_start;  // s beyond streaming that a unit pays for the first line of a
                                    // run, as those runs showed; nullopt: not measured
  Quantity latency;                 // s
  double misses_in_flight =
      10;  // lines that one unit waits for at once; 10 line buffers are the usual number
  bool write_allocates = true;
};

struct NarrowRate {  // of vectors of up to `lanes`
  int lanes = 0;
  double rate = 0;  // instr/s/unit, lanes/s/unit that lie apart, or a ratio
};

struct WideBarrier {
  double waves = 1;
  Quantity time;  // s
};

struct Machine {
  std::string profile;
  bool simt = false;
  double units = 1;
  double clock = 1e9;            // Hz of one unit under vector load
  int native_width = 1;          // 4-byte lanes that issue together
  std::vector<int> widths;       // usable vector widths, ascending
  double vector_registers = 32;  // of native width, per unit
  double resident_groups = 1;    // limit per unit
  double resident_waves = 1;
  Quantity fma_rate, load_rate, store_rate, alu_rate, divide_rate,
      math_rate;  // vector instr/s/unit
  std::string fma_pipe, alu_pipe, divide_pipe,
      math_pipe;  // operations on the same pipe wait for each other
  std::vector<NarrowRate>
      narrow_arithmetic;  // by lanes, ascending: times as many instructions as of whole vectors
  std::vector<NarrowRate> narrow_divides, narrow_math;  // the same of these, where they differ
  std::vector<NarrowRate> narrow_loads, narrow_stores,
      narrow_splats;                   // by lanes, ascending, where they differ from native ones
  Quantity gather_rate, scatter_rate;  // lanes/s/unit that lie apart in memory; 0: not known
  Quantity
      splat_rate;  // loads/s/unit of one element for all lanes of a whole vector; 0: as any load
  std::vector<NarrowRate> narrow_gathers, narrow_scatters;  // the same, of narrower vectors
  Quantity issue_rate;                                      // vector instr/s/unit
  Quantity fma_latency, add_latency;                        // s
  Quantity
      update_latency;  // s: from a multiply-add on a vector in memory to the next one on the same
  double together =
      0.5;  // of the sum of the times of loads and stores, what both take side by side at least
  Quantity set_conflict,
      set_conflict_dirty;  // s between two lines that come into one set of the nearest
                           // cache; that are changed in part there, and leave
  Quantity false_sharing;  // s, of a run's end behind which another unit writes; 0: not known
  // Bytes/s a unit reaches in lines that another one's own cache holds; 0: not known.
  Quantity dirty_remote_read, dirty_remote_rfo;  // reading and writing what it has modified
  Quantity upgrade;                              // writing what it has read
  int slp_lanes =
      1;  // of the vectors that the kernel language's compiler makes of scalar neighbours
  int merged_loads =
      1;             // of neighbouring words of a group's memory, one a step, that it makes one of
  int unrolled = 1;  // turns of a loop of threads whose loads it brings together
  Quantity wakeup_skew;  // s from the first unit's begin to the last one's; 0: together
  double page = 4096,
         translations = 0;  // bytes; what the nearest buffer of translations holds, 0: not known
  Quantity translation;     // s of a miss there
  Level walked;  // the buffer behind: bytes of the pages it holds, s of a miss that loads pass by;
                 // nothing: not known
  Quantity
      cold;  // s that a launch takes longer whose code a unit's own caches have lost; 0: not known
  Quantity uncached;  // the same, where all caches have
  Quantity launch,
      group_start;         // s; a launch in a stream, or a step of a schedule, holds its barrier
  Quantity group_barrier;  // s, of a group of one wave; 0: not known
  std::vector<WideBarrier> wide_barriers;  // of several, ascending
  std::vector<Level> levels;               // [0] nearest
  std::vector<std::string> assumptions;
};

// Seconds that a group of so many waves takes to meet: in proportion between two sizes that the
// profile knows, beyond the last as that one; 0: it knows none.
double group_barrier_of(const Machine& m, double waves);

// Errors: no unit count, ticks of a clock that is not known, no multiply-add rate, no memory.
Result<Machine> prepare(const hwdesc::Target& target);

}  // namespace assay::model
