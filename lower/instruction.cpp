#include "lower/instruction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "hwdesc/library.h"
#include "ir/computed_type.h"
#include "ir/element.h"
#include "ir/text_matrix.h"
#include "lower/nest.h"
#include "support/edit_distance.h"

namespace assay::lower {

namespace {

using Library = std::map<std::string, KnownInstruction, std::less<>>;

Library read_library() {
  Library out;
  for (const hwdesc::LibraryEntry& e : hwdesc::library()) {
    if (e.kind != hwdesc::LibraryKind::isa) continue;
    const auto doc = yaml::parse(e.text, std::string(e.file));
    if (!doc) continue;
    yaml::Reader reader{*doc};
    KnownInstruction known{ir::read_instruction(reader, doc->root), {}};
    if (const yaml::Node* spellings = doc->root.find("spellings"))
      for (const yaml::Entry& s : spellings->entries) known.dialects.push_back(s.key);
    if (!has_error(reader.diags)) out.emplace(std::string(e.name), std::move(known));
  }
  return out;
}

const Library& instructions() {
  static const Library all = read_library();
  return all;
}

// Of the candidates whose tile holds whole fragments, the one with the largest; else one that the
// tile covers. -1: none.
int best_axis(const ir::Program& p, const std::vector<int>& candidates, int64_t step) {
  int best = -1;
  const auto tile = [&](int a) { return p.tiles.back().extent[static_cast<size_t>(a)]; };
  const auto rank = [&](int a) {
    const bool whole = tile(a) == p.graph.nodes[0].axes[static_cast<size_t>(a)].extent;
    return tile(a) % step == 0 ? tile(a) + step : whole ? 1 : 0;
  };
  for (const int a : candidates)
    if (best < 0 || rank(a) >= rank(best)) best = a;
  return best;
}

class Finder {
 public:
  explicit Finder(const ir::Program& p)
      : p_(p),
        anchor_(p.graph.nodes[0]),
        spatial_(ir::spatial_count(p.graph, anchor_)),
        instruction_(ir::widened(known_instruction(p.instruction)->computes, p.vector_width)) {}

  Result<MatrixProduct> find() {
    MatrixProduct out{instruction_, 0, 1, -1, p_.vector_axis, -1};
    if (!is_product())
      fail("computes a sum of products of two operands, which " + anchor_.name + " is not");
    else if (instruction_.opaque())
      find_dealt(out);
    else if (p_.vector_axis < 0 || p_.vector_width != instruction_.workers())
      fail("has fragments in " + std::to_string(instruction_.workers()) +
               " lanes, the vector width is " + std::to_string(p_.vector_width),
           "vector: {axis: <of columns>, width: " + std::to_string(instruction_.workers()) + "}");
    else
      find_axes(out);
    if (diags_.empty()) check_tile(out);
    if (diags_.empty()) check_types(out);
    if (!diags_.empty()) return diags_;
    return out;
  }

 private:
  void fail(const std::string& what, const std::string& hint = "") {
    diags_.push_back(
        error(p_.name + ": matrix instruction '" + p_.instruction + "' " + what, hint));
  }
  const std::string& axis(int a) const { return anchor_.axes[static_cast<size_t>(a)].name; }
  const std::string& tensor(int read) const {
    return p_.graph.tensors[static_cast<size_t>(anchor_.reads[static_cast<size_t>(read)].tensor)]
        .name;
  }
  bool moves(int read, int a) const { return ir::moves_with(anchor_, read, a); }

  bool is_product() const {
    const auto reads = [](const ir::Scalar& s) { return s.op == ir::ScalarOp::read; };
    return ir::is_expression(anchor_) && anchor_.combine == ir::Combiner::sum &&
           anchor_.reads.size() == 2 && anchor_.body.op == ir::ScalarOp::mul &&
           std::all_of(anchor_.body.args.begin(), anchor_.body.args.end(), reads) &&
           anchor_.body.args[0].operand != anchor_.body.args[1].operand;
  }

  void find_dealt(MatrixProduct& out) {
    const auto even = [&](const ir::Fragment& f) {
      return dealt(f, p_.vector_width, true, 0, 1).has_value();
    };
    if (p_.vector_axis < 0 || !even(instruction_.a) || !even(instruction_.b) ||
        !even(instruction_.c))
      return fail("has fragments whose rows of " + std::to_string(instruction_.n) + " elements " +
                      std::to_string(p_.vector_width) + " lanes do not share evenly",
                  "vector: {axis: <of columns>, width: <a divisor or a multiple>}");
    find_axes(out);
  }

  void find_axes(MatrixProduct& out) {
    if (moves(0, out.n) == moves(1, out.n))
      return fail("has columns of one operand: " + axis(out.n) + " moves " +
                  (moves(0, out.n) ? "both" : "none"));
    out.a = moves(0, out.n) ? 1 : 0;
    out.b = 1 - out.a;
    std::vector<int> rows, sums;
    for (int a = 0; a < static_cast<int>(anchor_.axes.size()); ++a) {
      if (a < spatial_ && a != out.n && moves(out.a, a) && !moves(out.b, a)) rows.push_back(a);
      if (a >= spatial_ && moves(0, a) && moves(1, a)) sums.push_back(a);
    }
    if (instruction_.m > 1) out.m = best_axis(p_, rows, instruction_.m);
    out.k = best_axis(p_, sums, instruction_.k);
    if (out.m < 0 && instruction_.m > 1) fail("needs an axis of " + tensor(out.a) + " alone");
    if (out.k < 0) fail("needs an axis that both operands are summed along");
  }

  void check_tile(const MatrixProduct& p) {
    for (const auto& [a, step] :
         {std::pair{p.m, instruction_.m}, {p.n, instruction_.n}, {p.k, instruction_.k}}) {
      if (a < 0) continue;
      const int64_t tile = p_.tiles.back().extent[static_cast<size_t>(a)];
      if (tile % step != 0 && tile != anchor_.axes[static_cast<size_t>(a)].extent)
        fail("has fragments of " + std::to_string(step) + " along " + axis(a) +
                 ", the register tile has " + std::to_string(tile),
             "a multiple of it, or the whole axis");
    }
    if (has_partial_sums(nest_of(p_)))
      fail("keeps its accumulators, and partial sums would pass through the output",
           "tile the reduction inside the output's tiles");
    if (p_.prefetch != 0) fail("prefetches nothing", "prefetch: 0");
    for (const ir::Read& r : anchor_.reads)
      if (r.lookup) fail("reads no looked-up positions");
  }

  void check_types(const MatrixProduct& p) {
    for (const auto& [read, f] :
         {std::pair<int, const ir::Fragment*>{p.a, &instruction_.a}, {p.b, &instruction_.b}}) {
      const ir::Read& r = anchor_.reads[static_cast<size_t>(read)];
      const ir::Tensor& t = p_.graph.tensors[static_cast<size_t>(r.tensor)];
      if (r.guarded && !std::isnan(r.fill) && ir::converted(f->number, r.fill) != r.fill)
        fail("reads " + std::string(ir::name_of(f->number)) + ", which do not hold the " +
             std::to_string(r.fill) + " outside of " + t.name);
      if (t.dtype != f->number)
        fail("multiplies " + std::string(ir::name_of(f->number)) + ", and " + t.name + " is " +
             std::string(ir::name_of(t.dtype)));
    }
    if (instruction_.a.tf32 && instruction_.opaque()) return fail("reads f32 as tf32, unsupported");
    const ir::DType sum = ir::computed_in(p_.graph, anchor_);
    if (instruction_.c.number != sum || instruction_.c.element != sum)
      fail("adds up in " + std::string(ir::name_of(instruction_.c.number)) + ", and " +
           anchor_.name + " is computed in " + std::string(ir::name_of(sum)));
  }

  const ir::Program& p_;
  const ir::Node& anchor_;
  const int spatial_;
  const ir::MatrixInstruction instruction_;
  Diags diags_;
};

// Is the lane the column, as in vectors, whose lanes are neighbours?
bool lies_in_vectors(const ir::MatrixInstruction& i) {
  const std::vector<ir::Range> lanes{{0, i.workers() - 1}};
  const auto each = [&](const ir::Fragment& f, auto&& fits) {
    for (int item = 0; item < f.mapping.items(); ++item)
      if (!fits(lane_task(f.mapping, ir::variable(0), item, lanes))) return false;
    return true;
  };
  const auto same = [](const LaneTask& t) {
    return !ir::depends_on(t.row, 0) && !ir::depends_on(t.column, 0);
  };
  const auto neighbours = [](const LaneTask& t) {
    return !ir::depends_on(t.row, 0) && ir::stride_of(t.column, 0) == 1;
  };
  return each(i.a, same) && each(i.b, neighbours) && each(i.c, neighbours);
}

std::string nearest_of_library(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [other, instruction] : instructions()) known.push_back(other);
  return nearest(name, known);
}

constexpr const char* kWithout = "without `instruction` it is computed by multiply-adds";

bool uses_positions(const ir::Scalar& e) {
  return e.op == ir::ScalarOp::axis || std::any_of(e.args.begin(), e.args.end(), uses_positions);
}

std::string names_of(const hwdesc::Profile& profile) {
  std::string out;
  for (const hwdesc::Instruction& i : profile.instructions)
    out += (out.empty() ? "" : ", ") + i.use.substr(i.use.find('/') + 1);
  return out;
}

}  // namespace

const KnownInstruction* known_instruction(std::string_view name) {
  const auto found = instructions().find(name);
  return found == instructions().end() ? nullptr : &found->second;
}

Result<MatrixProduct> matrix_product(const ir::Program& p) { return Finder(p).find(); }

int64_t fragment_step(const MatrixProduct& product, int axis) {
  const ir::MatrixInstruction& i = product.instruction;
  return axis < 0            ? 1
         : axis == product.m ? i.m
         : axis == product.n ? i.n
         : axis == product.k ? i.k
                             : 1;
}

void check_instruction(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  if (p.instruction.empty()) return;
  const auto fail = [&](const std::string& what, const std::string& hint) {
    out.push_back(error(p.name + ": " + what, hint));
  };
  const KnownInstruction* known = known_instruction(p.instruction);
  if (known == nullptr) {
    const std::string near = nearest_of_library(p.instruction);
    return fail(
        "there is no matrix instruction '" + p.instruction + "'",
        near.empty() ? "hw_profiles/isa has one file for each" : "did you mean '" + near + "'?");
  }
  const std::string named = "matrix instruction '" + p.instruction + "'";
  const ir::MatrixInstruction& own = known->computes;
  if (!own.has_fragments())
    return fail(named + " has operands outside of registers, so that no program uses it",
                "one whose file in hw_profiles/isa has mappings, or layouts in memory");
  const auto& has = target.profile.instructions;
  if (std::none_of(has.begin(), has.end(),
                   [&](const hwdesc::Instruction& i) { return i.use == "isa/" + p.instruction; }))
    return fail(target.profile.name + " has no " + named,
                has.empty() ? kWithout : "it has " + names_of(target.profile));
  const int threads = hwdesc::threads_of(target),
            lanes = own.opaque() ? p.vector_width : own.workers();
  const bool of_wave = lanes == threads || (lanes == 1 && !own.opaque()),
             of_vector = own.opaque() ? own.n % lanes == 0 : lanes > 1 && lies_in_vectors(own);
  if (threads > 1 ? !of_wave : !of_vector)
    return fail(named + " has fragments in " + std::to_string(lanes) +
                    (lanes == 1 ? " lane, which is not a " : " lanes, which are not a ") +
                    (threads > 1 ? "wave" : "vector") + " of " + target.profile.name,
                kWithout);
  const auto& nodes = p.graph.nodes;
  if (threads > 1 && std::any_of(nodes.begin(), nodes.end(),
                                 [](const ir::Node& n) { return uses_positions(n.body); }))
    return fail(named + " deals rows and columns to lanes, and an epilogue computes with positions",
                kWithout);
  const auto product = matrix_product(p);
  if (!product) {
    for (const Diag& d : product.diags()) out.push_back(d);
    return;
  }
  if (const int64_t held = fragments_held(p, *product); own.registers > 0 && held > own.registers)
    fail(named + " has " + std::to_string(own.registers) +
             " registers for fragments, and the register tile needs " + std::to_string(held),
         "fewer fragments along rows or columns");
}

void check_spelling(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  if (p.instruction.empty() || !target.dialect.known || has_error(out)) return;
  const auto& spelled = known_instruction(p.instruction)->dialects;
  if (std::find(spelled.begin(), spelled.end(), target.dialect.name) == spelled.end())
    out.push_back(error(p.name + ": dialect " + target.dialect.name +
                            " does not spell matrix instruction '" + p.instruction + "'",
                        "hw_profiles/isa/" + p.instruction + ".yaml has `spellings`"));
}

std::optional<Dealt> dealt(const ir::Fragment& f, int lanes, bool along_rows, int step, int lane) {
  const int64_t rows = f.mapping.rows(), columns = f.mapping.cols();
  const int64_t along = along_rows ? columns : rows, across = along_rows ? rows : columns;
  Dealt out;
  out.along_rows = along_rows;
  ir::Index first = ir::variable(lane), line = ir::variable(step);
  if (along % lanes == 0) {
    out.steps = across;
    out.vectors = along / lanes;
  } else if (lanes % along == 0 && across % (lanes / along) == 0) {
    const std::vector<ir::Range> ranges(static_cast<size_t>(std::max(step, lane)) + 1,
                                        {0, lanes - 1});
    out.steps = across / (lanes / along);
    line = line * (lanes / along) + ir::divide(first, along, ranges);
    first = ir::modulo(first, along, ranges);
  } else {
    return std::nullopt;
  }
  out.row = along_rows ? line : first;
  out.column = along_rows ? first : line;
  return out;
}

int64_t fragments_held(const ir::Program& p, const MatrixProduct& product) {
  if (!product.instruction.opaque()) return 0;
  const ir::Node& anchor = p.graph.nodes[0];
  int64_t all = 1, of_a = 1, of_b = 1;
  for (int a = 0; a < ir::spatial_count(p.graph, anchor); ++a) {
    const int64_t step = fragment_step(product, a),
                  n = (p.tiles.back().extent[static_cast<size_t>(a)] + step - 1) / step;
    all *= n;
    if (ir::moves_with(anchor, product.a, a)) of_a *= n;
    if (ir::moves_with(anchor, product.b, a)) of_b *= n;
  }
  return all + of_a + of_b;
}

int64_t fragment_scratch(const ir::Program& p) {
  const KnownInstruction* known =
      p.instruction.empty() ? nullptr : known_instruction(p.instruction);
  if (known == nullptr || !known->computes.opaque()) return 0;
  const ir::MatrixInstruction& i = known->computes;
  int64_t bytes = 0;
  for (const ir::Fragment* f : {&i.a, &i.b, &i.c})
    bytes += int64_t{f->mapping.workers()} * ir::bytes_of(f->number);
  return bytes;
}

LaneTask lane_task(const ir::TaskMapping& mapping, ir::Index worker, int item, ir::Ranges ranges) {
  using Kind = ir::MappingStep::Kind;
  LaneTask t{ir::constant(0), ir::constant(0)};
  int64_t rows = 1, columns = 1;
  const auto take = [&](int n) {
    ir::Index own = ir::modulo(worker, n, ranges);
    worker = ir::divide(worker, n, ranges);
    return own;
  };
  for (auto s = mapping.steps.rbegin(); s != mapping.steps.rend(); ++s) {
    ir::Index row = ir::constant(0), column = ir::constant(0);
    if (s->kind == Kind::replicate) {
      take(s->rows);
      continue;
    }
    if (s->kind == Kind::repeat) {
      const int own = item % (s->rows * s->cols);
      item /= s->rows * s->cols;
      row = ir::constant(own / s->cols);
      column = ir::constant(own % s->cols);
    } else if (s->kind == Kind::spatial) {
      column = take(s->cols);
      row = take(s->rows);
    } else {
      row = take(s->rows);
      column = take(s->cols);
    }
    t.row = t.row + row * rows;
    t.column = t.column + column * columns;
    rows *= s->rows;
    columns *= s->cols;
  }
  return {ir::simplify(t.row, ranges), ir::simplify(t.column, ranges)};
}

}  // namespace assay::lower
