// Defaults of a simulated chip for values that its profile does not have, with reasons.
#pragma once

#include <cstdint>

namespace assay::runtime::simulated::defaults {

inline constexpr double kClock = 1e9;  // ticks of a nanosecond
inline constexpr double kMemoryBytes =
    4.0 * (int64_t{1} << 30);                       // at least as much as in phones and laptops
inline constexpr double kLine = 64;                 // most processors, and many GPUs' transactions
inline constexpr int kWays = 8, kWaysOfLarge = 16;  // up to and above kLargeCache
inline constexpr double kLargeCache = 256 << 10;
inline constexpr double kNearLatency[] = {4, 30};  // ticks to a first cache: cores, SIMT units
inline constexpr double kNextLatency = 2.5;        // times the previous cache's
inline constexpr double kMemoryLatency[] = {100e-9, 400e-9};  // cores, SIMT units
inline constexpr double kScratchLatency = 25;  // ticks; published measurements of GPUs: 20 to 40
inline constexpr double kLinesPerTick = 1;     // of a level of unknown bandwidth, per port
inline constexpr int kOutstanding = 16;        // outstanding misses of a core
inline constexpr double kNonTemporalStores =
    2;                                    // times as fast as plain ones, which write-allocate
inline constexpr double kFmaLatency = 4;  // ticks
inline constexpr double kIntegerLatency =
    1;  // ticks, on cores; SIMT units use the multiply-add pipe
inline constexpr double kSlotsOf[] = {
    8, 10, 16};  // lane-slots of div, sqrt and functions on the multiply-add pipe
inline constexpr double kLatencyOf[] = {14, 18, 30};  // ticks of the same
inline constexpr double kPipeRate = 16;               // lanes per tick of a pipe without a rate
inline constexpr double kIssue[] = {
    4, 1};                           // instructions per tick: cores, each partition of SIMT units
inline constexpr int kWindow = 512;  // reorder window of a core, instructions
inline constexpr int kWaveWindow = 32;     // operations in flight per wave: scoreboards are small
inline constexpr int kLoopSlots = 2;       // a counter and a jump
inline constexpr int kWavesResident = 16;  // per unit, where neither threads nor waves are limited
inline constexpr int kOwnRegisters = 8;    // of a thread, for addresses and counters
inline constexpr int kCodeBytes[] = {4, 8};  // of an instruction
inline constexpr double kAtomic =
    18;  // ticks: cores, serialised; SIMT units: one per tick, in the first shared level
inline constexpr double kBarrier = 8;               // ticks
inline constexpr double kConstantBytes = 64 << 10;  // of constants of one kernel
inline constexpr double kSampler = 0.36;  // sampler's share of a first-cache texel's latency,
                                          // before the lookup (Adreno 640: 160 - 113 of 130 ns)
inline constexpr double kImageExtent = 16384;  // texels of a row, rows
inline constexpr double kGroupStart = 0;       // seconds: hardware schedules groups
inline constexpr double kLaunch = 5e-6;        // seconds per launch of a stream
inline constexpr double kEager = 3;            // times a launch of a stream
inline constexpr int kWidth[] = {4, 32};  // lanes, where no mode is known: SSE and NEON; most GPUs

}  // namespace assay::runtime::simulated::defaults
