// A chip as plain structs: what `assay/profile/1` can say. CPU, GPU, mobile GPU and NPU share one
// vocabulary; `chip_class` is for display only. Counts, capacities and rates are per instance of
// `per`, never totals. The YAML names, units and meanings stand in hwdesc/fields.h, the one table
// that drives parsing, printing, paths, overrides, diff and the schema.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/value.h"

namespace assay::hwdesc {

using NamedText = std::pair<std::string, std::string>;

struct Clock {
  std::string name;  // e.g. core, memory
  Value<Hertz> max;  // the highest the chip runs at
  std::vector<std::pair<std::string, Value<Hertz>>>
      sustained;  // by load: `all`, `mma`, `avx512`, ...
  bool operator==(const Clock&) const = default;
};

// Nesting from outside in; `device` is the implied root and `host` lies outside. `unit` (SM, CU,
// core, tile) is mandatory.
struct TopologyLevel {
  std::string name;
  Value<Count> count;  // per parent
  bool operator==(const TopologyLevel&) const = default;
};

enum class LaneStyle { simt, simd };  // simd: explicit vectors

struct Granule {
  Value<Count> regs;
  std::string per;
  bool operator==(const Granule&) const = default;
};

struct Registers {
  std::string per;     // topology level that owns the file; on CPUs `unit`
  Value<Count> count;  // registers of `width` bytes in one file
  Value<Bytes> width;  // 4 B for SIMT files; the vector's size for CPUs
  Value<Count> per_thread_max;
  Value<Latency> spill;  // of an operation on a value that found no register
  Granule granule;
  bool operator==(const Registers&) const = default;
};

struct Resident {
  std::string per;
  Value<Count> threads, groups, waves;
  bool operator==(const Resident&) const = default;
};

struct Issue {
  std::string per;
  Value<Rate> rate;  // wave (or vector) instructions per tick
  bool operator==(const Issue&) const = default;
};

// An execution pipe. `rate` counts lane-slots (elements of 4 bytes) per tick and instance.
struct Pipe {
  std::string name;  // free word; the usual ones: fma, sfu, lsu, load, store
  std::string per;
  Value<Rate> rate;
  bool operator==(const Pipe&) const = default;
};

struct Knee {  // where the hit rate falls: from = largest size that still hits
  Value<Bytes> from, to;
  bool operator==(const Knee&) const = default;
};

// A width the chip can run in, and what differs in it from what `execution` and `pipes` say: AVX2
// and AVX-512, wave 64 and wave 128 have registers, limits and rates of their own.
struct LaneMode {
  Value<Count> width;                  // 32-bit lanes that issue together (warp, wavefront, vector)
  std::string name;                    // how the tool names it: avx512, wave64; may be empty
  Value<Count> threads_per_group_max;  // YAML: threads_per_group: {max: ...}
  Resident resident;
  Registers registers;
  Issue issue;
  std::vector<Pipe> pipes;
  bool operator==(const LaneMode&) const = default;
};

struct Lanes {
  LaneStyle style = LaneStyle::simt;
  std::vector<LaneMode> modes;
  Value<Ratio> divergence;  // time of a branch that lanes of a wave disagree on, over that of one
                            // they agree on
  bool operator==(const Lanes&) const = default;
};

struct Execution {
  Lanes lanes;
  Value<Count> threads_per_group_max;  // YAML: threads_per_group: {max: ...}
  Resident resident;
  Registers registers;
  Issue issue;
  Knee code;  // a loop's straight-line body that still runs at full speed, and one that does not
  bool operator==(const Execution&) const = default;
};

enum class Managed { automatic, explicit_ };  // cache | code copies
enum class WritePolicy { unknown, through, around, allocate };
enum class CacheRole { unknown, inclusive, victim, memory_side };

// One point of bandwidth against active units, both as fractions of the whole, so that it stays
// meaningful when an override changes the number of units or the bandwidth.
struct ShapePoint {
  Value<Ratio> units;    // active units / all units
  Value<Ratio> reaches;  // bandwidth they reach / bandwidth of all
  bool operator==(const ShapePoint&) const = default;
};

inline constexpr int kShortRunBytes = 256;  // of the runs whose bandwidth is `apart`

struct MemoryBandwidth {
  Value<Bandwidth> read, write, copy, triad;
  Value<Bandwidth> per_unit;  // what one unit alone reaches, reading
  // Of a cache per unit: what a unit reaches in lines that another one's holds. Reading and writing
  // what that one has written, and writing what that one has read.
  Value<Bandwidth> dirty_remote_read, dirty_remote_rfo, upgrade;
  Value<Bandwidth> short_run_read,
      short_run_write;  // as read and write, in runs that lie further than a page from each other
  Value<Ratio> sharpness;         // p of ((n b1)^-p + B^-p)^(-1/p), n active units
  std::vector<ShapePoint> shape;  // the same law as measured, where it is not of that form
  bool operator==(const MemoryBandwidth&) const = default;
};

// The same of data that is streamed through again and again: what programs do, where a chase also
// waits for translation and hops. Footprints of one instance of which 90 %, 50 % and 10 % are still
// held.
struct HitCurve {
  Value<Bytes> from, middle, to;
  bool operator==(const HitCurve&) const = default;
};

struct Banks {
  Value<Count> count;
  Value<Bytes> width;
  bool operator==(const Banks&) const = default;
};

struct Outstanding {
  std::string per;
  Value<Count> lines;
  bool operator==(const Outstanding&) const = default;
};

struct FarSide {  // the distant half of a split cache
  Value<Latency> latency;
  Value<Bandwidth> bandwidth;
  bool operator==(const FarSide&) const = default;
};

struct Loaded {                      // load to use while others keep the memory busy
  Value<Latency> half, nine_tenths;  // with so much of `bandwidth.read`
  bool operator==(const Loaded&) const = default;
};

struct MemoryLevel {  // near to far in Profile::memory
  std::string name;   // l1, shared, l2, dram, ...
  std::string per;    // topology level, `device` or `host`
  Managed managed = Managed::automatic;
  std::string backed_by;  // name of the memory it really lies in, when not on chip
  std::string link;       // for host memory: pcie, ...
  std::string path;  // the one of `paths` that alone reaches it (a texture cache); empty: loads do
  Value<Bytes> capacity;  // nominal, per instance
  Knee knee;
  HitCurve cyclic_scan;
  HitCurve single_use_retention;  // by the bytes of other data that came in since, of data that was
                                  // used once
  HitCurve reuse_retention;       // the same, of data that was used again and again before
  MemoryBandwidth bandwidth;      // per instance
  Value<Latency> latency;         // load to use
  Loaded loaded_latency;
  Value<Latency> set_conflict;  // of a cache: between two lines that come into one of its sets
  Value<Latency> set_conflict_dirty;  // the same where each is changed in part, and leaves again
  Value<Latency> false_sharing;  // of a cache per unit: for each end of a written run behind which
                                 // another unit writes
  Value<Bandwidth>
      co_tenant_eviction;  // of a cache that others use, too: what they bring into it meanwhile
  Value<Bytes> line, transaction;
  Value<Count> ways;
  Value<Count> page_stride_lines;  // of a cache: lines a page apart that it holds
  Banks banks;
  WritePolicy write = WritePolicy::unknown;
  CacheRole role = CacheRole::unknown;
  Outstanding outstanding;
  FarSide far;
  bool operator==(const MemoryLevel&) const = default;
};

struct TlbLevel {
  int depth = 1;
  Value<Bytes> page;
  Value<Count> entries;
  Value<Latency> miss, overlapped_miss;
  bool operator==(const TlbLevel&) const = default;
};

struct Mover {  // asynchronous copy engine
  std::string name, from, to;
  Value<Count> outstanding;
  Fact async = Fact::unknown;
  bool operator==(const Mover&) const = default;
};

enum class Border { unknown, zero, clamp };

struct ImageBorder {  // what a read outside an image gives
  Border gives = Border::unknown;
  std::string method, note;  // as of a value
  bool operator==(const ImageBorder&) const = default;
};

struct Block {  // texels that are fetched together
  Value<Count> width, height;
  bool operator==(const Block&) const = default;
};

struct AccessPath {  // another way to read memory (texture)
  std::string name;
  std::vector<std::string> through;
  std::string form;
  Value<Count> texel;
  Value<Count> max_width, max_height;  // YAML: limits: {width: ..., height: ..., bytes: ...}
  Value<Bytes> max_bytes;
  Value<Latency> latency;      // load to use, of what its first memory holds
  Value<Bandwidth> bandwidth;  // of that, all users
  Value<Ratio> divergent;  // load to use where lanes want a line each, over that where they want
                           // the same element
  std::vector<std::pair<std::string, Value<Bandwidth>>>
      formats;  // the same by what a texel is made of: r32f, rgba16f, rgba8
  Block block;
  ImageBorder border;
  bool operator==(const AccessPath&) const = default;
};

// What one operation costs: `slots` lane-slots of `pipe` per element, `latency` until its result.
struct ComputeOp {
  std::string op;     // fma, add, mul, div, sqrt, exp, load, store, ...
  std::string dtype;  // f32, f16, ...
  std::string pipe;
  Value<Count> slots;  // unknown: 1
  Value<Latency> latency;
  std::string mode = "";  // lane mode it holds for; empty: every mode without an entry of its own
  bool operator==(const ComputeOp&) const = default;
};

struct Instruction {  // matrix instruction: multiply-adds per tick and instance of `per`
  std::string use;    // reference into isa/
  std::string per;
  Value<Rate> rate;
  Value<Latency> latency;
  bool operator==(const Instruction&) const = default;
};

struct Power {
  Value<Watts> cap, idle;
  std::vector<std::pair<std::string, Value<Joules>>> energy;
  bool operator==(const Power&) const = default;
};

struct Launch {
  Value<Seconds> eager, stream, graph;  // per kernel; on the CPU `stream` is one pool step
  Value<Seconds> cold;      // more of it, where the kernel's code has left a unit's own caches
  Value<Seconds> uncached;  // the same, where it has left all caches
  bool operator==(const Launch&) const = default;
};

struct ApiLimits {  // where the way in allows less than the chip has
  Value<Count> threads_per_group;
  Value<Bytes> group_memory;  // of one group
  Value<Bytes> allocation;    // of one buffer
  Value<Count> iterations;    // of a loop, before the driver ends it
  bool operator==(const ApiLimits&) const = default;
};

struct WideBarrier {  // a barrier of a group of so many threads, which are several waves
  Value<Count> threads;
  Value<Seconds> time;
  bool operator==(const WideBarrier&) const = default;
};

struct BarrierPoint {  // a barrier among so many groups that run at once, inside one kernel
  Value<Count> groups;
  Value<Seconds> time;
  bool operator==(const BarrierPoint&) const = default;
};

struct Api {
  std::string name;     // cpp, opencl, cuda, ...
  std::string dialect;  // file dialects/<dialect>.yaml
  Launch launch;
  Value<Seconds> group_start;    // per group, on the unit that runs it
  Value<Seconds> wakeup_skew;    // until all units take part in a launch, after the first began
  Value<Seconds> group_barrier;  // of one wave's group
  std::vector<WideBarrier> wide_barrier;
  Value<Seconds> device_barrier;  // between steps of one schedule
  std::vector<BarrierPoint> coresident_barrier;
  Value<Seconds> map;      // a buffer made visible to the host and given back
  Value<Count> slp_lanes;  // of the vectors that its compiler makes of neighbouring operations
  Value<Count>
      merged_loads;  // of neighbouring words of a group's memory, one a step of an unrolled loop
  Value<Count> unrolled;  // turns of a loop whose loads its compiler brings together
  Fact coresident_groups = Fact::unknown;
  ApiLimits limits;
  std::vector<std::string> features;
  std::vector<NamedText> forms;
  bool operator==(const Api&) const = default;
};

struct Profile {
  Profile();  // defined once: what the compiler makes of all these members is large
  Profile(const Profile&);
  Profile(Profile&&) noexcept;
  Profile& operator=(const Profile&);
  Profile& operator=(Profile&&) noexcept;
  ~Profile();
  bool operator==(const Profile&) const;

  std::string name;
  std::string chip_class;  // YAML: class
  Origin source = Origin::assumed;
  std::vector<NamedText> references;
  std::vector<NamedText> identity;  // of the measured values: cpu, os, date, ...
  std::vector<Clock> clocks;
  std::vector<TopologyLevel> topology;
  Execution execution;
  std::vector<Pipe> pipes;
  std::vector<MemoryLevel> memory;
  std::vector<TlbLevel> tlb;
  std::vector<Mover> movers;
  std::vector<AccessPath> paths;
  std::vector<ComputeOp> compute;
  std::vector<Instruction> instructions;
  Power power;
  std::vector<Api> apis;
};

}  // namespace assay::hwdesc
