// All numbers that the model of a core has of its own, and what stands for a field that a profile
// does not know. A literal elsewhere is 0, 1, 2, 1/2 or a power of ten. Instructions of functions
// are counted in lower/count.h.
//
// No number was fitted; which terms there are was chosen by the programs named below
// (docs/decisions/0016). Mean error in % with each number 20 % larger, and divided by 1.2.
//
// clang-format off
// | of a core: the 700 programs of tests/data/measured/zen4.journal, 16.3 % as they stand        |
// | kOverlapExponent   | 15.8 | 17.7 | instructions of exp  | 16.3 | 16.3 |
// | kConflictMissEnd   | 16.3 | 16.5 | of tanh              | 16.3 | 16.3 |
// | kFalselySharedPart | 16.6 | 16.1 | of erf               | 15.7 | 16.8 |
// | kWindowPerSlot     | 16.2 | 16.5 | to locate an element | 16.3 | 16.3 |
// | kPrefetchStreams   | 16.3 | 16.3 | of an iteration      | 16.5 | 16.2 |
// clang-format on
// None of these programs has a tanh, a power or located elements, and kReusedPart acts in plans.
#pragma once

namespace assay::model {

// Numbers of the model.

// Exponent of the p-norm that joins times which overlap: between the sum (1) and the longest
// (infinity), since overlap is never perfect near a tie. 3 is the field's usual value.
inline constexpr double kOverlapExponent = 3;

// Conflict misses end at so many times the capacity: the victim of a full set is not always its
// oldest line.
inline constexpr double kConflictMissEnd = 2;

// The part of what a program produced that a later one finds as reused data, and of false sharing
// that occurs. Nothing is known of either: whether a line is touched again before its eviction, and
// whether units reach the ends of their runs at the same time.
inline constexpr double kReusedPart = 0.5, kFalselySharedPart = 0.5;

// The part of lines that a hit curve still misses at `from`, and still hits at `to`: the definition
// of those fields.
inline constexpr double kTail = 0.1;

// Bytes of the runs with which a profile's `false_sharing` is measured: the definition of the
// field.
inline constexpr double kFalseSharingRunBytes = 1024;

// Threads of a SIMT unit. Instructions beside those that compute, load and store, as compilers emit
// them: of a loop's step (counter, jump, addresses of the next tiles), and of a thread's start and
// end.
inline constexpr double kLoopInstructions = 8, kThreadInstructions = 24;
// Registers of a thread beside its accumulators and operands: addresses, indices, the loop's state.
// nvcc's kernels of products have 20 to 24.
inline constexpr double kThreadRegisters = 24;

// What stands for an unknown field. Each use is listed with the estimate.
namespace defaults {

// Half of the interval of a default, over its value.
inline constexpr double kSpread = 0.5;

// Cores. Instructions in the reorder window for each issue slot of a cycle: 224 entries of 4 slots
// (Skylake), 224 of 5 to 6 (Zen 2), 320 of 6 (Zen 4), 448 of 8 (Zen 5), 512 of 6 (Golden Cove).
// Source: vendors' optimisation manuals. A core of up to 2 slots executes in order (Cortex-A53,
// A55) and goes on until a result is needed: a pipeline of 8 stages.
inline constexpr double kWindowPerSlot = 56, kInOrderWindowPerSlot = 8, kInOrderSlots = 2;
// Streams that prefetchers follow: 16 to 32 by vendors' manuals.
inline constexpr double kPrefetchStreams = 16;
// Ways of a cache: 8 to 16.
inline constexpr double kWays = 8;
// Fill buffers: Intel had 10 for ten years, newer cores have up to 16.
inline constexpr double kOutstandingMisses = 10;
// Issue slots of a cycle, and cycles of a multiply-add.
inline constexpr double kIssueSlots = 4, kFmaCycles = 4;
// Time of a division over that of a multiply-add: 16 cycles of a 512-bit vector, by uops.info.
inline constexpr double kDivideTime = 16;
inline constexpr double kVectorLanes = 4, kVectorRegisters = 16;  // SSE, NEON: 128 bits
inline constexpr double kFirstCacheBytes = 32768;
// The end of a knee over its begin; the same of a cyclic scan.
inline constexpr double kKneeWidth = 1.5, kScanWidth = 2;
// Sharpness of the bandwidth law: the memory's limit, or what its users reach.
inline constexpr double kSharpness = 32;
// Part of a shared memory's bandwidth that one unit reaches, in shares of it.
inline constexpr double kUnitShares = 4;
inline constexpr double kCoreLaunch = 1e-6, kGroupStart = 50e-9;  // s

// SIMT units, as the GPUs of the library. Latencies: their scratchpads take 23 to 48 ticks, first
// caches 30 to 125, second ones 211 to 266, far memories 317 to 405 ns.
inline constexpr double kWaveLanes = 32, kWaveRegisters = 512, kGroups = 16, kWaves = 32;
inline constexpr double kPartitions = 4, kWaveLaunch = 3e-6;
inline constexpr double kScratchpadTicks = 25, kFirstTicks = 32, kFurtherTicks = 220, kFar = 400e-9;

}  // namespace defaults

}  // namespace assay::model
