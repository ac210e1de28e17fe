// The numbers of a simulation, from a profile: no value is unknown, and times are ticks of the core
// clock plus seconds.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "ir/kernel.h"
#include "runtime/virtual/effects.h"

namespace assay::runtime::simulated {

struct Code;

// A duration: ticks of the core plus seconds that do not scale with its clock.
struct Span {
  double ticks = 0, seconds = 0;
  double at(double hz) const { return ticks + seconds * hz; }
};

// Bytes, or elements, per tick and per second; one of them is 0.
struct Speed {
  double per_tick = 0, per_second = 0;
  double at(double hz) const { return per_tick + per_second / hz; }
};

struct OpCost {
  int pipe = -1;       // -1: none, only an issue slot
  double slots = 1;    // lane-slots per element
  double latency = 1;  // ticks
};

inline constexpr size_t kOps = static_cast<size_t>(ir::ValueOp::dot) + 1;

struct TypedCost {
  ir::ValueOp op;
  ir::DType dtype;
  OpCost cost;  // slots per element, as the profile counts them
};

struct ConversionCost {  // of a load or store, beside the access itself
  std::string access;    // load, splat, store
  ir::DType stored = ir::DType::f32, computed = ir::DType::f32;
  int pipe = -1;
  double slots = 0;  // per element
};

struct MatrixCost {
  std::string name;    // of the instruction
  double rate = 1;     // multiply-adds per tick of one partition
  double latency = 1;  // ticks
};

struct Mode {  // a width of vectors, or of waves
  int width = 1;
  double issue = 1;                         // instructions per tick, of a partition
  std::vector<double> instruction;          // ticks that a slot of every lane occupies each pipe
  std::array<OpCost, kOps> ops{};           // of f32
  std::vector<TypedCost> typed;             // of other types, if the profile has them
  std::vector<ConversionCost> conversions;  // that take time
  double gather_slots = 0,
         scatter_slots = 0;  // per lane of a gather or scatter; 0: an instruction each
};

struct Level {
  std::string name;
  int ports = 1;           // partitions that share one instance
  bool unit_wide = false;  // an instance belongs to one unit, or to a part of it
  double capacity = 0;
  int line = 64, sector = 64, ways = 8;
  Span latency;
  Speed read, write, per_unit;
  double copy_share = 0;  // overlap of reads and writes: 0 full, 1 none (half-duplex)
  double turnaround = 0;  // bus turnaround between reads and writes, as a share of their time
  double sharpness = 0;   // exponent of a p-norm; 0: unknown
  std::vector<std::pair<double, double>> shape;  // units, bandwidth, as fractions
  int outstanding = 0;    // outstanding misses to it or through it, per unit; 0: no limit
  bool allocates = true;  // write-allocate
  bool around = false;    // write-around: stores also invalidate the line
  bool victim = false;
  bool memory = false;  // the last level, no cache
};

// Bandwidth of `active` units, as a share of what all units reach.
double share_of(const Level& l, int active, int units, double hz);

struct Path {  // an access path besides plain loads
  ir::Space space = ir::Space::constant;
  std::vector<Level> own;  // its caches, near to far
  size_t joins = 0;        // level of the chip behind its own caches
  double line_ticks = 0;   // least ticks per line
  double bytes = 0;        // of one argument
  double max_width = 0, max_height = 0;
  int block_width = 1, block_height = 1;
  hwdesc::Border border = hwdesc::Border::unknown;
};

struct Scratch {  // group memory
  bool exists = false;
  double capacity = 0;
  Span latency;
  Speed read, write;
  int banks = 0, bank_bytes = 4;
  bool in_memory = false;  // in global memory, behind the caches
};

struct Atomic {  // atomic additions
  int pipe = -1;
  double slots = 1;     // per element
  double interval = 1;  // ticks between two at one address
  Span latency;
};

struct Translation {
  double page = 4096;
  int entries = 64;
  Span miss;
};

struct Chip {
  std::string name, api, dialect;
  std::vector<hwdesc::NamedText> forms;  // that its compiler fuses into one instruction
                                         // ("fma.f16": mad); any other becomes two
  int merged_loads = 1;  // neighbouring words of group memory, one per step of an unrolled loop,
                         // that its compiler loads at once
  double clock = 1e9;
  bool threads = false;  // lanes are threads
  int units = 1, partitions = 1;
  std::vector<Mode> modes;         // ascending width
  std::vector<std::string> types;  // supported beyond f32 f64 i32 i64; and "dot"
  std::vector<MatrixCost> matrix;  // matrix instructions
  int matrix_pipe = -1;            // they share one
  std::vector<std::string> pipes;
  std::vector<bool> pipe_per_partition;
  int registers = 0;             // of the unit's file; 0: unknown
  int registers_max = 0;         // of one thread; 0: no limit
  int granule = 1;               // of register allocation
  bool tells_registers = false;  // its compiler reports a kernel's registers
  int register_bytes = 0;
  double code_bytes = 0;      // of code that runs at full speed; 0: no limit
  int waves = 16;             // resident per unit
  int groups = 0;             // resident per unit; 0: no limit of their own
  int group_threads = 0;      // 0: no limit
  std::vector<Level> levels;  // caches near to far, then the memory
  std::vector<Path> paths;
  Scratch scratch;
  Atomic atomic, own_atomic;  // in memory, and in group memory
  std::vector<Translation> translation;
  double memory_bytes = 0;
  std::vector<std::pair<double, double>>
      group_barriers;  // threads of a group, seconds; ascending. Empty: unknown
  double graph = 0;    // seconds of a recorded launch; 0: it can not record
  double launch = 0, eager = 0, barrier = 0, group_start = 0, wakeup_skew = 0;  // seconds
  std::vector<std::pair<double, double>>
      resident_barriers;     // groups that stay, seconds of a barrier of theirs; ascending
  double beside_launch = 0;  // seconds of one more without a barrier before it; 0: unknown
  bool queues = false;       // groups of a schedule all run at once, with a known barrier
  bool in_sequence = false;  // one kernel may execute many launches, with `barrier` between them
  double allocation = 0;     // bytes of the largest buffer
  double group_memory = 0;   // bytes, limit of one group; 0: all
};

// Unknown values get those of defaults.h. Errors: a profile without memory; an unknown victim
// cache.
Result<Chip> make_chip(const hwdesc::Profile& profile, const Effects& effects);

// What a neighbour leaves of it.
Chip beside(Chip chip, const Neighbour& neighbour);

// Seconds of a barrier in a schedule, with so many groups that stay. Pre: the chip has queues.
double barrier_of(const Chip& chip, double groups);

// nullptr: the chip has no path of this space, and plain loads read it.
const Path* find_path(const Chip& chip, ir::Space space);

// Registers of a thread, and how many values are spilled.
int registers_of(const Chip& chip, const Code& code);
int spilled_of(const Chip& chip, const Code& code);

// The narrowest mode that holds this many lanes, else the widest.
const Mode& mode_for(const Chip& chip, int lanes);

// Waves of a group; 1 where lanes are vectors.
int waves_of(const Chip& chip, const Code& code);

}  // namespace assay::runtime::simulated
