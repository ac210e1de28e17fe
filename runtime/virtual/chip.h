// A profile as the numbers a simulation runs on: nothing unknown is left, times are ticks of the
// core clock and seconds.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "ir/kernel.h"
#include "runtime/virtual/effects.h"

namespace assay::runtime::simulated {

struct Code;

// Ticks of the core and time that passes beside it.
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
  int pipe = -1;       // -1: none, it only issues
  double slots = 1;    // lane-slots per element
  double latency = 1;  // ticks
};

inline constexpr size_t kOps = static_cast<size_t>(ir::ValueOp::dot) + 1;

struct TypedCost {
  ir::ValueOp op;
  ir::DType dtype;
  OpCost cost;  // slots per element, as the profile counts them
};

struct MatrixCost {
  std::string name;    // of the instruction
  double rate = 1;     // multiply-adds per tick of one of what issues
  double latency = 1;  // ticks
};

struct Mode {  // a width of vectors, or of waves
  int width = 1;
  double issue = 1;                 // instructions per tick, of a partition
  std::vector<double> instruction;  // ticks a pipe is busy with a slot of every lane
  std::array<OpCost, kOps> ops{};   // of f32
  std::vector<TypedCost> typed;     // of other types, where the profile knows them
  double gather_slots = 0,
         scatter_slots = 0;  // per lane that lies apart; 0: a whole instruction each
};

struct Level {
  std::string name;
  int ports = 1;           // of one instance: partitions whose accesses meet in it
  bool unit_wide = false;  // an instance belongs to one unit, or to a part of one
  double capacity = 0;
  int line = 64, sector = 64, ways = 8;
  Span latency;
  Speed read, write, per_unit;
  double copy_share = 0;  // what a transfer in one direction takes from those in the other: 0
                          // nothing, 1 all of its time
  double turn =
      0;  // what turning from reading to writing and back costs besides, as a part of both
  double sharpness = 0;                          // 0: no such law
  std::vector<std::pair<double, double>> shape;  // units, bandwidth, as fractions
  int outstanding = 0;    // lines under way to it, or through it, at once, per unit; 0: no limit
  bool allocates = true;  // a store that misses brings the line in
  bool around = false;    // and what it holds of such a line goes
  bool victim = false;
  bool memory = false;  // where everything lies
};

struct Path {  // another way to read memory
  ir::Space space = ir::Space::constant;
  std::vector<Level> own;  // its caches, near to far
  size_t joins = 0;        // of the chip's levels: where it goes on
  double turn = 0;         // ticks that a line takes at least
  double bytes = 0;        // of one argument
  double max_width = 0, max_height = 0;
  int block_width = 1, block_height = 1;
  hwdesc::Border border = hwdesc::Border::unknown;
};

struct Scratch {  // memory of a group's own
  bool exists = false;
  double capacity = 0;
  Span latency;
  Speed read, write;
  int banks = 0, bank_bytes = 4;
  bool in_memory = false;  // not on the chip: it lies in far memory, behind the caches
};

struct Atomic {  // additions in one step
  int pipe = -1;
  double slots = 1;  // per element
  double turn = 1;   // ticks between two at one address
  Span latency;
};

struct Translation {
  double page = 4096;
  int entries = 64;
  Span miss;
};

struct Chip {
  std::string name, api, dialect;
  std::vector<hwdesc::NamedText> forms;  // of operations that its compiler makes one instruction of
                                         // ("fma.f16": mad); of any other it makes two
  int merged_loads = 1;  // of neighbouring words of a group's memory, one a step of an unrolled
                         // loop, that its compiler makes one of
  double clock = 1e9;
  bool threads = false;  // lanes are threads
  int units = 1, partitions = 1;
  std::vector<Mode> modes;         // ascending width
  std::vector<std::string> types;  // beyond f32 f64 i32 i64, that the profile knows; and "dot"
  std::vector<MatrixCost> matrix;  // matrix instructions
  int matrix_pipe = -1;            // they share one
  std::vector<std::string> pipes;
  std::vector<bool> pipe_per_partition;
  int registers = 0;             // of the unit's file; 0: not known
  int registers_max = 0;         // of one thread; 0: no limit
  int granule = 1;               // registers are given out in multiples
  bool tells_registers = false;  // its compiler says how many a kernel takes
  int register_bytes = 0;
  double code_bytes = 0;      // of straight-line code that runs at full speed; 0: any
  int waves = 16;             // resident per unit
  int groups = 0;             // resident per unit; 0: no limit of their own
  int group_threads = 0;      // 0: no limit
  std::vector<Level> levels;  // caches near to far, then the memory
  std::vector<Path> paths;
  Scratch scratch;
  Atomic atomic, own_atomic;  // in memory, and in that of a group's own
  std::vector<Translation> translation;
  double memory_bytes = 0;
  std::vector<std::pair<double, double>>
      group_barriers;  // threads of a group, seconds; ascending. Empty: not known
  double graph = 0;    // seconds of a recorded launch; 0: nothing records them
  double launch = 0, eager = 0, barrier = 0, group_start = 0, wakeup_skew = 0;  // seconds
  bool in_sequence = false;  // launches may be steps of one kernel, `barrier` apart
  double allocation = 0;     // bytes of the largest buffer
  double group_memory = 0;   // bytes that one group may have; 0: all there is
};

// Every value that is not known is one of defaults.h. Errors: a profile without any memory, or a
// victim cache that there is not.
Result<Chip> make_chip(const hwdesc::Profile& profile, const Effects& effects);

// nullptr: arguments of this space lie in no memory of their own here.
const Path* find_path(const Chip& chip, ir::Space space);

// Registers of a thread, and those that found no room.
int registers_of(const Chip& chip, const Code& code);
int spilled_of(const Chip& chip, const Code& code);

// The mode that an operation on so many lanes runs in, and how many instructions it is.
const Mode& mode_for(const Chip& chip, int lanes);

// Of a group, which go in step; 1 where lanes are vectors.
int waves_of(const Chip& chip, const Code& code);

}  // namespace assay::runtime::simulated
