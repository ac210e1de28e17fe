#include "ir/matrix.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "ir/element.h"

namespace assay::ir {
namespace {

std::vector<int64_t> physical_extents(const Fragment& f, int layout) {
  return physical_shape(f.memory[static_cast<size_t>(layout)].layout,
                        std::vector<int64_t>{f.mapping.rows(), f.mapping.cols()});
}

std::string print(const Fragment& f) {
  if (!f.memory.empty()) {
    std::string text = fmt::format("{} of memory", name_of(f.number));
    for (const FragmentLayout& l : f.memory) text += fmt::format(" {} {}", l.name, print(l.layout));
    return text;
  }
  std::string text = fmt::format("{}{} in {}: {}", f.tf32 ? "tf32 of " : "", name_of(f.number),
                                 name_of(f.element), print(f.mapping));
  if (!f.by_row.steps.empty()) text += fmt::format(", by row {}", print(f.by_row));
  if (!f.by_column.steps.empty()) text += fmt::format(", by column {}", print(f.by_column));
  return text;
}

double taken(const Fragment& f, double number) {
  if (!f.tf32) return number;
  return static_cast<double>(
      std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(number)) & 0xffffe000U));
}

struct Matrix {
  int cols;
  std::vector<double> numbers;
  double& at(const Task& t) { return numbers[static_cast<size_t>(t.row * cols + t.col)]; }
};

template <class F>
void for_items(const Fragment& f, F&& visit) {
  const int workers = f.mapping.workers(), per = f.per_register();
  for (int w = 0; w < workers; ++w)
    for (int i = 0; i < f.mapping.items(); ++i)
      visit(static_cast<size_t>(i / per * workers + w), i % per, f.mapping.task(w, i));
}

Matrix gather(const Fragment& f, const std::vector<double>& registers) {
  Matrix m{f.mapping.cols(), std::vector<double>(static_cast<size_t>(f.mapping.rows()) *
                                                 static_cast<size_t>(f.mapping.cols()))};
  for_items(f, [&](size_t at, int place, const Task& t) {
    m.at(t) = f.per_register() == 1 ? taken(f, registers[at])
                                    : unpack(f.number, bits_of(f.element, registers[at]), place);
  });
  return m;
}

double in_type(DType t, double v) {
  if (t == DType::i32 && std::isnan(v)) return 0;  // of what no store wrote
  return t == DType::i32 ? static_cast<double>(
                               static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(v))))
                         : rounded(t, v);
}

std::vector<double> scatter(const Fragment& f, Matrix m) {
  std::vector<double> registers(static_cast<size_t>(f.registers()) *
                                static_cast<size_t>(f.mapping.workers()));
  for_items(f, [&](size_t at, int place, const Task& t) {
    if (f.per_register() == 1)
      registers[at] = in_type(f.number, m.at(t));
    else
      registers[at] =
          of_bits(f.element, pack(f.number, bits_of(f.element, registers[at]), place, m.at(t)));
  });
  return registers;
}

}  // namespace

int run_elements(const Fragment& f, bool rows) {
  const TaskMapping& runs = rows ? f.by_row : f.by_column;
  if (runs.steps.empty()) return 0;
  return rows ? f.mapping.cols() / runs.cols() : f.mapping.rows() / runs.rows();
}

Task element_of_run(const Fragment& f, bool rows, int lane, int i) {
  const int n = run_elements(f, rows);
  const Task t = (rows ? f.by_row : f.by_column).task(lane, 0);
  return rows ? Task{t.row, t.col * n + i} : Task{t.row * n + i, t.col};
}

std::vector<double> registers_of(const Fragment& f, const std::vector<double>& matrix) {
  Matrix m{f.mapping.cols(), matrix};
  return scatter(f, std::move(m));
}

MatrixInstruction widened(const MatrixInstruction& i, int lanes) {
  if (i.workers() > 1 || i.c.mapping.steps.empty() || lanes <= 1) return i;
  using Kind = MappingStep::Kind;
  MatrixInstruction out = i;
  const auto around = [](Fragment& f, const MappingStep& step) {
    f.mapping.steps.insert(f.mapping.steps.begin(), step);
  };
  around(out.a, {Kind::replicate, lanes, 1});
  around(out.b, {Kind::spatial, 1, lanes});
  around(out.c, {Kind::spatial, 1, lanes});
  out.n *= lanes;
  return out;
}

std::string print(const MatrixInstruction& i) {
  return fmt::format("{}: m {} n {} k {}; a {}; b {}; c {}", i.name, i.m, i.n, i.k, print(i.a),
                     print(i.b), print(i.c));
}

int64_t memory_lines(const Fragment& f, int layout) { return physical_extents(f, layout)[0]; }

int64_t line_elements(const Fragment& f, int layout) {
  return int64_t{f.mapping.rows()} * f.mapping.cols() / memory_lines(f, layout);
}

int64_t memory_offset(const Fragment& f, int layout, const Task& t, int64_t stride) {
  const std::vector<int64_t> extents = physical_extents(f, layout);
  const std::vector<PhysicalDim>& dims = f.memory[static_cast<size_t>(layout)].layout.dims;
  int64_t at = 0, distance = 1;
  for (size_t p = dims.size(); p-- > 0;) {
    const int64_t index = (dims[p].dim == 0 ? t.row : t.col) / dims[p].div;
    at += (dims[p].mod > 0 ? index % dims[p].mod : index) * (p == 0 ? stride : distance);
    distance *= extents[p];
  }
  return at;
}

std::vector<double> multiply(const MatrixInstruction& i, const std::vector<double>& a,
                             const std::vector<double>& b, const std::vector<double>& c) {
  Matrix left = gather(i.a, a), right = gather(i.b, b), sum = gather(i.c, c);
  for (int row = 0; row < i.m; ++row)
    for (int col = 0; col < i.n; ++col)
      for (int k = 0; k < i.k; ++k) sum.at({row, col}) += left.at({row, k}) * right.at({k, col});
  return scatter(i.c, std::move(sum));
}

}  // namespace assay::ir
