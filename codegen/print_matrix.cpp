// Matrix instructions and opaque fragments.
#include <fmt/format.h>

#include "codegen/isa.h"
#include "codegen/printer.h"

namespace assay::codegen {
namespace {

// Of an instruction in this dialect; nullopt: noted as unsupported. Its header is in use.
std::optional<InstructionSpelling> spelling_of(Printer& p, int instruction) {
  const std::string& name = p.kernel.instructions[static_cast<size_t>(instruction)].name;
  auto found = find_instruction(name);
  if (found.ok())
    if (const auto s = found->spellings.find(p.dialect.name); s != found->spellings.end()) {
      if (!s->second.header.empty()) p.used.instruction_headers.insert(s->second.header);
      if (!s->second.begin.empty()) p.used.begin = s->second.begin;
      if (!s->second.end.empty()) p.used.end = s->second.end;
      return std::move(s->second);
    }
  p.unsupported.insert(fmt::format("matrix instruction '{}'", name));
  return std::nullopt;
}

const ir::Register& register_of(const Printer& p, int reg) {
  return p.kernel.registers[static_cast<size_t>(reg)];
}

Text name_of(const Printer& p, int reg) { return {p.register_names[static_cast<size_t>(reg)]}; }

Text layout_of(const Printer& p, int reg) {
  const ir::Register& r = register_of(p, reg);
  return {ir::fragment_in(p.kernel, r)->memory[static_cast<size_t>(r.fragment.layout)].name};
}

void print_opaque(Printer& p, const InstructionSpelling& spelling, const ir::MatrixMultiply& s) {
  p.line(fill(spelling.text, {{"a", name_of(p, s.a[0])},
                              {"b", name_of(p, s.b[0])},
                              {"c", name_of(p, s.c[0])},
                              {"a_layout", layout_of(p, s.a[0])},
                              {"b_layout", layout_of(p, s.b[0])}})
             .text);
}

}  // namespace

bool is_opaque(const Printer& p, int reg) { return register_of(p, reg).fragment.instruction >= 0; }

void print(Printer& p, const ir::MatrixMultiply& s) {
  const auto spelling = spelling_of(p, s.instruction);
  if (!spelling) return;
  if (p.kernel.instructions[static_cast<size_t>(s.instruction)].opaque())
    return print_opaque(p, *spelling, s);
  std::vector<std::string> holes;
  for (const auto& [operand, regs] : {std::pair{'a', &s.a}, {'b', &s.b}, {'c', &s.c}, {'d', &s.d}})
    for (size_t i = 0; i < regs->size(); ++i) holes.push_back(fmt::format("{}{}", operand, i));
  std::vector<Filling> fillings;
  size_t hole = 0;
  for (const std::vector<int>* regs : {&s.a, &s.b, &s.c, &s.d})
    for (const int r : *regs) fillings.emplace_back(holes[hole++], name_of(p, r));
  p.line(fill(spelling->text, fillings).text);
}

void print(Printer& p, const ir::LoadFragment& s) {
  const auto spelling = spelling_of(p, s.instruction);
  if (!spelling) return;
  std::vector<std::string> holes;
  for (size_t r = 0; r < s.regs.size(); ++r) holes.push_back(fmt::format("r{}", r));
  std::vector<Filling> fillings{{"address", print_address(p, s.id, s.index)}};
  for (size_t r = 0; r < s.regs.size(); ++r) fillings.emplace_back(holes[r], name_of(p, s.regs[r]));
  const Template& text = s.operand == 'a' ? (s.by_row ? spelling->a_by_row : spelling->a_by_column)
                                          : (s.by_row ? spelling->b_by_row : spelling->b_by_column);
  p.line(fill(text, fillings).text);
}

void print_zeroed(Printer& p, int reg) {
  if (const auto s = spelling_of(p, register_of(p, reg).fragment.instruction))
    p.line(fill(s->zero, {{"register", name_of(p, reg)}}).text);
}

// A number is that of the next free register: those of closed blocks are free again.
void print_declared(Printer& p, int reg) {
  const ir::FragmentType& type = register_of(p, reg).fragment;
  const auto s = spelling_of(p, type.instruction);
  if (!s) return;
  const ir::MatrixInstruction& i = p.kernel.instructions[static_cast<size_t>(type.instruction)];
  if (i.registers > 0) {
    if (p.numbered >= i.registers)
      p.unsupported.insert(fmt::format("more than {} fragments of '{}'", i.registers, i.name));
    p.register_names[static_cast<size_t>(reg)] = std::to_string(p.numbered++);
    return;
  }
  const Template& text = type.operand == 'a'   ? s->declare_a
                         : type.operand == 'b' ? s->declare_b
                                               : s->declare_c;
  p.line(fill(text, {{"register", name_of(p, reg)}, {"layout", layout_of(p, reg)}}).text);
}

// Lanes of a wave write scratch that a fragment is loaded from, and read one that was stored.
void print(Printer& p, const ir::MoveFragment& s) {
  const ir::FragmentType& type = register_of(p, s.reg).fragment;
  const auto spelling = spelling_of(p, type.instruction);
  if (!spelling) return;
  const ir::Buffer& b = p.buffer(s.id);
  const bool synced = p.threads > 1 && b.scope == ir::Scope::scratch && !spelling->sync.empty();
  if (synced) p.line(spelling->sync);
  const Template& text = s.store               ? spelling->store_c
                         : type.operand == 'a' ? spelling->load_a
                                               : spelling->load_b;
  p.line(fill(text, {{"register", name_of(p, s.reg)},
                     {"address", print_address(p, s.id, s.index)},
                     {"buffer", {p.buffer_name(s.id)}},
                     {"index", print_index(p, s.index)},
                     {"stride", {std::to_string(s.stride)}},
                     {"bytes", {std::to_string(s.stride * ir::bytes_of(b.dtype))}},
                     {"layout", layout_of(p, s.reg)}})
             .text);
  if (synced) p.line(spelling->sync);
}

}  // namespace assay::codegen
