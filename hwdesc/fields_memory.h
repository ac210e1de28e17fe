// Memories, translation, movers and access paths in the field table (fields.h).
#pragma once

#include "hwdesc/kinds.h"
#include "hwdesc/need.h"

namespace assay::hwdesc {

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

}  // namespace assay::hwdesc
