// Kernels of matrix instructions, and which of them a device has.
#include "probe/kernels/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "codegen/isa.h"
#include "ir/element.h"
#include "probe/kernels/code.h"
#include "runtime/source.h"

namespace assay::probe {
namespace {

constexpr int kIteration = 48;  // instructions, about
constexpr double kBytesOfOne = 0x01010101;
constexpr int kWord = 4;  // bytes in which results are stored and read back

std::vector<std::string> words_of(const runtime::DeviceInfo& info, const std::string& wanted) {
  std::istringstream in(info.fact(wanted));
  return {std::istream_iterator<std::string>(in), {}};
}

// A simulated chip lists its instructions. Of others the dialect and the architecture decide.
bool has(const runtime::DeviceInfo& info, const codegen::Instruction& i) {
  if (info.simulated) {
    const auto all = words_of(info, "matrix");
    return std::find(all.begin(), all.end(), i.computes.name) != all.end();
  }
  const auto spelling = i.spellings.find(runtime::dialect_of(info));
  return spelling != i.spellings.end() && codegen::has_needs(spelling->second.needs, info.facts);
}

// Programs use vectors of the widest lanes alone. Tile registers are a core's.
bool fits(const KernelShape& shape, const ir::MatrixInstruction& i) {
  if (shape.lanes.empty() || (i.opaque() && shape.threads != (i.registers == 0))) return false;
  const int widest = *std::max_element(shape.lanes.begin(), shape.lanes.end());
  if (i.opaque()) return (shape.threads ? i.m * i.n : i.n) % widest == 0;
  return shape.threads
             ? std::find(shape.lanes.begin(), shape.lanes.end(), i.workers()) != shape.lanes.end()
             : i.workers() > 1 && i.workers() == widest;
}

// Registers of an operand whose value the compiler does not know.
std::vector<int> operand(ir::Kernel& k, const std::string& name, const ir::Fragment& f,
                         double number) {
  std::vector<int> regs;
  const double one =
      f.per_register() > 1 && f.element == ir::DType::i32 ? number * kBytesOfOne : number;
  for (int r = 0; r < f.registers(); ++r) {
    regs.push_back(
        code::add_register(k, fmt::format("{}{}", name, r), f.element, f.mapping.workers()));
    k.body.push_back(code::declare(regs.back(), 1));
    k.body.push_back(
        code::set(regs.back(), code::opaque(code::number(one, f.element, f.mapping.workers()))));
  }
  return regs;
}

ir::Kernel kernel_of(const ir::MatrixInstruction& i, int chains) {
  ir::Kernel k = code::empty(matrix_kernel(i.name, chains));
  const int out = code::add_buffer(k, "out", i.c.element, true);
  k.instructions.push_back(i);
  const std::vector<int> a = operand(k, "a", i.a, 1), b = operand(k, "b", i.b, 1);
  std::vector<std::vector<int>> sums;
  for (int c = 0; c < chains; ++c) sums.push_back(operand(k, fmt::format("c{}_", c), i.c, c));
  ir::Block body;
  for (int n = 0; n < matrix_steps(chains) / chains; ++n)
    for (const std::vector<int>& c : sums) body.push_back({ir::MatrixMultiply{0, c, a, b, c}});
  code::counted_loop(k, std::move(body));
  for (const std::vector<int>& c : sums)
    for (const int r : c)
      if (r != sums[0][0]) k.body.push_back(code::keep(r));
  k.body.push_back(code::store(out, ir::variable(0, kSlotFloats), code::reg(k, sums[0][0])));
  return k;
}

void add_memory(ir::Kernel& k, const ir::Fragment& f, char operand) {
  ir::Buffer b;
  b.name = std::string(1, operand) + "_memory";
  b.dtype = f.number;
  b.elements = f.mapping.workers();
  b.scope = ir::Scope::scratch;
  k.buffers.push_back(std::move(b));
}

int fragment_register(ir::Kernel& k, const ir::MatrixInstruction& i, char operand, int number) {
  const ir::Fragment& f = i.operand(operand);
  const int reg =
      code::add_register(k, fmt::format("{}{}", operand, number), f.number, f.mapping.workers());
  k.registers.back().fragment = {0, operand, 0};
  k.body.push_back(code::declare(reg, 1));
  return reg;
}

ir::Kernel kernel_of_opaque(const ir::MatrixInstruction& i, int chains) {
  constexpr int kFirstScratch = 2, kStored = 32;  // behind results and parameters; lanes
  ir::Kernel k = code::empty(matrix_kernel(i.name, chains));
  const int out = code::add_buffer(k, "out", i.c.number, true);
  k.instructions.push_back(i);
  std::vector<int> operands, sums;
  for (const char name : {'a', 'b'}) {
    const ir::Fragment& f = i.operand(name);
    const int reg = fragment_register(k, i, name, 0),
              memory = kFirstScratch + static_cast<int>(operands.size());
    k.body.push_back(
        code::store(memory, ir::constant(0), code::number(1, f.number, f.mapping.workers())));
    k.body.push_back(
        {ir::MoveFragment{false, reg, memory, ir::constant(0), ir::line_elements(f, 0)}});
    operands.push_back(reg);
  }
  for (int c = 0; c < chains; ++c) {
    sums.push_back(fragment_register(k, i, 'c', c));
    k.body.push_back(code::set(sums[static_cast<size_t>(c)],
                               code::number(0, i.c.number, i.c.mapping.workers())));
  }
  ir::Block body;
  for (int n = 0; n < matrix_steps(chains) / chains; ++n)
    for (const int c : sums)
      body.push_back({ir::MatrixMultiply{0, {c}, {operands[0]}, {operands[1]}, {c}}});
  code::counted_loop(k, std::move(body));
  const int memory = kFirstScratch + 2;
  k.body.push_back(
      {ir::MoveFragment{true, sums[0], memory, ir::constant(0), ir::line_elements(i.c, 0)}});
  for (const char name : {'a', 'b', 'c'}) add_memory(k, i.operand(name), name);
  k.body.push_back(code::store(out, ir::variable(0, kSlotFloats),
                               code::load(memory, ir::constant(0), i.c.number, kStored)));
  return k;
}

}  // namespace

std::string matrix_kernel(const std::string& instruction, int chains) {
  std::string out = fmt::format("matrix_{}_{}", instruction, chains);
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

std::vector<int> matrix_chains(const ir::MatrixInstruction& i) {
  constexpr int kOperands = 2;
  std::vector<int> out;
  for (const int chains : kMatrixChains)
    if (i.registers == 0 || chains + kOperands <= i.registers) out.push_back(chains);
  return out;
}

int matrix_steps(int chains) { return chains * std::max(1, kIteration / chains); }

double matrix_result(const ir::MatrixInstruction& i, int64_t steps) {
  const ir::DType t = i.c.number;
  double x = 0;
  for (int64_t n = 0; n < steps; ++n) x = ir::is_integer(t) ? x + i.k : ir::rounded(t, x + i.k);
  return x;
}

void add_abilities(const runtime::DeviceInfo& info, KernelShape& shape) {
  shape.types = words_of(info, "types");
  for (const std::string& name : codegen::instruction_names()) {
    const auto i = codegen::find_instruction(name);
    if (!i.ok() || !i->computes.has_fragments() || !has(info, *i)) continue;
    if (ir::bytes_of(i->computes.c.element) != kWord) continue;
    if (i->computes.workers() == 1 && !i->computes.opaque() && shape.threads &&
        !shape.lanes.empty())
      shape.matrix.push_back(
          ir::widened(i->computes, *std::max_element(shape.lanes.begin(), shape.lanes.end())));
    else if (fits(shape, i->computes))
      shape.matrix.push_back(i->computes);
  }
}

void add_matrix_kernels(const KernelShape& shape, std::vector<ir::Kernel>& to) {
  for (const ir::MatrixInstruction& i : shape.matrix)
    for (const int chains : matrix_chains(i))
      to.push_back(i.opaque() ? kernel_of_opaque(i, chains) : kernel_of(i, chains));
}

}  // namespace assay::probe
