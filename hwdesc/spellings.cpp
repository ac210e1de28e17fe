#include "hwdesc/spellings.h"

namespace assay::hwdesc {

namespace {

struct Row {
  // Where: a pattern over the path of the map. `*` is one segment (`memory.*`: an entry of memory),
  // `**` any path at all, `` the profile itself, `=` the record of a value.
  const char* where;
  const char* spellings;  // separated by blanks; lower case without _ and -
  const char* instead;
};

constexpr const char* kLanes = "execution: {lanes: {modes: [{width: 32}]}}";
constexpr const char* kUnits = "topology: [{name: unit, count: 108}]";
constexpr const char* kMemory =
    "an entry of memory: [{name: l2, per: device, capacity: 4 MiB, ...}]";
constexpr const char* kRate = "pipes: [{name: fma, per: unit, rate: 64 /cycle@core}]";

// The first matching row wins, so specific patterns come before `**`.
constexpr Row kKeys[] = {
    {"", "version format", "schema: assay/profile/1"},
    {"", "type kind category", "class: gpu"},
    {"", "vendor arch architecture model chip device gpu cpu driver os date",
     "name, or identity: {driver: ...}"},
    {"", "refs sources bibliography", "references: {ds: ...}"},
    {"", "base parent inherits", "extends: <name>"},
    {"", "set changes patch", "overrides: [\"memory.hbm.bandwidth*=2\"]"},
    {"", "memories caches hierarchy", "memory: [...], near to far"},
    {"", "api backends runtimes", "apis: {opencl: {...}}"},
    {"", "ops operations", "compute: [{op: fma, dtype: f32, pipe: fma}]"},
    {"", "limits", "execution: {threads_per_group: {max: 1024}}"},

    // Names of earlier versions.
    {"memory.*", "streamed", "cyclic_scan"},
    {"memory.*", "passed", "single_use_retention"},
    {"memory.*", "kept", "reuse_retention"},
    {"memory.*", "loaded", "loaded_latency"},
    {"memory.*", "setturn", "set_conflict"},
    {"memory.*", "setturnchanged", "set_conflict_dirty"},
    {"memory.*", "foreignfill", "co_tenant_eviction"},
    {"memory.*", "pagelines", "page_stride_lines"},
    {"memory.*.bandwidth", "handed hitm", "dirty_remote_read"},
    {"memory.*.bandwidth", "taken rfo", "dirty_remote_rfo"},
    {"memory.*.bandwidth", "reclaimed", "upgrade"},
    {"memory.*.bandwidth", "apartread", "short_run_read"},
    {"memory.*.bandwidth", "apartwrite", "short_run_write"},
    {"tlb.*", "passing", "overlapped_miss"},
    {"apis.*", "unitjoin", "wakeup_skew"},
    {"apis.*", "joinedlanes", "slp_lanes"},
    {"apis.*", "joinedloads", "merged_loads"},

    {"memory.*", "size bytes cap sizebytes", "capacity"},
    {"memory.*", "bw throughput", "bandwidth: {read: ...}"},
    {"memory.*", "readbandwidth readbw read", "bandwidth: {read: ...}"},
    {"memory.*", "writebandwidth writebw", "bandwidth: {write: ...}"},
    {"memory.*", "lat cycles hitlatency loadtouse", "latency"},
    {"memory.*", "linesize cacheline cachelinesize linebytes", "line"},
    {"memory.*", "sector sectorsize granularity fetchgranularity burst", "transaction"},
    {"memory.*", "assoc associativity", "ways"},
    {"memory.*", "policy writepolicy storepolicy", "write: through | around | allocate"},
    {"memory.*", "inclusive inclusivity exclusive", "role: inclusive | victim | memory_side"},
    {"memory.*", "type kind software", "managed: automatic | explicit"},
    {"memory.*", "level scope sharedby owner parent", "per: the level of topology that has one"},
    {"memory.*", "count instances num number", "the count of the topology level named by `per`"},
    {"memory.*", "mshr mshrs inflight missesinflight outstandinglines",
     "outstanding: {per: unit, lines: ...}"},
    {"memory.*", "bank numbanks bankcount bankwidth", "banks: {count: 32, width: 4 B}"},
    {"memory.*.bandwidth", "r rd load peak max total sustained aggregate", "read"},
    {"memory.*.bandwidth", "w wr store", "write"},
    {"memory.*.bandwidth", "stream scale", "copy"},
    {"memory.*.bandwidth", "persm percore percu single singlecore onecore", "per_unit"},
    {"memory.*.bandwidth", "curve scaling byunits", "shape: [{units: 0.25, reaches: 0.6}]"},
    {"memory.*.knee", "begin start low", "from"},
    {"memory.*.knee", "end high", "to"},
    {"memory.*.cyclic_scan", "begin start low", "from"},
    {"memory.*.cyclic_scan", "half mid center", "middle"},
    {"memory.*.cyclic_scan", "end high", "to"},

    {"clocks.*", "freq frequency boost boostclock peak mhz", "max"},
    {"clocks.*", "base baseclock nominal typical actual", "sustained: {all: ...}"},
    {"topology.*", "size n num number howmany", "count"},
    {"pipes.*", "throughput width lanes ops opspercycle ipc perclock", "rate: 16 /cycle@core"},
    {"pipes.*", "level scope", "per: the level of topology that has one"},
    {"compute.*", "type precision datatype format", "dtype"},
    {"compute.*", "name instr instruction operation opcode", "op"},
    {"compute.*", "unit port", "pipe"},
    {"compute.*", "throughput rate rthroughput cycles cost cpi",
     "slots: lane-slots of its pipe per element"},
    {"compute.*", "lat", "latency"},
    {"tlb.*", "level", "depth"},
    {"tlb.*", "size count", "entries"},
    {"tlb.*", "pagesize", "page"},
    {"tlb.*", "latency penalty misspenalty walk", "miss"},
    {"movers.*", "src source", "from"},
    {"movers.*", "dst dest destination", "to"},
    {"movers.*", "asynchronous", "async"},
    {"instructions.*", "name op isa instr", "use"},
    {"instructions.*", "throughput flops macs", "rate: multiply-adds per cycle"},
    {"execution.lanes", "width warp size", "modes: [{width: 32}]"},
    {"execution.lanes", "kind type model", "style: simt | simd"},
    {"execution.lanes.modes.*", "size lanes warp", "width"},
    {"execution.registers", "size file total", "count: registers of `width` in one file"},
    {"execution.registers", "perthread maxperthread", "per_thread_max"},
    {"execution.registers", "bytes", "width: 4 B"},
    {"execution.resident", "blocks ctas workgroups", "groups"},
    {"execution.resident", "warps wavefronts subgroups", "waves"},
    {"execution.issue", "width ipc", "rate: 1 /cycle@core"},
    {"power", "tdp max limit", "cap"},
    {"power", "static leakage", "idle"},
    {"apis.*", "language kernel source", "dialect"},
    {"apis.*", "overhead latency launchlatency launchoverhead", "launch: {stream: 3 us}"},
    {"apis.*", "extensions caps capabilities", "features: [...]"},
    {"apis.*", "cooperative cooperativelaunch", "coresident_groups: true | false"},
    {"apis.*.launch", "sync roundtrip blocking", "eager"},
    {"apis.*.launch", "async queue kernel", "stream"},
    {"apis.*.launch", "graphs recorded", "graph"},
    {"apis.*.launch", "icache codemiss coldcode", "cold"},

    {"=", "unit units", "the unit after the number: value: 900 GB/s"},
    {"=", "min lo lower from p5", "low"},
    {"=", "max hi upper to p95", "high"},
    {"=", "ci interval range error stddev std sigma plusminus",
     "low and high: the ends of the interval"},
    {"=", "samples count repeats runs", "n"},
    {"=", "origin provenance", "source"},
    {"=", "reference references cite citation url link", "ref: a key of `references`"},
    {"=", "comment why remark because assumption", "note"},
    {"=", "how tool", "method"},
    {"=", "val v mean median typical", "value"},

    {"**",
     "warpsize warp wavefrontsize wavefront wavesize subgroupsize simdwidth vectorwidth lanewidth",
     kLanes},
    {"**",
     "smcount sms numsm numsms cucount numcu cus computeunits eus eucount cores numcores corecount "
     "units "
     "numunits multiprocessorcount shadercores tiles",
     kUnits},
    {"**", "freq frequency clock clockrate corefreq coreclock boostclock clockspeed mhz ghz",
     "clocks: {core: {max: 1410 MHz}}"},
    {"**", "memclock memoryclock", "clocks: {memory: {max: 1215 MHz}}"},
    {"**", "smem sharedmem sharedmemory lds localmem localmemory scratchpad sram sharedmempersm",
     "memory: [{name: shared, per: unit, managed: explicit, capacity: 48 KiB}]"},
    {"**",
     "l1 l1size l1d l2 l2size l2cache l3 l3size llc cache cachesize dram hbm gddr vram globalmem "
     "globalmemory "
     "mem texcache constantcache",
     kMemory},
    {"**", "bw membw memorybw membandwidth memorybandwidth bandwidth",
     "memory: [{name: dram, per: device, bandwidth: {read: 900 GB/s}}]"},
    {"**",
     "maxthreads threadsperblock maxthreadsperblock blocksize workgroupsize maxworkgroupsize "
     "groupsize",
     "execution: {threads_per_group: {max: 1024}}"},
    {"**", "threadspersm maxthreadspersm occupancy blockspersm maxblocks warpspersm maxwarps",
     "execution: {resident: {per: unit, threads: 2048, groups: 32}}"},
    {"**", "regs registers registerfile registerspersm regfile numregs",
     "execution: {registers: {per: unit, count: 65536, width: 4 B}}"},
    {"**", "flops gflops tflops peakflops peak fp32 throughput", kRate},
    {"**", "tensorcores tensor matrix mma wmma",
     "instructions: [{use: isa/..., per: unit, rate: 1024 /cycle@core}]"},
    {"**", "tdp powerlimit", "power: {cap: 300 W}"},
    {"**", "launchoverhead launchlatency kernellaunch", "apis: {<name>: {launch: {stream: 3 us}}}"},
    {"**", "textures texture images image",
     "paths: [{name: texture, form: image2d, through: [...]}]"},
    {"**", "comment comments description remark",
     "a YAML comment: # ..., or `note` in {value: ..., note: ...}"},
};

constexpr Row kWords[] = {
    {"managed", "cache hardware hw auto implicit", "automatic"},
    {"managed", "scratchpad software sw manual user local shared", "explicit"},
    {"write", "writethrough wt", "through"},
    {"write", "writearound noallocate nowriteallocate", "around"},
    {"write", "writeback wb writeallocate back", "allocate"},
    {"role", "exclusive", "victim"},
    {"role", "memoryside systemlevel slc mall", "memory_side"},
    {"source", "spec specification vendor manual whitepaper", "datasheet"},
    {"source", "guess guessed estimate estimated unknown default", "assumed"},
    {"source", "literature article publication published web", "paper"},
    {"source", "benchmark measurement probed probe", "measured"},
    {"source", "api query queried os", "driver"},
    {"source", "computed calculated override", "derived"},
    {"style", "warp wavefront threads gpu", "simt"},
    {"style", "vector vectors cpu sve", "simd"},
    {"gives", "0 zeros black transparent", "zero"},
    {"gives", "edge nearest replicate clamptoedge", "clamp"},
    {"fact", "yes on 1 y true", "true"},
    {"fact", "no off 0 n false", "false"},
    {"dtype", "fp64 float64 double d", "f64"},
    {"dtype", "fp32 float32 float single sp s", "f32"},
    {"dtype", "tf32", "an entry of `instructions` (tf32 is how a matrix instruction reads f32)"},
    {"dtype", "fp16 float16 half h", "f16"},
    {"dtype", "bfloat16 bfp16", "bf16"},
    {"dtype", "e4m3 e4m3fn fp8e4m3 float8e4m3fn", "f8e4m3"},
    {"dtype", "e5m2 fp8e5m2 float8e5m2", "f8e5m2"},
    {"dtype", "int8 s8 char", "i8"},
    {"dtype", "int16 s16 short", "i16"},
    {"dtype", "int32 s32 int", "i32"},
    {"dtype", "int64 s64 long", "i64"},
    {"op", "ffma fmad mad mac madd multiplyadd muladd", "fma"},
    {"op", "fadd plus", "add"},
    {"op", "fmul multiply", "mul"},
    {"op", "divide fdiv", "div"},
    {"op", "ld loads", "load"},
    {"op", "st stores", "store"},
};

std::string plain(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '_' || c == '-' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

bool lists(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t blank = words.find(' ');
    if (words.substr(0, blank) == word) return true;
    if (blank == std::string_view::npos) return false;
    words.remove_prefix(blank + 1);
  }
  return false;
}

// Matches a dotted pattern with a dotted path. Keys of compute and instructions hold dots
// (`fma.f32`), so there a trailing `*` matches the rest.
bool fits(std::string_view pattern, std::string_view path) {
  if (pattern == "**") return true;
  const bool dotted_keys = path.starts_with("compute.") || path.starts_with("instructions.");
  for (;;) {
    const size_t p = pattern.find('.'), q = path.find('.');
    const std::string_view want = pattern.substr(0, p), have = path.substr(0, q);
    if (want == "*" && p == std::string_view::npos)
      return dotted_keys || q == std::string_view::npos;
    if (want != "*" && want != have) return false;
    if (p == std::string_view::npos || q == std::string_view::npos)
      return p == std::string_view::npos && q == std::string_view::npos;
    pattern.remove_prefix(p + 1);
    path.remove_prefix(q + 1);
  }
}

}  // namespace

std::string spelling_of_key(std::string_view path, std::string_view key) {
  const std::string word = plain(key);
  for (const Row& row : kKeys)
    if (lists(row.spellings, word) && fits(row.where, path)) return row.instead;
  return "";
}

std::string spelling_of_word(std::string_view field, std::string_view word) {
  const std::string typed = plain(word);
  for (const Row& row : kWords)
    if (row.where == field && lists(row.spellings, typed)) return row.instead;
  return "";
}

}  // namespace assay::hwdesc
