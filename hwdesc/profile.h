// A chip as plain structs: what `assay/profile/1` can say. CPU, GPU, mobile GPU and NPU share one
// vocabulary; `chip_class` is for display only. Counts, capacities and rates are per instance of
// `per`, never totals. hwdesc/fields.h gives the YAML key and the meaning of each member. That one
// table drives parsing, printing, paths, overrides, diff and the schema.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hwdesc/value.h"

namespace assay::hwdesc {

using NamedText = std::pair<std::string, std::string>;

struct Clock {
  std::string name;  // e.g. core, memory
  Value<Hertz> max;  // the highest frequency
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
  std::string per;     // topology level that owns one register file; on CPUs `unit`
  Value<Count> count;  // registers of `width` bytes in one file
  Value<Bytes> width;  // 4 B for SIMT files; the vector's size for CPUs
  Value<Count> per_thread_max;
  Value<Latency> spill;  // added to an operation on a spilled value
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

struct Knee {  // footprints over which the hit rate falls: all hits at `from`, none at `to`
  Value<Bytes> from, to;
  bool operator==(const Knee&) const = default;
};

// A lane width the chip can run in, such as AVX2 and AVX-512, or waves of 64 and 128 lanes. Members
// that are given replace those of `execution` and `pipes` in this mode.
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
  Value<Ratio> divergence;  // time of a divergent branch over that of a uniform one
  bool operator==(const Lanes&) const = default;
};

struct Execution {
  Lanes lanes;
  Value<Count> threads_per_group_max;  // YAML: threads_per_group: {max: ...}
  Resident resident;
  Registers registers;
  Issue issue;
  Value<Count> window;            // instructions of a core that wait for earlier ones
  Value<Count> prefetch_streams;  // that prefetchers of a core follow at once
  Knee code;  // size of a straight-line loop body: full speed up to `from`, not at `to`
  bool operator==(const Execution&) const = default;
};

enum class Managed { automatic, explicit_ };  // cache | code copies
enum class WritePolicy { unknown, through, around, allocate };
enum class CacheRole { unknown, inclusive, victim, memory_side };

// One point of bandwidth by active units. Both are fractions of the whole, so that an override of
// the number of units or of the bandwidth keeps the shape.
struct ShapePoint {
  Value<Ratio> units;    // active units / all units
  Value<Ratio> reaches;  // bandwidth they reach / bandwidth of all
  bool operator==(const ShapePoint&) const = default;
};

inline constexpr int kShortRunBytes = 256;  // of the runs of `short_run_read` and `short_run_write`

struct MemoryBandwidth {
  Value<Bandwidth> read, write, copy, triad;
  Value<Bandwidth> per_unit;  // one unit alone, reading
  // Of a private cache, per unit: loads of lines that another unit's cache holds modified (HITM),
  // stores to such lines (RFO), and stores to lines that another unit has read since (BusUpgr).
  Value<Bandwidth> dirty_remote_read, dirty_remote_rfo, upgrade;
  // As read and write, in runs of kShortRunBytes, more than a page from each other: prefetchers
  // need some lines of a run before they keep up.
  Value<Bandwidth> short_run_read, short_run_write;
  Value<Ratio> sharpness;         // p of ((n b1)^-p + B^-p)^(-1/p), n active units
  std::vector<ShapePoint> shape;  // measured points, where that formula does not fit
  bool operator==(const MemoryBandwidth&) const = default;
};

// Bytes in one instance at which 90, 50 and 10 % still hit. A knee is measured by a pointer chase,
// whose latency also holds address translation and hops; a hit curve by the access pattern of
// programs.
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

struct FarSide {  // the distant half of a cache that is split in two
  Value<Latency> latency;
  Value<Bandwidth> bandwidth;
  bool operator==(const FarSide&) const = default;
};

struct Loaded {                      // latency while others use part of the bandwidth
  Value<Latency> half, nine_tenths;  // that part of `bandwidth.read`
  bool operator==(const Loaded&) const = default;
};

struct MemoryLevel {  // near to far in Profile::memory
  std::string name;   // l1, shared, l2, dram, ...
  std::string per;    // topology level, `device` or `host`
  Managed managed = Managed::automatic;
  std::string backed_by;  // the memory that holds its data, when it is not on chip
  std::string link;       // for host memory: pcie, ...
  std::string path;  // the one of `paths` that reaches it (a texture cache); empty: plain loads
  Value<Bytes> capacity;  // nominal, per instance
  Knee knee;
  HitCurve cyclic_scan;  // of the same bytes read in the same order again and again
  // Of lines used once, and of lines used several times, by the bytes filled since. Caches with
  // re-reference prediction (RRIP) retain the latter longer.
  HitCurve single_use_retention, reuse_retention;
  MemoryBandwidth bandwidth;  // per instance
  Value<Latency> latency;     // load to use
  Loaded loaded_latency;
  // Of a cache: time per fill of a set that more lines map to than it has ways. Its fills are
  // serialised. `dirty`: lines written in part, which are written back as well.
  Value<Latency> set_conflict, set_conflict_dirty;
  // Of a private cache: time per end of a written run next to which another unit writes.
  // Prefetchers fetch lines that the other unit is about to write.
  Value<Latency> false_sharing;
  Value<Bandwidth> co_tenant_eviction;  // of a cache shared with co-tenants: their fills
  Value<Bytes> line, transaction;
  Value<Count> ways;
  Value<Count> page_stride_lines;  // of a cache: lines at a stride of 4 KiB that it holds
  Banks banks;
  WritePolicy write = WritePolicy::unknown;
  CacheRole role = CacheRole::unknown;
  Outstanding outstanding;
  Value<Ratio> overlap;  // of a core's transfers from it, the part beside computing
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
  Fact multicast = Fact::unknown;  // one copy fills the scratchpads of several units
  bool operator==(const Mover&) const = default;
};

enum class Border { unknown, zero, clamp };

struct ImageBorder {  // result of a read outside an image
  Border gives = Border::unknown;
  std::string method, note;  // as of a value
  bool operator==(const ImageBorder&) const = default;
};

struct Block {  // texels fetched together
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
  Value<Latency> latency;      // load to use, hitting in its first memory
  Value<Bandwidth> bandwidth;  // all units, hitting in its first memory
  Value<Ratio> divergent;  // latency where each lane reads its own line, over that of one element
  // Bandwidth by texel format: r32f, rgba16f, rgba8.
  std::vector<std::pair<std::string, Value<Bandwidth>>> formats;
  Block block;
  ImageBorder border;
  bool operator==(const AccessPath&) const = default;
};

// Cost of one operation: `slots` lane-slots of `pipe` per element, `latency` until its result.
struct ComputeOp {
  std::string op;     // fma, add, mul, div, sqrt, exp, load, store, ...
  std::string dtype;  // f32, f16, ...
  std::string pipe;
  Value<Count> slots;  // unknown: 1
  Value<Latency> latency;
  std::string mode = "";  // lane mode of the entry; empty: every mode without an entry of its own
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
  Value<Seconds> beside;    // added by one more in a stream, without a barrier before it
  Value<Seconds> cold;      // added where the code was evicted from the unit's own caches
  Value<Seconds> uncached;  // added where it was evicted from all caches
  bool operator==(const Launch&) const = default;
};

struct ApiLimits {  // where the api allows less than the chip
  Value<Count> threads_per_group;
  Value<Bytes> group_memory;  // of one group
  Value<Bytes> allocation;    // of one buffer
  Value<Count> iterations;    // of a loop, before the driver ends it
  bool operator==(const ApiLimits&) const = default;
};

struct WideBarrier {  // a barrier of a group of several waves, by its threads
  Value<Count> threads;
  Value<Seconds> time;
  bool operator==(const WideBarrier&) const = default;
};

struct BarrierPoint {  // a barrier among co-resident groups inside one kernel, by their number
  Value<Count> groups;
  Value<Seconds> time;
  bool operator==(const BarrierPoint&) const = default;
};

struct Api {
  std::string name;     // cpp, opencl, cuda, ...
  std::string dialect;  // file dialects/<dialect>.yaml
  Launch launch;
  Value<Seconds> group_start;    // per group, on the unit that runs it
  Value<Seconds> wakeup_skew;    // from the first unit's start in a launch until all take part
  Value<Seconds> group_barrier;  // of a group that is one wave
  std::vector<WideBarrier> wide_barrier;
  Value<Seconds> device_barrier;  // between steps of a schedule inside one launch
  std::vector<BarrierPoint> coresident_barrier;
  Value<Seconds> map;  // mapping a small buffer for the host and unmapping it
  // What its compiler does to kernels; 1: nothing.
  Value<Count> slp_lanes;     // lanes of vectors made of neighbouring operations (SLP)
  Value<Count> merged_loads;  // neighbouring scratchpad loads of unrolled steps made one
  Value<Count> unrolled;      // iterations of a short loop whose loads are grouped
  Fact coresident_groups = Fact::unknown;
  ApiLimits limits;
  std::vector<std::string> features;
  std::vector<NamedText> forms;
  bool operator==(const Api&) const = default;
};

struct Profile {
  Profile();  // defined in profile.cpp: the generated code of so many members is large
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
