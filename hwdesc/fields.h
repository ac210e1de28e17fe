// The one typed field table of `assay/profile/1`: for every struct its YAML keys in print order, a
// sentence each, and whether the field must be there. The unit follows from the C++ type. Parser,
// printer, paths, overrides, diff, schema and reference page are visitors over it.
//
// A visitor V has   v(key, member, doc, need)   for every member, and
//                   v.group(key, doc, fill)     for a YAML map that is no struct; fill(w) visits
//                   it.
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
  v("max", x.max, "the highest frequency the chip runs at", Need::optional);
  v("sustained", x.sustained, "frequency held under a kind of load: all, mma, avx512, ...",
    Need::optional);
}

template <class V>
void fields(V& v, Is<TopologyLevel> auto& x) {
  v("name", x.name, "free word; `unit` is mandatory, `device` and `host` are implied",
    Need::required);
  v("count", x.count, "how many in each parent", Need::optional);
}

template <class V>
void fields(V& v, Is<Granule> auto& x) {
  v("regs", x.regs, "registers are given out in multiples of this", Need::optional);
  v("per", x.per, "wave, thread or group", Need::optional);
}

template <class V>
void fields(V& v, Is<Registers> auto& x) {
  v("per", x.per, "topology level that owns one file", Need::required);
  v("count", x.count, "registers of `width` in one file", Need::optional);
  v("width", x.width, "4 B for files of threads, the vector's size for CPUs", Need::optional);
  v("per_thread_max", x.per_thread_max, "most registers of one thread", Need::optional);
  v("spill", x.spill,
    "what an operation takes longer on a value that found no register, and is loaded and stored",
    Need::optional);
  v("granule", x.granule, "the step in which registers are given out", Need::optional);
}

template <class V>
void fields(V& v, Is<Resident> auto& x) {
  v("per", x.per, "topology level that holds them", Need::required);
  v("threads", x.threads, "most threads at once", Need::optional);
  v("groups", x.groups, "most groups at once", Need::optional);
  v("waves", x.waves, "most waves at once", Need::optional);
}

template <class V>
void fields(V& v, Is<Issue> auto& x) {
  v("per", x.per, "topology level that has one issuer", Need::required);
  v("rate", x.rate, "wave or vector instructions per tick", Need::optional);
}

template <class V>
void fields(V& v, Is<Pipe> auto& x) {
  v("name", x.name, "free word; usual: fma, sfu, lsu, load, store", Need::required);
  v("per", x.per, "topology level that has one", Need::required);
  v("rate", x.rate, "lane-slots (elements of 4 bytes) per tick", Need::optional);
}

template <class V>
void fields(V& v, Is<LaneMode> auto& x) {
  v("name", x.name, "avx512, wave64, ...; needed where there are several", Need::optional);
  v("width", x.width, "lanes of 32 bits that issue together", Need::optional);
  v.group("threads_per_group", "limits of one group in this mode", [&](auto& w) {
    w("max", x.threads_per_group_max, "most threads in one group", Need::optional);
  });
  v("resident", x.resident, "what can be in flight in this mode, where it differs", Need::optional);
  v("registers", x.registers, "the register file in this mode, where it differs", Need::optional);
  v("issue", x.issue, "instructions issued per tick in this mode, where it differs",
    Need::optional);
  v("pipes", x.pipes, "pipes whose rate differs in this mode", Need::optional);
}

template <class V>
void fields(V& v, Is<Lanes> auto& x) {
  v("style", x.style, "simt: lanes are threads; simd: explicit vectors", Need::shown);
  v("modes", x.modes, "the widths the chip can run in", Need::optional);
  v("divergence", x.divergence,
    "time of a branch that lanes of a wave disagree on, over that of one they agree on",
    Need::optional);
}

template <class V>
void fields(V& v, Is<Execution> auto& x) {
  v("lanes", x.lanes, "how lanes are grouped and programmed", Need::optional);
  v.group("threads_per_group", "limits of one group", [&](auto& w) {
    w("max", x.threads_per_group_max, "most threads in one group", Need::optional);
  });
  v("resident", x.resident, "what can be in flight at once", Need::optional);
  v("registers", x.registers, "the register file", Need::optional);
  v("issue", x.issue, "instructions issued per tick", Need::optional);
  v("code", x.code,
    "bytes of a loop's straight-line body: `from` still runs at full speed, `to` does not",
    Need::optional);
}

template <class V>
void fields(V& v, Is<ShapePoint> auto& x) {
  v("units", x.units, "active units as a fraction of all", Need::required);
  v("reaches", x.reaches, "bandwidth they reach as a fraction of `read`", Need::required);
}

template <class V>
void fields(V& v, Is<MemoryBandwidth> auto& x) {
  v("read", x.read, "all users reading", Need::optional);
  v("write", x.write, "all users writing", Need::optional);
  v("copy", x.copy, "all users copying, bytes read plus bytes written", Need::optional);
  v("triad", x.triad, "all users reading two streams and writing a third, bytes of all three",
    Need::optional);
  v("per_unit", x.per_unit, "what one unit alone reaches, reading", Need::optional);
  v("dirty_remote_read", x.dirty_remote_read,
    "of a cache per unit: what each unit reaches, all at once reading what another one has just "
    "written and still holds there",
    Need::optional);
  v("dirty_remote_rfo", x.dirty_remote_rfo,
    "of a cache per unit: what each unit reaches, all at once writing what another one has just "
    "written and still holds there",
    Need::optional);
  v("upgrade", x.upgrade,
    "of a cache per unit: what each unit reaches, all at once writing what another one has read "
    "since it was written",
    Need::optional);
  v("short_run_read", x.short_run_read,
    "all users reading runs of 256 bytes, each further than a page from the one before",
    Need::optional);
  v("short_run_write", x.short_run_write, "all users writing such runs", Need::optional);
  v("sharpness", x.sharpness, "p of ((n b1)^-p + B^-p)^(-1/p) for n active units", Need::optional);
  v("shape", x.shape,
    "bandwidth against active units, both as fractions, where that formula does not fit",
    Need::optional);
}

template <class V>
void fields(V& v, Is<Knee> auto& x) {
  v("from", x.from, "largest working set that still hits", Need::optional);
  v("to", x.to, "smallest working set that always misses", Need::optional);
}

template <class V>
void fields(V& v, Is<HitCurve> auto& x) {
  v("from", x.from, "bytes with which 90 % is still held", Need::optional);
  v("middle", x.middle, "bytes with which half is still held", Need::optional);
  v("to", x.to, "bytes with which 10 % is still held", Need::optional);
}

template <class V>
void fields(V& v, Is<Banks> auto& x) {
  v("count", x.count, "banks of one instance", Need::optional);
  v("width", x.width, "bytes of one bank per tick", Need::optional);
}

template <class V>
void fields(V& v, Is<Outstanding> auto& x) {
  v("per", x.per, "topology level that has one queue", Need::required);
  v("lines", x.lines, "most of them, of one such level", Need::optional);
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
  v("name", x.name, "free word: l1, shared, l2, dram, ...", Need::required);
  v("per", x.per, "topology level that has one, `device` or `host`", Need::required);
  v("managed", x.managed, "automatic: a cache; explicit: code copies", Need::shown);
  v("backed_by", x.backed_by, "the memory it really lies in, when not on chip", Need::optional);
  v("link", x.link, "how host memory is reached: pcie, ...", Need::optional);
  v("path", x.path,
    "the one of `paths` that alone reaches it, such as a texture cache; without it plain loads do",
    Need::optional);
  v("capacity", x.capacity, "nominal size of one instance", Need::optional);
  v("knee", x.knee, "where the hit rate falls", Need::optional);
  v("cyclic_scan", x.cyclic_scan,
    "where it falls for data streamed through again and again, by the bytes of these; without it, "
    "as the knee",
    Need::optional);
  v("single_use_retention", x.single_use_retention,
    "where it falls for data that was used once, by the bytes of other such data that came in "
    "since; without it, as streamed data that misses as much",
    Need::optional);
  v("reuse_retention", x.reuse_retention,
    "the same for data that was used again and again before, whose place some caches keep before "
    "what comes in for the first time",
    Need::optional);
  v("latency", x.latency, "load to use; far memory in ns", Need::optional);
  v("loaded_latency", x.loaded_latency, "the same while others keep it busy", Need::optional);
  v("set_conflict", x.set_conflict,
    "of a cache: how long a line takes that comes into a set which has too many, where nothing "
    "waits for it but the next one there",
    Need::optional);
  v("set_conflict_dirty", x.set_conflict_dirty,
    "the same for a line that is changed in part there, and leaves again; without it, as a "
    "multiple of `set_conflict`",
    Need::optional);
  v("false_sharing", x.false_sharing,
    "of a cache per unit: how long each end of a run of 1 KiB takes behind which another unit "
    "writes, all at once; prefetchers take lines that it is about to write",
    Need::optional);
  v("co_tenant_eviction", x.co_tenant_eviction,
    "of a cache that others than this device's programs use (guests of one host, engines of one "
    "chip): how fast what they bring into it drives out data that lies untouched",
    Need::optional);
  v("bandwidth", x.bandwidth, "of one instance", Need::optional);
  v("line", x.line, "unit of allocation", Need::optional);
  v("transaction", x.transaction, "unit of transfer", Need::optional);
  v("ways", x.ways, "associativity", Need::optional);
  v("page_stride_lines", x.page_stride_lines,
    "lines 4 KiB apart that a cache holds: sets are chosen by places within pages, or by more, so "
    "that fewer of them fit than of lines side by side; rows of arrays lie so",
    Need::optional);
  v("banks", x.banks, "of a banked scratchpad", Need::optional);
  v("write", x.write, "what a store that misses does", Need::optional);
  v("role", x.role, "its relation to the levels before it", Need::optional);
  v("outstanding", x.outstanding,
    "misses of the levels before it that wait for it, or for what lies behind it, at once",
    Need::optional);
  v("far", x.far, "the distant half of a split cache", Need::optional);
}

template <class V>
void fields(V& v, Is<TlbLevel> auto& x) {
  v("depth", x.depth, "1 is the nearest", Need::shown);
  v("page", x.page, "bytes one entry covers", Need::optional);
  v("entries", x.entries, "pages it holds", Need::optional);
  v("miss", x.miss, "added to an access that misses it", Need::optional);
  v("overlapped_miss", x.overlapped_miss,
    "added to a vector load that misses it, and that nothing waits for", Need::optional);
}

template <class V>
void fields(V& v, Is<Mover> auto& x) {
  v("name", x.name, "free word: cp_async, tma, dma", Need::required);
  v("from", x.from, "memory it reads", Need::required);
  v("to", x.to, "memory it writes", Need::required);
  v("outstanding", x.outstanding, "copies in flight per unit", Need::optional);
  v("async", x.async, "whether code runs on while it copies", Need::optional);
}

template <class V>
void fields(V& v, Is<Block> auto& x) {
  v("width", x.width, "texels in a row", Need::optional);
  v("height", x.height, "rows", Need::optional);
}

template <class V>
void fields(V& v, Is<ImageBorder> auto& x) {
  v("gives", x.gives, "zero: all numbers are 0; clamp: the nearest texel of the edge",
    Need::optional);
  v("method", x.method, "how it was found", Need::optional);
  v("note", x.note, "what a reader should know", Need::optional);
}

template <class V>
void fields(V& v, Is<AccessPath> auto& x) {
  v("name", x.name, "free word: texture, constant", Need::required);
  v("through", x.through, "memories it passes, near to far", Need::optional);
  v("form", x.form, "image1d, image2d, ...", Need::optional);
  v("texel", x.texel, "elements of one access", Need::optional);
  v.group("limits", "largest extents in texels", [&](auto& w) {
    w("width", x.max_width, "texels in a row", Need::optional);
    w("height", x.max_height, "rows", Need::optional);
    w("bytes", x.max_bytes, "of one argument", Need::optional);
  });
  v("latency", x.latency, "load to use, of what its first memory holds", Need::optional);
  v("bandwidth", x.bandwidth, "all users reading what its first memory holds", Need::optional);
  v("divergent", x.divergent,
    "load to use where lanes want a line each, over that where they want the same element",
    Need::optional);
  v("formats", x.formats, "the same by what a texel is made of: r32f, rgba32f, rgba16f, rgba8",
    Need::optional);
  v("block", x.block, "texels that are fetched together", Need::optional);
  v("border", x.border, "what a read outside the image gives", Need::optional);
}

template <class V>
void fields(V& v, Is<ComputeOp> auto& x) {
  v("op", x.op, "fma, add, mul, div, sqrt, exp, load, store, ...", Need::required);
  v("dtype", x.dtype, "element type: f32, f16, ...", Need::required);
  v("mode", x.mode,
    "lane mode this entry is for; without it, every mode that has no entry of its own",
    Need::optional);
  v("pipe", x.pipe, "the pipe it issues to", Need::required);
  v("slots", x.slots, "lane-slots per element; unknown counts as 1", Need::optional);
  v("latency", x.latency, "until its result can be used", Need::optional);
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
  v("stream", x.stream, "one kernel more in a queue; on the CPU one step of the pool",
    Need::optional);
  v("graph", x.graph, "one kernel more in a recorded graph", Need::optional);
  v("cold", x.cold,
    "what any of these takes longer where others have driven the kernel's code out of a unit's own "
    "caches since it last ran",
    Need::optional);
  v("uncached", x.uncached, "the same where they have driven it out of all caches", Need::optional);
}

template <class V>
void fields(V& v, Is<ApiLimits> auto& x) {
  v("threads_per_group", x.threads_per_group, "most threads in one group", Need::optional);
  v("group_memory", x.group_memory, "most memory that one group may share", Need::optional);
  v("allocation", x.allocation, "largest single buffer", Need::optional);
  v("iterations", x.iterations, "of one loop, after which the driver ends it without a word",
    Need::optional);
}

template <class V>
void fields(V& v, Is<WideBarrier> auto& x) {
  v("threads", x.threads, "of the group", Need::required);
  v("time", x.time, "from one of its barriers to the next, with nothing between", Need::optional);
}

template <class V>
void fields(V& v, Is<BarrierPoint> auto& x) {
  v("groups", x.groups, "of one wave, that run at once", Need::required);
  v("time", x.time, "from one of their barriers to the next, with nothing between", Need::optional);
}

template <class V>
void fields(V& v, Is<Api> auto& x) {
  v("dialect", x.dialect, "kernel language, a file of dialects/", Need::required);
  v("launch", x.launch, "cost per kernel by mode", Need::optional);
  v("group_start", x.group_start, "cost per group on the unit that runs it", Need::optional);
  v("wakeup_skew", x.wakeup_skew,
    "until all units take part in a launch, after the first of them began", Need::optional);
  v("group_barrier", x.group_barrier, "of a group that is one wave", Need::optional);
  v("wide_barrier", x.wide_barrier,
    "of a group of several waves, by its threads; between two of them in proportion",
    Need::optional);
  v("device_barrier", x.device_barrier,
    "between the steps of a schedule that runs inside one launch; where it is not known, every "
    "step is a launch",
    Need::optional);
  v("coresident_barrier", x.coresident_barrier,
    "among groups inside one kernel, by how many; says nothing of plans: a schedule of one launch "
    "is what `device_barrier` stands for",
    Need::optional);
  v("map", x.map, "making a small buffer visible to the host and giving it back", Need::optional);
  v("slp_lanes", x.slp_lanes,
    "lanes of the vectors that its compiler makes of the same operation on neighbouring elements; "
    "1: it makes none",
    Need::optional);
  v("merged_loads", x.merged_loads,
    "threads' loads of neighbouring words of a group's own memory, one for each step of an "
    "unrolled loop, that its compiler makes one of; 1: it makes none",
    Need::optional);
  v("unrolled", x.unrolled,
    "turns of a short loop of threads whose loads stand together once its compiler has unrolled "
    "it; 1: it unrolls none",
    Need::optional);
  v("coresident_groups", x.coresident_groups, "whether all groups up to residency run at once",
    Need::optional);
  v("limits", x.limits, "where this api allows less than the chip has", Need::optional);
  v("features", x.features, "what `when:` of the dialect may ask for", Need::optional);
  v("forms", x.forms,
    "in which of its dialect's forms an operation is the fastest, by operation and element type "
    "(fma.f16: mad); else the first",
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
