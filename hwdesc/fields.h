// The one typed field table of `assay/profile/1`, with fields_memory.h: for every struct its YAML
// keys in print order, a sentence each, and whether the field is required. The unit follows from
// the C++ type. Parser, printer, paths, overrides, diff, schema and reference page are visitors
// over it.
//
// A visitor V has   v(key, member, doc, need)   for every member, and
//                   v.group(key, doc, fill)     for a YAML map without a struct; fill(w) visits it.
#pragma once

#include "hwdesc/fields_memory.h"
#include "hwdesc/need.h"

namespace assay::hwdesc {

template <class V>
void fields(V& v, Is<Clock> auto& x) {
  v("max", x.max, "the highest frequency", Need::optional);
  v("sustained", x.sustained, "frequency under a kind of load: all, mma, avx512, ...",
    Need::optional);
}

template <class V>
void fields(V& v, Is<TopologyLevel> auto& x) {
  v("name", x.name, "a free name; `unit` is mandatory, `device` and `host` are implied",
    Need::required);
  v("count", x.count, "number in each parent", Need::optional);
}

template <class V>
void fields(V& v, Is<Granule> auto& x) {
  v("regs", x.regs, "registers are allocated in multiples of this", Need::optional);
  v("per", x.per, "wave, thread or group", Need::optional);
}

template <class V>
void fields(V& v, Is<Registers> auto& x) {
  v("per", x.per, "topology level that owns one register file", Need::required);
  v("count", x.count, "registers of `width` in one file", Need::optional);
  v("width", x.width, "4 B for files of threads, the vector size for CPUs", Need::optional);
  v("per_thread_max", x.per_thread_max, "most registers of one thread", Need::optional);
  v("spill", x.spill, "added to an operation on a spilled value, by its store and load",
    Need::optional);
  v("granule", x.granule, "allocation granularity", Need::optional);
}

template <class V>
void fields(V& v, Is<Resident> auto& x) {
  v("per", x.per, "topology level that holds them", Need::required);
  v("threads", x.threads, "most resident threads", Need::optional);
  v("groups", x.groups, "most resident groups", Need::optional);
  v("waves", x.waves, "most resident waves", Need::optional);
}

template <class V>
void fields(V& v, Is<Issue> auto& x) {
  v("per", x.per, "topology level that has one issuer", Need::required);
  v("rate", x.rate, "issue slots: wave or vector instructions per tick", Need::optional);
}

template <class V>
void fields(V& v, Is<Pipe> auto& x) {
  v("name", x.name, "a free name; usual: fma, sfu, lsu, load, store", Need::required);
  v("per", x.per, "topology level that has one", Need::required);
  v("rate", x.rate, "lane-slots (elements of 4 bytes) per tick", Need::optional);
}

template <class V>
void fields(V& v, Is<LaneMode> auto& x) {
  v("name", x.name, "avx512, wave64, ...; required where there are several modes", Need::optional);
  v("width", x.width, "32-bit lanes that issue together", Need::optional);
  v.group("threads_per_group", "limits of one group in this mode", [&](auto& w) {
    w("max", x.threads_per_group_max, "most threads in one group", Need::optional);
  });
  v("resident", x.resident, "residency in this mode, where it differs", Need::optional);
  v("registers", x.registers, "the register file in this mode, where it differs", Need::optional);
  v("issue", x.issue, "issue rate in this mode, where it differs", Need::optional);
  v("pipes", x.pipes, "pipes with another rate in this mode", Need::optional);
}

template <class V>
void fields(V& v, Is<Lanes> auto& x) {
  v("style", x.style, "simt: lanes are threads; simd: explicit vectors", Need::shown);
  v("modes", x.modes, "the lane widths the chip can run in", Need::optional);
  v("divergence", x.divergence,
    "time of a branch on which the lanes of a wave diverge, over that of a uniform one",
    Need::optional);
}

template <class V>
void fields(V& v, Is<Execution> auto& x) {
  v("lanes", x.lanes, "how lanes are grouped and programmed", Need::optional);
  v.group("threads_per_group", "limits of one group", [&](auto& w) {
    w("max", x.threads_per_group_max, "most threads in one group", Need::optional);
  });
  v("resident", x.resident, "occupancy: what one level holds at once", Need::optional);
  v("registers", x.registers, "the register file", Need::optional);
  v("issue", x.issue, "instructions issued per tick", Need::optional);
  v("window", x.window, "of a core: instructions that may wait for earlier ones (reorder buffer)",
    Need::optional);
  v("prefetch_streams", x.prefetch_streams,
    "of a core: streams that its prefetchers follow at once", Need::optional);
  v("code", x.code,
    "size of a straight-line loop body: `from` still runs at full speed, `to` does not",
    Need::optional);
}

template <class V>
void fields(V& v, Is<ComputeOp> auto& x) {
  v("op", x.op,
    "fma, add, mul, div, sqrt, exp, ...; convert_load, convert_splat, convert_store: what a load, "
    "a broadcast load or a store converts, from or to f32; with _i32 from or to i32",
    Need::required);
  v("dtype", x.dtype, "element type: f32, f16, ...", Need::required);
  v("mode", x.mode, "lane mode of this entry; else every mode without an entry of its own",
    Need::optional);
  v("pipe", x.pipe, "the pipe it issues to", Need::required);
  v("slots", x.slots, "lane-slots per element; unknown counts as 1", Need::optional);
  v("latency", x.latency, "of a dependence chain: until its result can be used", Need::optional);
}

template <class V>
void fields(V& v, Is<Instruction> auto& x) {
  v("use", x.use, "which matrix instruction, a name in isa/", Need::required);
  v("per", x.per, "topology level that has one", Need::required);
  v("rate", x.rate, "multiply-adds per tick", Need::optional);
  v("latency", x.latency, "until its result can be used", Need::optional);
}

template <class V>
void fields(V& v, Is<Power> auto& x) {
  v("cap", x.cap, "highest power the chip may draw", Need::optional);
  v("idle", x.idle, "power drawn without work", Need::optional);
  v("energy", x.energy, "per event: op.dtype, or per byte: a memory's name", Need::optional);
}

template <class V>
void fields(V& v, Is<Launch> auto& x) {
  v("eager", x.eager, "one kernel, waited for", Need::optional);
  v("stream", x.stream, "one more kernel in a queue; on the CPU one step of the pool",
    Need::optional);
  v("graph", x.graph, "one more kernel in a recorded graph", Need::optional);
  v("beside", x.beside, "one more kernel in a stream without a barrier before it", Need::optional);
  v("cold", x.cold,
    "added where the code was evicted from the caches of the unit since its last run",
    Need::optional);
  v("uncached", x.uncached, "added where the code was evicted from all caches", Need::optional);
}

template <class V>
void fields(V& v, Is<ApiLimits> auto& x) {
  v("threads_per_group", x.threads_per_group, "most threads in one group", Need::optional);
  v("group_memory", x.group_memory, "most scratchpad of one group", Need::optional);
  v("allocation", x.allocation, "largest single buffer", Need::optional);
  v("iterations", x.iterations, "of one loop, after which the driver ends it without an error",
    Need::optional);
}

template <class V>
void fields(V& v, Is<WideBarrier> auto& x) {
  v("threads", x.threads, "threads of the group", Need::required);
  v("time", x.time, "from one barrier to the next, with nothing between", Need::optional);
}

template <class V>
void fields(V& v, Is<BarrierPoint> auto& x) {
  v("groups", x.groups, "groups of one wave that run at once", Need::required);
  v("time", x.time, "from one of their barriers to the next, with nothing between", Need::optional);
}

template <class V>
void fields(V& v, Is<Api> auto& x) {
  v("dialect", x.dialect, "kernel language, a file of dialects/", Need::required);
  v("launch", x.launch, "time per kernel by mode", Need::optional);
  v("group_start", x.group_start, "time per group on the unit that runs it", Need::optional);
  v("wakeup_skew", x.wakeup_skew,
    "from the start of a launch on the first unit until all units take part", Need::optional);
  v("group_barrier", x.group_barrier, "of a group that is one wave", Need::optional);
  v("wide_barrier", x.wide_barrier,
    "of a group of several waves, by its threads; interpolated linearly", Need::optional);
  v("device_barrier", x.device_barrier,
    "between steps of a schedule inside one launch; unknown: each step is a launch",
    Need::optional);
  v("coresident_barrier", x.coresident_barrier,
    "among groups inside one kernel, by their number: schedules of groups that stay",
    Need::optional);
  v("map", x.map, "mapping a small buffer for the host and unmapping it", Need::optional);
  v("slp_lanes", x.slp_lanes,
    "lanes of the vectors that its compiler makes of neighbouring operations (SLP); 1: none",
    Need::optional);
  v("merged_loads", x.merged_loads,
    "neighbouring scratchpad loads that its compiler merges across unrolled steps; 1: none",
    Need::optional);
  v("unrolled", x.unrolled,
    "iterations of a short loop that its compiler unrolls to group loads; 1: none", Need::optional);
  v("coresident_groups", x.coresident_groups, "whether all groups up to residency run at once",
    Need::optional);
  v("limits", x.limits, "where this api allows less than the chip", Need::optional);
  v("features", x.features, "what `when:` of the dialect may ask for", Need::optional);
  v("forms", x.forms, "fastest form of an operation in its dialect (fma.f16: mad); else the first",
    Need::optional);
}

template <class V>
void fields(V& v, Is<Profile> auto& x) {
  v("name", x.name, "of this profile; lower case, words joined by -", Need::required);
  v("class", x.chip_class, "cpu, gpu, mobile_gpu, npu; for display only", Need::optional);
  v("source", x.source, "origin of every value that does not name its own", Need::shown);
  v("references", x.references, "what `ref` of a value means", Need::optional);
  v("identity", x.identity, "where and when values were measured", Need::optional);
  v("clocks", x.clocks, "by name; `core` is needed to predict", Need::optional);
  v("topology", x.topology, "nesting from outside in", Need::optional);
  v("execution", x.execution, "lanes, registers, residency, issue", Need::optional);
  v("pipes", x.pipes, "what executes operations", Need::optional);
  v("memory", x.memory, "near to far", Need::optional);
  v("tlb", x.tlb, "address translation", Need::optional);
  v("movers", x.movers, "asynchronous copy engines", Need::optional);
  v("paths", x.paths, "other ways to read memory", Need::optional);
  v("compute", x.compute, "what each operation costs", Need::optional);
  v("instructions", x.instructions, "matrix instructions", Need::optional);
  v("power", x.power, "power and energy", Need::optional);
  v("apis", x.apis, "ways to program the chip", Need::optional);
}

}  // namespace assay::hwdesc
