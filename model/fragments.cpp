#include "model/fragments.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lower/fragment_runs.h"
#include "lower/instruction.h"
#include "lower/nest.h"
#include "model/lane_addresses.h"
#include "model/mapped_copies.h"

namespace assay::model {
namespace {

constexpr int kWord = 4;  // bytes of a register

struct FragmentMemory {  // what the lanes of a fragment read or write
  const ir::Layout& layout;
  std::vector<int64_t> shape;
  std::vector<ir::Index> index;  // per dimension, over the anchor's axes
  int bytes = kWord;             // of an element
  bool staged = false;
};

FragmentMemory memory_of(const ir::Program& p, int read) {
  const ir::Node& anchor = p.graph.nodes[0];
  if (read < 0) {
    const auto t = static_cast<size_t>(p.graph.outputs[0]);
    FragmentMemory out{
        p.layouts[t], p.graph.tensors[t].shape, {}, ir::bytes_of(p.graph.tensors[t].dtype)};
    for (size_t d = 0; d < out.shape.size(); ++d)
      out.index.push_back(ir::variable(static_cast<int>(d)));
    return out;
  }
  const ir::Read& r = anchor.reads[static_cast<size_t>(read)];
  const auto t = static_cast<size_t>(r.tensor);
  for (const ir::Staging& s : p.staging)
    if (s.read == read)
      return {s.layout, lower::staged_shape(p, s), r.index, ir::bytes_of(lower::staged_type(p, s)),
              true};
  return {p.layouts[t], p.graph.tensors[t].shape, r.index, ir::bytes_of(p.graph.tensors[t].dtype)};
}

// Byte of the element at a position of the anchor's axes.
int64_t byte_at(const FragmentMemory& s, const std::vector<int64_t>& position) {
  std::vector<ir::Index> at;
  for (const ir::Index& i : s.index)
    at.push_back(ir::constant(std::max<int64_t>(0, ir::evaluate(i, position))));
  return ir::evaluate(ir::physical_offset(s.layout, s.shape, at, {}), {}) * s.bytes;
}

double tiles_along(const ir::Program& p, int axis, int64_t step) {
  return axis < 0
             ? 1
             : std::ceil(static_cast<double>(p.tiles.back().extent[static_cast<size_t>(axis)]) /
                         static_cast<double>(step));
}

// Spatial axes that are unrolled one by one.
double others(const ir::Program& p, const lower::MatrixProduct& m) {
  double n = 1;
  for (int a = 0; a < ir::spatial_count(p.graph, p.graph.nodes[0]); ++a)
    if (a != m.m && a != m.n) n *= tiles_along(p, a, 1);
  return n;
}

}  // namespace

double fragments_of_tile(const ir::Program& p) {
  const auto m = lower::matrix_product(p);
  if (!m) return 1;
  return tiles_along(p, m->m, m->instruction.m) * tiles_along(p, m->n, m->instruction.n) *
         others(p, *m);
}

double fragment_registers(const ir::Program& p) {
  const auto m = lower::matrix_product(p);
  if (!m) return 0;
  const ir::MatrixInstruction& i = m->instruction;
  // What is spread evenly over the lanes of a wave.
  const auto registers = [&](const ir::Fragment& f) {
    return i.opaque() ? std::ceil(double{1} * f.mapping.workers() * ir::bytes_of(f.number) /
                                  (kWord * p.vector_width))
                      : double{1} * f.registers();
  };
  const double rows = tiles_along(p, m->m, i.m), columns = tiles_along(p, m->n, i.n);
  // What is copied and what is multiplied are not held at the same time.
  return others(p, *m) * rows * columns * registers(i.c) +
         std::max(others(p, *m) * (rows * registers(i.a) + columns * registers(i.b)),
                  run_registers(p));
}

double fragment_cycles(const ir::Program& p, int read, const WaveShape& shape) {
  const auto m = lower::matrix_product(p);
  if (!m) return 1;
  const ir::MatrixInstruction& i = m->instruction;
  const ir::Fragment& f = read < 0 ? i.c : read == m->a ? i.a : i.b;
  const int rows = read == m->b ? m->k : m->m, columns = read >= 0 && read == m->a ? m->k : m->n;
  const FragmentMemory s = memory_of(p, read);
  std::vector<int64_t> bytes;
  for (int l = 0; l < std::min(f.mapping.workers(), p.vector_width); ++l) {
    const ir::Task t = f.mapping.task(l, 0);
    std::vector<int64_t> position(p.graph.nodes[0].axes.size(), 0);
    if (rows >= 0) position[static_cast<size_t>(rows)] = t.row;
    if (columns >= 0) position[static_cast<size_t>(columns)] = t.col;
    bytes.push_back(byte_at(s, position));
  }
  if (!s.staged)
    return line_cycles(bytes, kWord, static_cast<int64_t>(shape.line),
                       static_cast<int64_t>(bytes.size()) * kWord);
  for (int64_t& b : bytes) b /= static_cast<int64_t>(shape.bank_width);
  return bank_cycles(bytes, 1, static_cast<int>(shape.banks));
}

double wave_load_cycles(const ir::Program& p, int read, const WaveShape& shape) {
  const auto m = lower::matrix_product(p);
  const auto by_row = m ? lower::runs_by_row(p, *m, read) : std::nullopt;
  if (!by_row) return 1;
  const lower::FragmentSide side = lower::side_of(*m, read);
  const ir::TaskMapping& runs = *by_row ? side.fragment.by_row : side.fragment.by_column;
  const int n = ir::run_elements(side.fragment, *by_row);
  const FragmentMemory s = memory_of(p, read);
  const auto bank = static_cast<int64_t>(shape.bank_width);
  std::vector<int64_t> words;  // of one run after the other
  for (int l = 0; l < runs.workers(); ++l) {
    const ir::Task t = ir::element_of_run(side.fragment, *by_row, l, 0);
    std::vector<int64_t> position(p.graph.nodes[0].axes.size(), 0);
    position[static_cast<size_t>(side.rows)] = t.row;
    position[static_cast<size_t>(side.columns)] = t.col;
    for (int64_t w = 0; w < std::max<int64_t>(1, n * s.bytes / bank); ++w)
      words.push_back(byte_at(s, position) / bank + w);
  }
  // In phases of as many words as there are banks.
  const auto phase = static_cast<size_t>(shape.banks);
  double cycles = 0;
  for (size_t first = 0; first < words.size(); first += phase)
    cycles += bank_cycles(std::span(words).subspan(first, std::min(phase, words.size() - first)), 1,
                          static_cast<int>(shape.banks));
  return cycles;
}

double line_bytes(const ir::Program& p, int read) {
  if (lower::fragment_scratch(p) == 0) return 0;  // it has none
  const auto m = lower::matrix_product(p);
  if (!m) return 0;
  const ir::Fragment& f = m->instruction.operand(read < 0 ? 'c' : read == m->a ? 'a' : 'b');
  return static_cast<double>(ir::line_elements(f, 0)) * ir::bytes_of(f.number);
}

}  // namespace assay::model
