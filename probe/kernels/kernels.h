// The kernels of the probe as ir::Kernel values, in one list that is built at once.
//
//   sentinel          a dependence chain of integer additions: one core cycle per addition.
//                     Register plus register: some cores fold additions of small constants.
//   tick_<load>_<w>   the same with vector work beside it that does not delay it: the clock under
//                     that load. Some cores run slower while, and only while, wide vectors execute.
//   op_<op>_<w>_<c>   c independent chains of one operation on vectors of w lanes. One chain shows
//                     the latency, the best number of chains the throughput, the first number that
//                     spills the size of the register file.
//   op_<op>+<op>_<w>_<c>   every other chain of another operation: do they use the same pipe?
//   <access>_<w>      read, splat, write, copy, write_stream, copy_stream over a range of blocks;
//                     gather and scatter of parts of each block;
//   short_run_read_<w>, short_run_write_<w>   runs of 256 bytes: one in each row of a range, then
//                     the next one in each row;
//   pages_read_<w>    one vector of each row of kRowBytes;
//   lines_read_<w>    as many vectors of adjacent lines;
//   sets_read_<w>     one vector of each page;
//   sets_write_<w>    a part of a line of each page;
//   ends_write_<w>    runs of kEndBytes with gaps of the same length;
//   neighbours_<n>    scalar multiply-adds of runs of n neighbouring elements;
//   mix_<kind>        independent operations of several kinds: how many issue per cycle;
//   within_<w>, across_<w>   a vector at the beginning, or across the end, of every 128 bytes;
//   rewrite_<w>       reads other memory; reads, writes and reads again its own;
//   around_<w>        reads a range of blocks cyclically, each group from a start of its own. All
//                     groups read all of it, so private caches do not help;
//   chase             p = nodes[p]: latency;
//   chases_<c>        c independent chases: outstanding misses;
//   group_chase, group_read_<w>   a chase and reads of the scratchpad;
//   group_stride_<s>_<w>   loads from it, lanes at a stride of s elements;
//   group_after_sweep_<w>  a chase through it, after other memory was read;
//   alone             the sentinel with the whole scratchpad: one group per unit;
//   nothing           an empty group: the cost of starting one.
//
// Counted kernels end by storing their results, so that the number of executed operations can be
// checked. `op_fma` adds 1 per step to an accumulator that began at 0.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "ir/kernel.h"
#include "runtime/device.h"

namespace assay::probe {

inline constexpr std::array<int, 9> kFmaChains = {1, 4, 8, 12, 15, 16, 24, 30, 32};
inline constexpr std::array<int, 2> kOpChains = {1, 10};
// Additions per iteration: many, since a loop takes issue slots.
inline constexpr int kSentinelSteps = 192;
inline constexpr int kTickSteps = 64;  // the same, beside one of these loads:
inline constexpr std::array<const char*, 3> kTickLoads = {"fma", "read", "write"};
inline constexpr int kChaseSteps = 16;  // hops per iteration
inline constexpr int kSplatsPerBlock = 64,
                     // Elements, so that consecutive splats use different banks.
    kSplatSpacing = 15;
inline constexpr int kGathersPerBlock = 32;
inline constexpr int64_t kDivergentStride = 20,
                         kGatherSpacing = 21;  // elements; no two lanes share a vector load
inline constexpr int64_t kRunBytes = hwdesc::kShortRunBytes, kPageBytes = 4096,
                         kRowBytes = kPageBytes + 64;  // of rows with short runs
inline constexpr int64_t kEndBytes = 1024;             // of runs that end before another unit's
inline constexpr int64_t kGroupBytes = 16 << 10;       // of the scratchpad that is used
inline constexpr std::array<int, 12> kChases = {1,  2,  3,  4,  6,  8,
                                                12, 16, 24, 32, 48, 64};  // independent
inline constexpr int64_t kMostChases = kChases.back();
inline constexpr int64_t kStraddleBytes = 128,
                         kStraddleArea = 8 << 10;  // the longest lines; an area in any first cache
inline constexpr std::array<int64_t, 8> kStrides = {1, 2,  3,  4,
                                                    8, 16, 32, 64};  // elements between lanes
inline constexpr int64_t kStrideLoads = 32;                          // per iteration
inline constexpr int kMixRounds = 32;  // groups of operations per block

struct MixKind {
  const char* name;
  int loads, fmas, integers;  // per round
};
inline constexpr std::array<MixKind, 5> kMixes = {{{"integer", 0, 0, 6},
                                                   {"load_integer", 1, 0, 4},
                                                   {"loads_integer", 2, 0, 4},
                                                   {"load_fma_integer", 1, 1, 3},
                                                   {"loads_fma_integer", 2, 1, 3}}};

// Half of them hide a latency of 4, and 16 registers hold them.
inline constexpr int kPairChains = 14;
inline constexpr std::array<const char*, 2> kCompound = {
    "div",
    "exp"};  // of several instructions, or not pipelined: their rate depends on the vector's width
inline constexpr std::array<const char*, 5> kOverlapPairs = {"fma+add", "fma+mul", "fma+max",
                                                             "add+max", "exp+div"};

// Operations of one iteration of op_<op>_<w>_<chains>.
int op_steps(const std::string& op, int chains, bool threads);

std::string op_name(const std::string& op, int lanes, int chains);
std::string tick_name(const std::string& load, int lanes);
std::string access_name(const std::string& access, int lanes);
// Lanes of a kernel of rows: the widest; of stores to part of a line at most half a line.
int row_lanes(const std::string& access, std::span<const int> lanes);
std::string chases_name(int chains);
// Where lanes are threads and the scratchpad has kGroupBytes.
std::string group_write_name(int lanes);
std::string strided_name(int lanes, int64_t stride);
bool has_stride(int lanes, int64_t stride);  // fits into kGroupBytes
std::string after_sweep_name(int lanes);
std::string rewrite_name(int lanes);
int64_t rewrite_loops(int lanes);  // loop iterations of a block
std::string vectors_name(int lanes, bool across);
int64_t vectors_of(int lanes);   // per iteration of these
int hops_per_chain(int chains);  // per iteration

std::span<const std::string> op_names();      // beside fma: add, mul, ...
std::span<const std::string> access_names();  // read, splat, write, ..., gather, scatter

// What the kernels for a device depend on.
struct KernelShape {
  bool threads = false;     // a group is one wave of threads, a lane each
  std::vector<int> lanes;   // f32 lanes tried, ascending
  int64_t group_bytes = 0;  // largest scratchpad of a group; 0: not known
  bool f64 = true;          // f64 is supported
  // Supported beyond f32 f64 i32 i64; "dot": products of bytes.
  std::vector<std::string> types = {};
  std::vector<ir::MatrixInstruction> matrix = {};  // supported by the device and its dialect
  // Ten thousand statements of straight-line code may be built: some drivers take minutes.
  bool long_code = true;
};
KernelShape shape_of(const runtime::DeviceInfo& info);

// Every kernel, names distinct.
std::vector<ir::Kernel> all_kernels(const KernelShape& shape);

// Parts of the list, one file each.
void add_residency_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_straight_line_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_matrix_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_atomic_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_type_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_compute_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_memory_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_scratch_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);
void add_access_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to);

}  // namespace assay::probe
