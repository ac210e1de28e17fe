// The one typed field table of `assay/profile/1`: for every struct its YAML keys in print order, a
// sentence each, and whether the field is required. The unit follows from the C++ type. Parser,
// printer, paths, overrides, diff, schema and reference page are visitors over it.
//
// A visitor V has   v(key, member, doc, need)   for every member, and
//                   v.group(key, doc, fill)     for a YAML map without a struct; fill(w) visits it.
#pragma once

#include "hwdesc/kinds.h"

namespace assay::hwdesc {

enum class Need {
  optional,
  required,  // an entry without it is an error
  shown,     // has a default, but is always printed
};

template <class T, class S>
concept Is = std::same_as<std::remove_const_t<T>, S>;

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
void fields(V& v, Is<ShapePoint> auto& x) {
  v("units", x.units, "active units as a fraction of all", Need::required);
  v("reaches", x.reaches, "bandwidth they reach as a fraction of `read`", Need::required);
}

template <class V>
void fields(V& v, Is<MemoryBandwidth> auto& x) {
  v("read", x.read, "all units that share it, reading", Need::optional);
  v("write", x.write, "all units that share it, writing", Need::optional);
  v("copy", x.copy, "all of them copying, bytes read plus bytes written", Need::optional);
  v("triad", x.triad, "all of them reading two streams and writing a third, bytes of all three",
    Need::optional);
  v("per_unit", x.per_unit, "one unit alone, reading", Need::optional);
  v("dirty_remote_read", x.dirty_remote_read,
    "of a private cache: each unit reading lines that another one holds modified (HITM)",
    Need::optional);
  v("dirty_remote_rfo", x.dirty_remote_rfo,
    "of a private cache: each unit writing lines that another one holds modified", Need::optional);
  v("upgrade", x.upgrade,
    "of a private cache: each unit writing lines that another one has read since (BusUpgr)",
    Need::optional);
  v("short_run_read", x.short_run_read,
    "all of them reading runs of 256 bytes, more than a page from each other", Need::optional);
  v("short_run_write", x.short_run_write, "all of them writing such runs", Need::optional);
  v("sharpness", x.sharpness, "p of ((n b1)^-p + B^-p)^(-1/p) for n active units", Need::optional);
  v("shape", x.shape,
    "bandwidth by active units, both as fractions, where that formula does not fit",
    Need::optional);
}

template <class V>
void fields(V& v, Is<Knee> auto& x) {
  v("from", x.from, "largest footprint that still hits", Need::optional);
  v("to", x.to, "smallest footprint that always misses", Need::optional);
}

template <class V>
void fields(V& v, Is<HitCurve> auto& x) {
  v("from", x.from, "bytes at which 90 % still hit", Need::optional);
  v("middle", x.middle, "bytes at which 50 % still hit", Need::optional);
  v("to", x.to, "bytes at which 10 % still hit", Need::optional);
}

template <class V>
void fields(V& v, Is<Banks> auto& x) {
  v("count", x.count, "banks of one instance", Need::optional);
  v("width", x.width, "bytes of one bank per tick", Need::optional);
}

template <class V>
void fields(V& v, Is<Outstanding> auto& x) {
  v("per", x.per, "topology level that has one queue of misses", Need::required);
  v("lines", x.lines, "most outstanding lines of one such level", Need::optional);
}

template <class V>
void fields(V& v, Is<FarSide> auto& x) {
  v("latency", x.latency, "load to use from the distant half", Need::optional);
  v("bandwidth", x.bandwidth, "reading from the distant half", Need::optional);
}

template <class V>
void fields(V& v, Is<Loaded> auto& x) {
  v("half", x.half, "while others read half of `bandwidth.read`", Need::optional);
  v("nine_tenths", x.nine_tenths, "while others read nine tenths of it", Need::optional);
}

template <class V>
void fields(V& v, Is<MemoryLevel> auto& x) {
  v("name", x.name, "a free name: l1, shared, l2, dram, ...", Need::required);
  v("per", x.per, "topology level that has one, `device` or `host`", Need::required);
  v("managed", x.managed, "automatic: a cache; explicit: code copies", Need::shown);
  v("backed_by", x.backed_by, "the memory that holds its data, when it is not on chip",
    Need::optional);
  v("link", x.link, "how host memory is reached: pcie, ...", Need::optional);
  v("path", x.path,
    "the one of `paths` that reaches it (a texture cache); without it, plain loads do",
    Need::optional);
  v("capacity", x.capacity, "nominal size of one instance", Need::optional);
  v("knee", x.knee, "the range of footprints over which the hit rate falls", Need::optional);
  v("cyclic_scan", x.cyclic_scan,
    "hit curve of reading the same bytes in the same order again and again; else the knee",
    Need::optional);
  v("single_use_retention", x.single_use_retention,
    "hit curve of lines used once, by bytes of such lines filled since; else by `cyclic_scan`",
    Need::optional);
  v("reuse_retention", x.reuse_retention,
    "the same of lines used several times, which some caches retain longer", Need::optional);
  v("latency", x.latency, "load to use; of far memory (explicit, of device or host) in ns",
    Need::optional);
  v("loaded_latency", x.loaded_latency, "latency while others use part of the bandwidth",
    Need::optional);
  v("set_conflict", x.set_conflict,
    "of a cache: time per fill of an oversubscribed set, whose fills are serialised",
    Need::optional);
  v("set_conflict_dirty", x.set_conflict_dirty,
    "the same of lines written in part, which are also written back", Need::optional);
  v("false_sharing", x.false_sharing,
    "of a private cache: time per end of a 1 KiB run next to which another unit writes",
    Need::optional);
  v("co_tenant_eviction", x.co_tenant_eviction,
    "of a cache shared with co-tenants: their fills, which evict untouched lines", Need::optional);
  v("bandwidth", x.bandwidth, "of one instance", Need::optional);
  v("line", x.line, "unit of allocation", Need::optional);
  v("transaction", x.transaction, "unit of transfer", Need::optional);
  v("ways", x.ways, "associativity", Need::optional);
  v("page_stride_lines", x.page_stride_lines,
    "lines at a stride of 4 KiB that a cache holds: they map to few sets", Need::optional);
  v("banks", x.banks, "of a banked scratchpad", Need::optional);
  v("write", x.write, "what a store that misses does; allocate: it reads its line first",
    Need::optional);
  v("role", x.role, "its relation to the levels before it", Need::optional);
  v("outstanding", x.outstanding,
    "outstanding misses that it, or a level behind it, serves at once", Need::optional);
  v("overlap", x.overlap,
    "of the time that a core's lines take from it, the part that overlaps with computing (ECM)",
    Need::optional);
  v("far", x.far, "the distant half of a split cache", Need::optional);
}

template <class V>
void fields(V& v, Is<TlbLevel> auto& x) {
  v("depth", x.depth, "1 is the nearest", Need::shown);
  v("page", x.page, "bytes one entry covers", Need::optional);
  v("entries", x.entries, "pages it holds", Need::optional);
  v("miss", x.miss, "added to a dependent load that misses it", Need::optional);
  v("overlapped_miss", x.overlapped_miss,
    "added to a vector load that misses it, where nothing waits for the result", Need::optional);
}

template <class V>
void fields(V& v, Is<Mover> auto& x) {
  v("name", x.name, "a free name: cp_async, tma, dma", Need::required);
  v("from", x.from, "memory it reads", Need::required);
  v("to", x.to, "memory it writes", Need::required);
  v("outstanding", x.outstanding, "copies in flight per unit", Need::optional);
  v("async", x.async, "whether code continues during the copy", Need::optional);
  v("multicast", x.multicast, "whether one copy fills the scratchpads of several units",
    Need::optional);
}

template <class V>
void fields(V& v, Is<Block> auto& x) {
  v("width", x.width, "texels in a row", Need::optional);
  v("height", x.height, "rows", Need::optional);
}

template <class V>
void fields(V& v, Is<ImageBorder> auto& x) {
  v("gives", x.gives, "zero: all components are 0; clamp: the nearest texel of the edge",
    Need::optional);
  v("method", x.method, "how it was found", Need::optional);
  v("note", x.note, "what a reader should know", Need::optional);
}

template <class V>
void fields(V& v, Is<AccessPath> auto& x) {
  v("name", x.name, "a free name: texture, constant", Need::required);
  v("through", x.through, "memories on the path, near to far", Need::optional);
  v("form", x.form, "image1d, image2d, ...", Need::optional);
  v("texel", x.texel, "elements of one access", Need::optional);
  v.group("limits", "largest extents in texels", [&](auto& w) {
    w("width", x.max_width, "texels in a row", Need::optional);
    w("height", x.max_height, "rows", Need::optional);
    w("bytes", x.max_bytes, "of one argument", Need::optional);
  });
  v("latency", x.latency, "load to use, hitting in its first memory", Need::optional);
  v("bandwidth", x.bandwidth, "all units reading, hitting in its first memory", Need::optional);
  v("divergent", x.divergent,
    "load to use where each lane reads its own line, over that of one element for all",
    Need::optional);
  v("formats", x.formats, "bandwidth by texel format: r32f, rgba32f, rgba16f, rgba8",
    Need::optional);
  v("block", x.block, "texels fetched together", Need::optional);
  v("border", x.border, "result of a read outside the image", Need::optional);
}

template <class V>
void fields(V& v, Is<ComputeOp> auto& x) {
  v("op", x.op, "fma, add, mul, div, sqrt, exp, load, store, ...", Need::required);
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
    "among groups inside one kernel, by their number; plans use `device_barrier`", Need::optional);
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
