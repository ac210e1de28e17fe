// Opaque fragments: what their instructions compute, how they are printed, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "codegen/dialect.h"
#include "codegen/interpret.h"
#include "codegen/isa.h"
#include "codegen/render.h"
#include "ir/element.h"

namespace assay::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTiles = "amx.tdpbssd.m16n16k64.i8.i32";
constexpr const char* kWaves = "sm70.wmma.m16n16k16.f16.f32";
constexpr int64_t kBefore = 64;  // elements in front of a matrix in its buffer

struct Layouts {
  int a = 0, b = 0, c = 0;
};

// Loads a and b, zeroes c, multiplies twice and stores c. Lines have 32 elements more than they
// need.
ir::Kernel twice(const ir::MatrixInstruction& i, const Layouts& layouts) {
  ir::Kernel k;
  k.name = "twice";
  k.index_names = {"group"};
  k.instructions = {i};
  const auto add = [&](char name, const ir::Fragment& f, int layout) {
    const int reg = static_cast<int>(k.registers.size());
    k.registers.push_back({std::string(1, name), f.number, f.mapping.workers(), {0, name, layout}});
    const int64_t stride = ir::line_elements(f, layout) + 32;
    k.buffers.push_back({std::string("m") + name, f.number,
                         kBefore + ir::memory_lines(f, layout) * stride, ir::Scope::global,
                         name == 'c'});
    return ir::MoveFragment{name == 'c', reg, reg, ir::constant(kBefore), stride};
  };
  const ir::MoveFragment a = add('a', i.a, layouts.a), b = add('b', i.b, layouts.b),
                         c = add('c', i.c, layouts.c);
  ir::Value zero;
  zero.dtype = i.c.number;
  zero.lanes = i.c.mapping.workers();
  k.body = {{ir::Declare{{2, 0, 1}}},
            {ir::Assign{2, zero}},
            {a},
            {b},
            {ir::MatrixMultiply{0, {2}, {0}, {1}, {2}}},
            {ir::MatrixMultiply{0, {2}, {0}, {1}, {2}}},
            {c}};
  return k;
}

// Where the manuals have the element of a matrix in memory.
int64_t place_in(const std::string& layout, int64_t stride, int row, int col) {
  const int64_t group = layout == "pairs" ? 2 : layout == "fours" ? 4 : 1;
  if (layout == "col") return kBefore + col * stride + row;
  return kBefore + row / group * stride + col * group + row % group;
}

double drawn(ir::DType t, std::mt19937& rng) {
  if (t == ir::DType::u8) return std::uniform_int_distribution<int>(0, 255)(rng);
  if (t == ir::DType::i8) return std::uniform_int_distribution<int>(-128, 127)(rng);
  return std::uniform_int_distribution<int>(-16, 16)(rng) / 8.0;
}

TEST(Opaque, instructions_multiply_matrices_in_every_layout) {
  std::mt19937 rng(7);
  int seen = 0;
  for (const std::string& name : instruction_names()) {
    const auto found = find_instruction(name);
    ASSERT_TRUE(found.ok()) << render(found.diags());
    const ir::MatrixInstruction& i = found->computes;
    if (!i.opaque()) continue;
    const auto n = [](const ir::Fragment& f) { return static_cast<int>(f.memory.size()); };
    for (int all = 0; all < n(i.a) * n(i.b) * n(i.c); ++all) {
      const Layouts l{all % n(i.a), all / n(i.a) % n(i.b), all / n(i.a) / n(i.b)};
      const ir::Kernel k = twice(i, l);
      std::vector<std::vector<double>> data;
      for (const ir::Buffer& b : k.buffers)
        for (data.emplace_back(); data.back().size() < static_cast<size_t>(b.elements);)
          data.back().push_back(drawn(b.dtype, rng));
      const std::vector<std::vector<double>> before = data;
      const auto counts = interpret(k, data);
      ASSERT_TRUE(counts.ok()) << render(counts.diags());
      EXPECT_EQ(counts->matrix, 2);
      const auto at = [&](const ir::Fragment& f, int layout, size_t buffer, int row, int col) {
        const auto& s = std::get<ir::MoveFragment>(k.body[buffer == 2 ? 6 : 2 + buffer].node);
        return static_cast<size_t>(
            place_in(f.memory[static_cast<size_t>(layout)].name, s.stride, row, col));
      };
      size_t changed = 0;
      for (size_t e = 0; e < data[2].size(); ++e) changed += data[2][e] != before[2][e];
      EXPECT_LE(changed, static_cast<size_t>(i.m * i.n)) << "what lies around it stays";
      for (int row = 0; row < i.m; ++row)
        for (int col = 0; col < i.n; ++col) {
          double sum = 0;
          for (int depth = 0; depth < i.k; ++depth)
            sum += 2 * data[0][at(i.a, l.a, 0, row, depth)] * data[1][at(i.b, l.b, 1, depth, col)];
          ASSERT_EQ(data[2][at(i.c, l.c, 2, row, col)], sum)
              << name << " " << row << ", " << col << " layouts " << all;
        }
      ++seen;
    }
  }
  EXPECT_GE(seen, 3 + 8);
}

std::string printed(const std::string& dialect, const ir::Kernel& k, int threads) {
  const auto d = parse_dialect(dialect_text(dialect), dialect);
  EXPECT_TRUE(d.ok());
  const auto text = codegen::render(std::span(&k, 1), *d, threads);
  return text.ok() ? *text : render(text.diags());
}

TEST(Opaque, registers_of_a_core_are_numbers) {
  ir::Kernel k = twice(find_instruction(kTiles)->computes, {});
  const std::string text = printed("cpp", k, 1);
  EXPECT_THAT(text, AllOf(HasSubstr("tilezero %%tmm0"), HasSubstr("tileloadd (%0,%1,1), %%tmm1"),
                          HasSubstr("tdpbssd %%tmm2, %%tmm1, %%tmm0"),
                          HasSubstr("tilestored %%tmm0"), HasSubstr("\"r\"((int64_t)96)")));
  const size_t begins = text.find("  configure_tiles();"), loop = text.find("for (int64_t group"),
               ends = text.find("release_tiles();", loop);
  EXPECT_LT(begins, loop) << "once for all groups";
  EXPECT_NE(ends, std::string::npos);
  // A block's registers are free after it.
  ir::If block{{}, {k.body.begin(), k.body.end()}, {}};
  ir::Kernel blocks = k;
  blocks.body = {{block}};
  const size_t registers = k.registers.size();
  for (int n = 1; n < 4; ++n) {
    ir::If next = block;
    for (size_t r = 0; r < registers; ++r) blocks.registers.push_back(k.registers[r]);
    const int by = n * static_cast<int>(registers);
    for (ir::Stmt& s : next.then_body) {
      if (auto* d = std::get_if<ir::Declare>(&s.node))
        for (int& r : d->regs) r += by;
      if (auto* a = std::get_if<ir::Assign>(&s.node)) a->reg += by;
      if (auto* m = std::get_if<ir::MoveFragment>(&s.node)) m->reg += by;
      if (auto* m = std::get_if<ir::MatrixMultiply>(&s.node))
        *m = {0, {m->d[0] + by}, {m->a[0] + by}, {m->b[0] + by}, {m->c[0] + by}};
    }
    blocks.body.push_back({next});
  }
  EXPECT_THAT(printed("cpp", blocks, 1), AllOf(HasSubstr("%%tmm2"), Not(HasSubstr("%%tmm3"))));
  ir::Declare more;
  for (int n = 0; n < 6; ++n) {
    more.regs.push_back(static_cast<int>(k.registers.size()));
    k.registers.push_back(k.registers[0]);
  }
  k.body.push_back({more});
  EXPECT_THAT(printed("cpp", k, 1), HasSubstr("more than 8 fragments of 'amx.tdpbssd"));
}

TEST(Opaque, registers_of_a_wave_are_variables_of_its_threads) {
  const ir::Kernel k = twice(find_instruction(kWaves)->computes, {1, 0, 0});
  const std::string text = printed("cuda", k, 32);
  EXPECT_THAT(text, AllOf(HasSubstr("wmma.load.a.sync.aligned.col.m16n16k16.f16"),
                          HasSubstr("wmma.load.b.sync.aligned.row.m16n16k16.f16"),
                          HasSubstr("wmma.mma.sync.aligned.col.row.m16n16k16.f32.f32"),
                          HasSubstr("wmma.store.d.sync.aligned.row.m16n16k16.f32")));
  EXPECT_THAT(text, Not(HasSubstr("__syncwarp"))) << "no scratch";
  EXPECT_THAT(printed("opencl", k, 32), HasSubstr("can not spell matrix instruction"));
}

template <class Change>
std::string refusal(const Change& change) {
  ir::Kernel k = twice(find_instruction(kTiles)->computes, {});
  change(k);
  return render(ir::verify(k));
}

TEST(Opaque, what_is_no_move_of_a_whole_fragment_is_refused) {
  EXPECT_EQ(refusal([](ir::Kernel&) {}), "");
  EXPECT_THAT(refusal([](ir::Kernel& k) { k.buffers[0].dtype = ir::DType::u8; }),
              HasSubstr("a fragment of i8 is moved whole, and buffer 'ma' has u8"));
  EXPECT_THAT(refusal([](ir::Kernel& k) { k.buffers[2].written = false; }),
              HasSubstr("stored to but not marked written"));
  EXPECT_THAT(refusal([](ir::Kernel& k) { k.registers[0].fragment = {}; }),
              AllOf(HasSubstr("register 'a' is loaded whole: it holds no opaque fragment"),
                    HasSubstr("register 'a' is no part of a")));
  EXPECT_THAT(refusal([](ir::Kernel& k) { k.registers[0].fragment.layout = 1; }),
              HasSubstr("register 'a' has no layout 1"));
  EXPECT_THAT(refusal([](ir::Kernel& k) { std::get<ir::Assign>(k.body[1].node).value.number = 1; }),
              HasSubstr("is zeroed or loaded"));
  EXPECT_THAT(refusal([](ir::Kernel& k) {
                ir::Value read;
                read.op = ir::ValueOp::reg;
                read.id = 2;
                read.dtype = ir::DType::i32;
                read.lanes = 256;
                k.body.push_back({ir::Store{2, {}, 1, 256, {}, read, {}}});
              }),
              HasSubstr("holds an opaque fragment, which no lane reads"));
}

std::string complaints(const std::string& from, const std::string& to) {
  std::string text(instruction_text(kTiles));
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto i = parse_instruction(text.replace(at, from.size(), to), "i.yaml");
  return i.ok() ? "" : render(i.diags());
}

TEST(Opaque, faults_of_files_are_named_with_their_place) {
  EXPECT_EQ(complaints("m: 16", "m: 16"), "");
  EXPECT_THAT(complaints("\"[0/4, 1, 0%4]\"", "\"[0/4, 2, 0%4]\""),
              AllOf(HasSubstr("i.yaml:8:"), HasSubstr("no layout of the fragment")));
  EXPECT_THAT(complaints("\"[0/4, 1, 0%4]\"", "\"[0/3, 1, 0%3]\""),
              HasSubstr("its blocks do not divide 64 x 16"));
  EXPECT_THAT(complaints("{fours: \"[0/4, 1, 0%4]\"}", "{}"),
              HasSubstr("expected a map from names of layouts to layouts"));
  EXPECT_THAT(complaints(", memory: {fours: \"[0/4, 1, 0%4]\"}", ""),
              HasSubstr("of a, b and c only some have a mapping, or layouts in memory"));
  EXPECT_THAT(complaints("{dtype: i8, memory: {rows", "{dtype: i8, in: i32, memory: {rows"),
              HasSubstr("elements of an opaque fragment share no register"));
  EXPECT_THAT(complaints("    zero:", "    zeros:"),
              AllOf(HasSubstr("unknown key 'zeros'"), HasSubstr("'zero' is missing")));
  EXPECT_THAT(complaints("tmm{register}\" : :)", "tmm{registers}\" : :)"),
              HasSubstr("unknown hole {registers}"));
  EXPECT_THAT(complaints("    zero:", "    declare_a: int {register};\n    zero:"),
              HasSubstr("registers that have numbers are not declared"));
}

}  // namespace
}  // namespace assay::codegen
