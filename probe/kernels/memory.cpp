// Kernels of memory: streams over a range of blocks, and the pointer chase.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "probe/kernels/code.h"
#include "probe/kernels/kernels.h"
#include "probe/kernels/loaded_latency.h"
#include "probe/kernels/matrix.h"
#include "probe/kernels/read_modify_write.h"
#include "probe/kernels/vectorisation.h"

namespace assay::probe {
namespace {

using ir::DType;

constexpr int64_t kAccessesPerStep = 8;  // of a block's loop,
// Of one of threads: waves in step execute the loop's overhead all at once.
constexpr int64_t kMostPerStep = 32;

const std::vector<std::string> kAccesses = {
    "read", "splat", "write", "copy", "write_stream", "copy_stream", "triad", "gather", "scatter"};

struct Shape {
  bool reads, writes, splat;
  bool divergent;  // gather or scatter
  bool two;        // streams read, the second one scaled and added
  ir::CacheHint hint;
};

Shape shape_of(const std::string& access) {
  const bool two = access == "triad", copies = access.starts_with("copy") || two,
             writes = access.starts_with("write") || access == "scatter";
  const auto hint = access.ends_with("_stream") ? ir::CacheHint::stream : ir::CacheHint::none;
  return {
      !writes, copies || writes, access == "splat", access == "gather" || access == "scatter", two,
      hint};
}

int target_of(const Shape& shape) { return shape.two ? 2 : shape.reads ? 1 : 0; }

ir::Value sum_of(ir::Value first, ir::Value second, int lanes) {
  return code::apply(ir::ValueOp::fma,
                     {std::move(second), code::number(0.5, DType::f32, lanes), std::move(first)});
}

ir::Value read_at(const Shape& shape, int from, const ir::Index& at, int lanes) {
  ir::Value first = code::load(from, at, DType::f32, lanes);
  return shape.two ? sum_of(std::move(first), code::load(from + 1, at, DType::f32, lanes), lanes)
                   : first;
}

static_assert(kSplatsPerBlock * kSplatSpacing <= kBlockBytes / 4);

// One block: every byte once, by vectors; splats load kSplatsPerBlock elements of it. On cores a
// short loop, not a long unrolled body: prefetchers track the stride of each load instruction, and
// every core has few trackers.
ir::Stmt block_body(ir::Kernel& k, const Shape& shape, int value, const ir::Index& base,
                    bool threads, int from = 0) {
  const int lanes = k.registers[static_cast<size_t>(value)].lanes;
  const int64_t elements = kBlockBytes / 4;
  const int64_t step = shape.splat ? kSplatSpacing : lanes;
  const int64_t stretch =
      (threads ? std::min(kMostPerStep, elements / step) : kAccessesPerStep) * step;
  const int part = code::add_index(k, "part");
  ir::Block body;
  for (int64_t e = 0; e < stretch; e += step) {
    const ir::Index at = base + ir::variable(part, stretch) + e;
    if (shape.splat)
      body.push_back(code::set(value, code::splat(0, at, DType::f32, lanes)));
    else if (shape.reads)
      body.push_back(code::set(value, read_at(shape, from, at, lanes)));
    if (shape.writes)
      body.push_back(code::store(target_of(shape), at, code::reg(k, value), shape.hint));
    else
      body.push_back(code::keep(value));
  }
  return code::loop(part, elements / stretch, ir::constant(elements / stretch), std::move(body));
}

static_assert((kGathersPerBlock - 1) * kGatherSpacing + 15 * kDivergentStride <
              kBlockBytes / 4);  // wider vectors reach into the next block

ir::Stmt divergent_block(ir::Kernel& k, const Shape& shape, int value, const ir::Index& base) {
  const int part = code::add_index(k, "part");
  ir::Block body;
  for (int64_t n = 0; n < kAccessesPerStep; ++n) {
    const ir::Index at =
        base + ir::variable(part, kAccessesPerStep * kGatherSpacing) + n * kGatherSpacing;
    const int lanes = k.registers[static_cast<size_t>(value)].lanes;
    if (shape.reads) {
      body.push_back(code::set(value, code::gather(0, at, DType::f32, lanes, kDivergentStride)));
      body.push_back(code::keep(value));
    } else {
      body.push_back(code::scatter(0, at, code::reg(k, value), kDivergentStride));
    }
  }
  const int64_t steps = kGathersPerBlock / kAccessesPerStep;
  return code::loop(part, steps, ir::constant(steps), std::move(body));
}

// A block copied, several loads before as many stores: waves issue in order, and waiting for each
// load would leave too few outstanding. Registers of a second stream follow those of the first.
ir::Stmt block_copied(ir::Kernel& k, const Shape& shape, int first_value, const ir::Index& base) {
  const int lanes = k.registers[static_cast<size_t>(first_value)].lanes;
  const int64_t stretch = kAccessesPerStep * lanes;
  const int part = code::add_index(k, "part");
  const ir::Index at = base + ir::variable(part, stretch);
  ir::Block loads, stores;
  for (int64_t n = 0; n < kAccessesPerStep; ++n) {
    const int value = first_value + static_cast<int>(n);
    const int other = value + static_cast<int>(kAccessesPerStep);
    loads.push_back(code::set(value, code::load(0, at + n * lanes, DType::f32, lanes)));
    if (shape.two)
      loads.push_back(code::set(other, code::load(1, at + n * lanes, DType::f32, lanes)));
    ir::Value stored =
        shape.two ? sum_of(code::reg(k, value), code::reg(k, other), lanes) : code::reg(k, value);
    stores.push_back(code::store(target_of(shape), at + n * lanes, std::move(stored), shape.hint));
  }
  loads.insert(loads.end(), stores.begin(), stores.end());
  const int64_t steps = kBlockBytes / 4 / stretch;
  return code::loop(part, steps, ir::constant(steps), std::move(loads));
}

// for pass < passes: for block < blocks: block `first + block`
ir::Kernel streaming(const std::string& access, int lanes, bool threads) {
  const Shape shape = shape_of(access);
  const bool ahead = threads && shape.reads && shape.writes;
  ir::Kernel k = code::empty(access_name(access, lanes));
  if (shape.reads) code::add_buffer(k, "from", DType::f32, false);
  if (shape.two) code::add_buffer(k, "other", DType::f32, false);
  if (shape.writes) code::add_buffer(k, "to", DType::f32, true);
  const int value = code::add_register(k, "value", DType::f32, lanes);
  const int values = ahead ? static_cast<int>(kAccessesPerStep) * (shape.two ? 2 : 1) : 1;
  for (int n = 1; n < values; ++n)
    code::add_register(k, "value" + std::to_string(n), DType::f32, lanes);
  k.body.push_back(code::declare(value, values));
  if (!ahead)
    k.body.push_back(code::set(value, code::opaque(code::number(1.37, DType::f32, lanes))));
  const int parameters = code::add_parameters(k);
  const int passes = code::parameter(k, "passes", parameters, ir::constant(0), kMaxPasses);
  const int blocks = code::parameter(k, "blocks", parameters, ir::constant(1), kBlocks);
  const int first = code::parameter(k, "first", parameters, ir::variable(0) + 2,
                                    kBlocks * (kBlockBytes / kPlaceBytes));
  const int pass = code::add_index(k, "pass"), block = code::add_index(k, "block");
  const ir::Index base =
      ir::variable(first, kPlaceBytes / 4) + ir::variable(block, kBlockBytes / 4);
  const ir::Stmt body = shape.divergent ? divergent_block(k, shape, value, base)
                        : ahead         ? block_copied(k, shape, value, base)
                                        : block_body(k, shape, value, base, threads);
  ir::Block inner = {code::loop(block, kBlocks, ir::variable(blocks), {body})};
  k.body.push_back(code::loop(pass, kMaxPasses, ir::variable(passes), std::move(inner)));
  return k;
}

// for pass < passes: blocks first ... blocks - 1, then 0 ... first - 1
ir::Kernel around(int lanes, bool threads) {
  ir::Kernel k = code::empty(fmt::format("around_{}", lanes));
  code::add_buffer(k, "from", DType::f32, false);
  const int parameters = code::add_parameters(k),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(value, 1));
  const int passes = code::parameter(k, "passes", parameters, ir::constant(0), kMaxPasses);
  const int blocks = code::parameter(k, "blocks", parameters, ir::constant(1), kBlocks);
  const int first = code::parameter(k, "first", parameters, ir::variable(0) + 2, kBlocks);
  const int pass = code::add_index(k, "pass");
  ir::Block parts;
  for (const bool begin : {true, false}) {
    const int block = code::add_index(k, begin ? "behind" : "before");
    const ir::Index at = (begin ? ir::variable(first) : ir::constant(0)) + ir::variable(block);
    const ir::Index bound =
        begin ? ir::variable(blocks) + ir::variable(first, -1) : ir::variable(first);
    const Shape read{true, false, false, false, false, ir::CacheHint::none};
    parts.push_back(code::loop(block, kBlocks, bound,
                               {block_body(k, read, value, at * (kBlockBytes / 4), threads)}));
  }
  k.body.push_back(code::loop(pass, kMaxPasses, ir::variable(passes), std::move(parts)));
  return k;
}

// Runs of a few lines in rows: for pass < passes: for run of a row: for row < rows; or row by row.
// Rows at a stride of a page and a line use all sets.
struct Rows {
  const char* access;
  bool reads;
  int64_t stride, runs;  // bytes from row to row, runs in each
  bool row_by_row;
  int64_t run = kRunBytes;  // 0: one vector
};
constexpr std::array<Rows, 7> kRows = {
    {{"short_run_read", true, kRowBytes, kBlockBytes / kRunBytes, false},
     {"short_run_write", false, kRowBytes, kBlockBytes / kRunBytes, false},
     {"ends_write", false, 2 * kEndBytes, kEndBytes / kRunBytes, true},
     {"pages_read", true, kRowBytes, 1, true, 0},
     {"sets_read", true, kPageBytes, 1, true, 0},
     {"sets_write", false, kPageBytes, 1, true, 0},
     {"lines_read", true, kRowBytes - kPageBytes, 1, true, 0}}};

ir::Kernel in_rows(const Rows& shape, int lanes) {
  const bool reads = shape.reads;
  ir::Kernel k = code::empty(access_name(shape.access, lanes));
  const int buffer = code::add_buffer(k, reads ? "from" : "to", DType::f32, !reads),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(value, 1));
  k.body.push_back(code::set(value, code::opaque(code::number(1.37, DType::f32, lanes))));
  const int parameters = code::add_parameters(k);
  const int passes = code::parameter(k, "passes", parameters, ir::constant(0), kMaxPasses);
  const int rows = code::parameter(k, "rows", parameters, ir::constant(1), kBlocks);
  const int first = code::parameter(k, "first", parameters, ir::variable(0) + 2,
                                    kBlocks * (kBlockBytes / kPlaceBytes));
  const int pass = code::add_index(k, "pass"), run = code::add_index(k, "run"),
            row = code::add_index(k, "row");
  const ir::Index base = ir::variable(first, kPlaceBytes / 4) +
                         ir::variable(row, shape.stride / 4) + ir::variable(run, kRunBytes / 4);
  ir::Block body;
  for (int64_t e = 0; e < std::max<int64_t>(lanes, shape.run / 4); e += lanes) {
    if (reads)
      body.insert(body.end(), {code::set(value, code::load(buffer, base + e, DType::f32, lanes)),
                               code::keep(value)});
    else
      body.push_back(code::store(buffer, base + e, code::reg(k, value)));
  }
  const auto over_rows = [&](ir::Block inner) {
    return ir::Block{code::loop(row, kBlocks, ir::variable(rows), std::move(inner))};
  };
  const auto over_runs = [&](ir::Block inner) {
    return ir::Block{code::loop(run, shape.runs, ir::constant(shape.runs), std::move(inner))};
  };
  body = shape.row_by_row ? over_rows(over_runs(std::move(body)))
                          : over_runs(over_rows(std::move(body)));
  k.body.push_back(code::loop(pass, kMaxPasses, ir::variable(passes), std::move(body)));
  return k;
}

int add_scratch(ir::Kernel& k, DType type) {
  const int id = code::add_buffer(k, "own", type, false);
  ir::Buffer& own = k.buffers[static_cast<size_t>(id)];
  own.scope = ir::Scope::scratch;
  own.elements = kGroupBytes / ir::bytes_of(type);
  return id;
}

// p = state[slot]; iterations x kChaseSteps: p = nodes[p]; state[slot] = p. `own`: in a copy of the
// nodes in the scratchpad, filled so many elements at a time.
ir::Kernel chase(const std::string& name, bool own, int at_once) {
  ir::Kernel k = code::empty(name);
  int nodes = code::add_buffer(k, "nodes", DType::i64, false);
  const int state = code::add_buffer(k, "state", DType::i64, true),
            parameters = code::add_parameters(k);
  if (own) {
    const int from = std::exchange(nodes, add_scratch(k, DType::i64));
    k.body.push_back(code::fill(k, nodes, from, at_once));
  }
  const int p = code::add_register(k, "p", DType::i64, 1);
  const ir::Index slot = ir::variable(0);
  k.body.push_back(code::declare(p, 1));
  k.body.push_back(code::set(p, code::load(state, slot * 8, DType::i64, 1)));
  ir::Value hop = code::apply(ir::ValueOp::indirect, {code::reg(k, p)});
  hop.id = nodes;
  ir::Block body;
  code::repeat(body, kChaseSteps, {code::set(p, hop)});
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i");
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(body)));
  k.body.push_back(code::store(state, slot * 8, code::reg(k, p)));
  return k;
}

// iterations: every vector of the scratchpad, block by block.
ir::Kernel group_read(int lanes, int at_once, bool threads) {
  ir::Kernel k = code::empty(fmt::format("group_read_{}", lanes));
  const int from = code::add_buffer(k, "from", DType::f32, false),
            parameters = code::add_parameters(k);
  const int own = add_scratch(k, DType::f32);
  const int value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::fill(k, own, from, at_once));
  k.body.push_back(code::declare(value, 1));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), block = code::add_index(k, "block");
  constexpr int64_t kWhole = kGroupBytes / kBlockBytes;
  const ir::Stmt body = block_body(k, {true, false, false, false, false, ir::CacheHint::none},
                                   value, ir::variable(block, kBlockBytes / 4), threads, own);
  ir::Block pass = {code::loop(block, kWhole, ir::constant(kWhole), {body})};
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count), std::move(pass)));
  return k;
}

// iterations: every element of the scratchpad once.
ir::Kernel group_write(int lanes) {
  ir::Kernel k = code::empty(group_write_name(lanes));
  const int parameters = code::add_parameters(k), own = add_scratch(k, DType::f32),
            value = code::add_register(k, "value", DType::f32, lanes);
  k.body.push_back(code::declare(value, 1));
  k.body.push_back(code::set(value, code::opaque(code::number(1.37, DType::f32, lanes))));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), part = code::add_index(k, "part");
  const int64_t stretch = std::min(kMostPerStep * lanes, kGroupBytes / 4),
                parts = kGroupBytes / 4 / stretch;
  ir::Block body;
  for (int64_t e = 0; e < stretch; e += lanes)
    body.push_back(code::store(own, ir::variable(part, stretch) + e, code::reg(k, value)));
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count),
                              {code::loop(part, parts, ir::constant(parts), std::move(body))}));
  k.body.push_back(code::set(value, code::load(own, ir::constant(0), DType::f32, lanes)));
  k.body.push_back(code::keep(value));
  return k;
}

}  // namespace

std::string group_write_name(int lanes) { return fmt::format("group_write_{}", lanes); }

std::string access_name(const std::string& access, int lanes) {
  return fmt::format("{}_{}", access, lanes);
}

std::span<const std::string> access_names() { return kAccesses; }

int row_lanes(const std::string& access, std::span<const int> lanes) {
  constexpr int kHalfALine = 8;  // of 64 bytes; few have shorter ones
  if (access != "sets_write") return lanes.back();
  return *std::find_if(lanes.rbegin(), std::prev(lanes.rend()),
                       [](int n) { return n <= kHalfALine; });
}

void add_memory_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  to.push_back(chase("chase", false, 1));
  to.push_back(chase("group_chase", true, shape.threads ? shape.lanes.front() : 1));
  for (const int lanes : shape.lanes)
    to.push_back(group_read(lanes, shape.threads ? lanes : 1, shape.threads));
  for (const int lanes : shape.lanes)
    if (shape.threads && shape.group_bytes >= kGroupBytes) to.push_back(group_write(lanes));
  for (const int lanes : shape.lanes) to.push_back(around(lanes, shape.threads));
  for (const std::string& access : kAccesses)
    for (const int lanes : shape.lanes) to.push_back(streaming(access, lanes, shape.threads));
  if (shape.threads) return;  // the device schedules the groups
  for (const Rows& rows : kRows) to.push_back(in_rows(rows, row_lanes(rows.access, shape.lanes)));
}

KernelShape shape_of(const runtime::DeviceInfo& info) {
  KernelShape shape{info.threads, info.widths, 0};
  shape.long_code = !info.threads && !info.in_sequence;
  if (shape.lanes.empty())
    shape.lanes = info.threads ? std::vector<int>{32} : std::vector<int>{4, 8, 16};
  if (const std::string bytes = info.fact("group_memory"); !bytes.empty())
    shape.group_bytes = std::stoll(bytes);
  shape.f64 = info.fact("f64") != "no";
  add_abilities(info, shape);
  return shape;
}

std::vector<ir::Kernel> all_kernels(const KernelShape& shape) {
  std::vector<ir::Kernel> out;
  add_compute_kernels(shape, out);
  add_memory_kernels(shape, out);
  add_access_kernels(shape, out);
  add_loaded_kernels(shape, out);
  add_atomic_kernels(shape, out);
  add_matrix_kernels(shape, out);
  add_residency_kernels(shape, out);
  add_scratch_kernels(shape, out);
  add_straight_line_kernels(shape, out);
  add_neighbours_kernels(shape, out);
  add_update_kernels(shape, out);
  return out;
}

}  // namespace assay::probe
