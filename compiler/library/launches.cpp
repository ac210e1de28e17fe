#include "compiler/library/launches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/constants.h"

namespace assay::compiler {
namespace {

using model::kLoopInstructions;
using model::kThreadInstructions;
using model::kThreadRegisters;
using model::LaunchWork;

constexpr double kWord = 4, kLoad = 16;  // bytes of a register, and of the widest load

double ceil_div(double a, double b) { return std::ceil(a / b); }

// Exchanges that add up a wave's lanes: halves, quarters, ...
double exchanges(double lanes) { return std::ceil(std::log2(std::max(1.0, lanes))); }

class Products {
 public:
  Products(const LibraryOperator& o, const ProductEntry& e, const model::Machine& chip)
      : o_(o), e_(e), chip_(chip), lanes_(chip.native_width), bytes_(ir::bytes_of(o.type)) {}

  void add_to(std::vector<Launches>& out) const {
    if (std::find(e_.types.begin(), e_.types.end(), o_.type) == e_.types.end()) return;
    if (e_.needs_mover && !chip_.copies_overlap) return;
    if (e_.vectors == chip_.simt) return;
    if (e_.cluster[0] * e_.cluster[1] > 1 && !chip_.copies_multicast) return;
    if (!e_.matrix) {
      if (model::product_rate(chip_, o_.type, "") > 0) add_splits(nullptr, out);
      return;
    }
    for (const model::MatrixRate& r : chip_.instructions)
      if (computes(r.instruction)) add_splits(&r.instruction, out);
  }

 private:
  bool computes(const ir::MatrixInstruction& i) const {
    // Fragments in registers have a mapping; operands that are read from a scratchpad have none.
    if (e_.from_scratchpad != i.b.mapping.steps.empty()) return false;
    const bool sums = i.c.number == (o_.type == ir::DType::i8 ? ir::DType::i32 : ir::DType::f32);
    return i.a.number == o_.type && !i.a.tf32 && sums;
  }

  void add_splits(const ir::MatrixInstruction* instruction, std::vector<Launches>& out) const {
    for (const int64_t split : e_.split_k) {
      const double each = o_.k / static_cast<double>(split);
      if (split > 1 && each < 2 * static_cast<double>(e_.tile[2])) continue;
      Launches launches = {product(instruction, static_cast<double>(split))};
      if (split > 1) launches.push_back(sum_of_parts(static_cast<double>(split)));
      out.push_back(std::move(launches));
    }
  }

  double tile(int i) const { return static_cast<double>(e_.tile[i]); }
  double threads() const { return e_.vectors ? lanes_ : static_cast<double>(e_.threads); }
  double waves() const { return ceil_div(threads(), lanes_); }
  // Waves that compute: those of a warp-specialised kernel's last group copy.
  double stages() const { return static_cast<double>(e_.stages); }

  // Of one step of the main loop.
  struct Step {
    double instructions = 0, traffic = 0;  // bytes of the memory that it loads from
  };

  // A vector's rows are broadcast, its columns loaded; each load takes the place of a whole vector.
  Step vectors_step() const {
    const double rows = static_cast<double>(e_.accumulates[0]),
                 columns = static_cast<double>(e_.accumulates[1]);
    const double turns = tile(0) * tile(1) / (rows * columns * lanes_) * tile(2);
    return {turns * (rows * columns + columns), turns * (rows + columns) * lanes_ * bytes_};
  }

  // Lanes of a wave lie in the most square block of their tiles, and share what they read.
  Step direct_step() const {
    const double rows = static_cast<double>(e_.accumulates[0]),
                 columns = static_cast<double>(e_.accumulates[1]);
    const double down = std::exp2(std::floor(std::log2(lanes_) / 2)), across = lanes_ / down;
    const double loads = (rows + columns) / (kLoad / bytes_) * tile(2) * waves();
    return {rows * columns * tile(2) * waves() + loads,
            (rows * down + columns * across) * bytes_ * tile(2) * waves()};
  }

  // Each thread loads its rows and columns of every reduction step, in loads of 16 bytes. Lanes
  // that share a row read the same words: a load takes two cycles of 128 bytes where lanes of a
  // pair agree (measured by KernelTuner's GEMM, as the 32 banks of 4 bytes explain).
  Step lanes_step() const {
    const double rows = static_cast<double>(e_.accumulates[0]),
                 columns = static_cast<double>(e_.accumulates[1]),
                 steps = tile(2) / static_cast<double>(e_.slices);
    const double loads = (rows + columns) / (kLoad / bytes_) * steps * waves();
    const double adds = rows * columns * steps * waves();
    return {adds + loads, loads * 2 * lanes_ * kWord};
  }

  // Each wave loads its rows and columns in fragments. Instructions that read the scratchpad fetch
  // their operands anew, each as wide as the tile lets it be.
  Step matrix_step(const ir::MatrixInstruction& i) const {
    const double rows = static_cast<double>(e_.accumulates[0]),
                 columns = static_cast<double>(e_.accumulates[1]);
    const double instructions = tile(0) * tile(1) * tile(2) / (double(i.m) * i.n * i.k);
    if (e_.from_scratchpad) {
      const double wide = std::min(static_cast<double>(i.n), tile(1));
      const double fetches = tile(0) / i.m * (tile(1) / wide);
      return {instructions, fetches * (i.m + wide) * tile(2) * bytes_};
    }
    const double waves_of_tile = tile(0) * tile(1) / (rows * columns);
    const double traffic = waves_of_tile * (rows + columns) * tile(2) * bytes_;
    return {instructions + traffic / (lanes_ * kLoad), traffic};
  }

  // Of a thread: what it accumulates, the operands it has loaded, and copies on their way through
  // it.
  double registers(const ir::MatrixInstruction* instruction, double copied) const {
    const double edges = static_cast<double>(e_.accumulates[0] + e_.accumulates[1]);
    if (e_.vectors) return static_cast<double>((e_.accumulates[0] + 1) * e_.accumulates[1]);
    const double accumulators = tile(0) * tile(1) * static_cast<double>(e_.slices) / threads();
    const double operands = e_.from_scratchpad ? 0
                            : instruction != nullptr
                                ? edges * instruction->k * bytes_ / kWord / lanes_
                                : 2 * edges;
    const double in_flight = e_.needs_mover || !e_.staged ? 0 : copied / threads() / kWord;
    return kThreadRegisters + accumulators + operands + in_flight;
  }

  // `instruction`: nullptr for plain lanes.
  LaunchWork product(const ir::MatrixInstruction* instruction, double split) const {
    LaunchWork w;
    const double rows = ceil_div(o_.m, tile(0)), columns = ceil_div(o_.n, tile(1));
    const double part = std::ceil(o_.k / split), steps = ceil_div(part, tile(2));
    w.entry = e_.name;
    w.groups = rows * columns * o_.batches * split;
    w.threads = threads();
    const double copied = (tile(0) + tile(1)) * tile(2) * bytes_;
    w.registers_per_thread = registers(instruction, copied);
    w.scratch_bytes = e_.staged ? copied * stages() : 0;
    w.products = {tile(0) * tile(1) * tile(2) * steps, o_.type,
                  instruction == nullptr ? "" : instruction->name, e_.matrix};
    const Step step = instruction != nullptr ? matrix_step(*instruction)
                      : e_.vectors           ? vectors_step()
                      : !e_.staged           ? direct_step()
                                             : lanes_step();
    // Copies: loaded and stored by threads, or by a mover that stores only.
    const double copies = e_.staged ? copied / (lanes_ * kLoad) : 0;
    const double results = tile(0) * tile(1);
    w.instructions = steps * (step.instructions + (e_.needs_mover ? copies : 2 * copies) +
                              kLoopInstructions * waves()) +
                     waves() * kThreadInstructions + results / lanes_;
    w.scratch_traffic = e_.staged ? steps * (step.traffic + copied) : 0;
    if (e_.slices > 1) {
      const double sums = results * kWord * static_cast<double>(e_.slices - 1);
      w.scratch_traffic += 2 * sums;
      w.waits.barriers += 2;
    }
    const double shared = (tile(0) / static_cast<double>(e_.cluster[1]) +
                           tile(1) / static_cast<double>(e_.cluster[0])) *
                          tile(2) * bytes_;
    w.fills = steps * shared + results * kWord;
    w.near_traffic = steps * (e_.staged ? copied : step.traffic) + results * kWord;
    w.waits.far = 1;
    if (e_.staged) {
      w.waits.scratch = 1;
      w.waits.barriers += 1;
      w.steps = {steps, std::max(1.0, stages() - 1)};
    }
    w.grid = {
        rows,       columns,   o_.batches, split, tile(0) * part * bytes_, tile(1) * part * bytes_,
        o_.a_bytes, o_.b_bytes};
    w.read = o_.read;
    w.written = split > 1 ? split * o_.m * o_.n * o_.batches * kWord : o_.written;
    if (split > 1) w.handed_written = w.written;
    return w;
  }

  LaunchWork sum_of_parts(double split) const {
    LaunchWork w;
    const double results = o_.m * o_.n * o_.batches;
    w.entry = "sum of parts";
    w.threads = 256;
    w.groups = ceil_div(results, w.threads);
    w.operations.simple = w.threads * split;
    w.instructions = ceil_div(w.threads, lanes_) * (2 * split + kThreadInstructions);
    w.near_traffic = w.threads * (split + 1) * kWord;
    w.waits.far = 1;
    w.read = split * results * kWord;
    w.handed_read = w.read;
    w.written = o_.written;
    return w;
  }

  const LibraryOperator& o_;
  const ProductEntry& e_;
  const model::Machine& chip_;
  double lanes_, bytes_;
};

// The operator's operations, shared by so many groups.
model::Operations shared_by(const model::Operations& all, double groups) {
  return {all.multiply_adds / groups, all.simple / groups, all.divisions / groups,
          all.functions / groups};
}

double count(const model::Operations& o) {
  return o.multiply_adds + o.simple + o.divisions + o.functions;
}

LaunchWork rows_in_registers(const LibraryOperator& o, const RowEntry& e, double lanes) {
  LaunchWork w;
  w.entry = e.name;
  w.threads = static_cast<double>(e.threads);
  const double waves = ceil_div(w.threads, lanes);
  w.groups = ceil_div(o.rows, waves);
  const double held = ceil_div(o.columns, lanes);
  w.registers_per_thread = kThreadRegisters + held;
  w.operations = shared_by(o.operations, w.groups);
  const double moves = held / static_cast<double>(e.vector) * (o.writes_rows ? 2 : 1);
  const double reductions = static_cast<double>(o.reductions.size());
  w.instructions = waves * (moves + kThreadInstructions + 2 * reductions * exchanges(lanes)) +
                   count(w.operations) / lanes;
  w.waits.far = 1;
  w.waits.scratch = reductions * exchanges(lanes);
  w.waits.multiply_adds = reductions * held;
  w.near_traffic = (o.read + o.written) / w.groups;
  w.read = o.read;
  w.written = o.written;
  return w;
}

LaunchWork rows_by_groups(const LibraryOperator& o, const RowEntry& e, double lanes) {
  LaunchWork w;
  w.entry = e.name;
  w.threads = static_cast<double>(threads_for(e, static_cast<int64_t>(o.columns)));
  w.groups = o.rows;
  const double waves = ceil_div(w.threads, lanes), vector = static_cast<double>(e.vector);
  const double turns = ceil_div(o.columns, w.threads * vector);
  const double reducing = e.merges ? 1 : static_cast<double>(o.reductions.size());
  w.passes = reducing + (o.writes_rows ? 1 : 0);
  w.operations = shared_by(o.operations, w.groups);
  w.registers_per_thread = kThreadRegisters + 2 * vector;
  const double per_reduction = 2 * (exchanges(lanes) + exchanges(waves));
  w.instructions =
      waves * (turns * (w.passes + (o.writes_rows ? 1 : 0)) + w.passes * kLoopInstructions +
               kThreadInstructions + reducing * per_reduction) +
      count(w.operations) / lanes;
  w.waits.far = turns;
  w.waits.rereads = turns * (w.passes - 1);
  w.waits.scratch = reducing * (exchanges(lanes) + exchanges(waves) + 2);
  w.waits.barriers = 2 * reducing;
  w.waits.multiply_adds = turns * vector * w.passes;
  const double row = o.read / o.rows;
  w.near_traffic = row * w.passes + o.written / o.rows;
  w.group_read = row;
  w.group_written = o.written / o.rows;
  w.read = o.read;
  w.written = o.written;
  return w;
}

bool allows(const RowEntry& e, const LibraryOperator& o) {
  const auto columns = static_cast<int64_t>(o.columns);
  return columns > e.columns_more && columns <= e.columns_most &&
         (e.reductions.empty() || e.reductions == o.reductions);
}

LaunchWork pointwise(const LibraryOperator& o, const PointwiseEntry& e, double lanes) {
  LaunchWork w;
  w.entry = e.name;
  const double per_thread = static_cast<double>(e.per_thread),
               vector = static_cast<double>(e.vector);
  w.threads = static_cast<double>(e.threads);
  w.groups = ceil_div(o.elements, w.threads * per_thread);
  w.operations = shared_by(o.operations, w.groups);
  const double bytes = (o.read + o.written) / w.groups;
  const double moves = bytes / (lanes * vector * ir::bytes_of(o.type));
  w.instructions =
      moves + count(w.operations) / lanes + ceil_div(w.threads, lanes) * kThreadInstructions;
  w.registers_per_thread = kThreadRegisters + 2 * per_thread;
  const double window = o.window_reads / w.groups;
  w.instructions += window / lanes;
  w.near_traffic = bytes + window * ir::bytes_of(o.type);
  w.waits.far = 1;
  w.read = o.read;
  w.written = o.written;
  return w;
}

void add_rows(const LibraryOperator& o, const Catalogue& c, double lanes,
              std::vector<Launches>& out) {
  const bool named = std::any_of(c.rows.begin(), c.rows.end(), [&](const RowEntry& e) {
    return !e.reductions.empty() && allows(e, o);
  });
  for (const RowEntry& e : c.rows) {
    if (!allows(e, o) || e.reductions.empty() == named) continue;
    out.push_back({e.in_registers ? rows_in_registers(o, e, lanes) : rows_by_groups(o, e, lanes)});
  }
}

}  // namespace

std::string name_of(const Launches& l) {
  const model::LaunchWork& first = l.front();
  std::string out(first.entry);
  if (first.grid.splits > 1) out += fmt::format(" split {}", first.grid.splits);
  return out;
}

std::vector<Launches> candidates(const LibraryOperator& o, const Catalogue& c,
                                 const model::Machine& chip) {
  std::vector<Launches> out;
  const double lanes = chip.native_width;
  if (o.kind == LibraryOperator::Kind::product)
    for (const ProductEntry& e : c.products) Products(o, e, chip).add_to(out);
  if (o.kind == LibraryOperator::Kind::rows) add_rows(o, c, lanes, out);
  if (o.kind == LibraryOperator::Kind::pointwise)
    for (const PointwiseEntry& e : c.pointwise) out.push_back({pointwise(o, e, lanes)});
  return out;
}

}  // namespace assay::compiler
