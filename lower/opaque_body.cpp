#include "lower/opaque_body.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lower/build.h"

namespace assay::lower {

namespace {

// Is the value a multiple of `n` for all values of its variables? False where terms do not tell.
bool is_multiple(const ir::Index& i, int64_t n) {
  return i.offset % n == 0 && std::all_of(i.terms.begin(), i.terms.end(),
                                          [&](const ir::Term& t) { return t.coeff % n == 0; });
}

}  // namespace

OpaqueBody::OpaqueBody(Lowering& s, const TileClass& tile, const Place& place)
    : TileBody(s, tile, place),
      product_(*s.product),
      a_{'a', product_.a, product_.instruction.a, product_.m, product_.k},
      b_{'b', product_.b, product_.instruction.b, product_.k, product_.n},
      c_{'c', -1, product_.instruction.c, product_.m, product_.n} {
  points_.clear();
  for (const std::vector<int64_t>& offset : places(tile_, false))
    accumulators_.push_back({offset, -1});
  for (Operand* o : {&a_, &b_, &c_}) choose_layout(*o);
}

// Per axis the distance of unrolled fragments or elements; 0: the axis is of the other kind.
std::vector<int64_t> OpaqueBody::steps(const TileClass& tile, bool reduce) const {
  std::vector<int64_t> out;
  for (int a = 0; a < static_cast<int>(tile.size()); ++a)
    out.push_back(ir::is_reduce(s_.p.graph, s_.anchor, a) == reduce ? fragment_step(product_, a)
                                                                    : 0);
  return out;
}

// Offsets of the tile's fragments along the spatial or the reduced axes.
std::vector<std::vector<int64_t>> OpaqueBody::places(const TileClass& tile, bool reduce) const {
  const std::vector<int64_t> step = steps(tile, reduce);
  std::vector<int64_t> box;
  for (size_t a = 0; a < tile.size(); ++a)
    box.push_back(step[a] == 0 ? 1 : (tile[a] + step[a] - 1) / step[a]);
  std::vector<std::vector<int64_t>> out = offsets_in(box);
  for (std::vector<int64_t>& offset : out)
    for (size_t a = 0; a < offset.size(); ++a) offset[a] *= step[a];
  return out;
}

// The first layout in which whole fragments are found at the tile's place, else the first one.
void OpaqueBody::choose_layout(Operand& o) {
  const std::vector<int64_t> none(tile_.size(), 0);
  for (size_t l = 0; l < o.fragment.memory.size(); ++l) {
    o.layout = static_cast<int>(l);
    o.walks.clear();
    for (size_t p = 0; p < o.fragment.memory[l].layout.dims.size(); ++p)
      o.walks.push_back(s_.new_index(
          "walk" + std::to_string(s_.ranges.size()),
          ir::physical_shape(
              o.fragment.memory[l].layout,
              std::vector<int64_t>{o.fragment.mapping.rows(), o.fragment.mapping.cols()})[p]));
    if (o.read < 0
            ? place_of_result(place_, {none, -1}, TileClass(tile_.size(), 1 << 20)).has_value()
            : place_of_operand(o, place_, none).has_value())
      return;
  }
  if (o.layout > 0) {
    o.layout = 0;
    o.walks.clear();
  }
}

int OpaqueBody::new_fragment(const Operand& o) {
  const int reg = s_.new_register(o.name + std::to_string(s_.kernel.registers.size()),
                                  o.fragment.mapping.workers());
  s_.kernel.registers.back().dtype = o.fragment.number;
  s_.kernel.registers.back().fragment = {0, o.name, o.layout};
  return reg;
}

void OpaqueBody::emit_begin(ir::Block& out) {
  ir::Declare declare;
  for (Accumulator& c : accumulators_) declare.regs.push_back(c.reg = new_fragment(c_));
  for (const Operand* o : {&a_, &b_})
    for (const Accumulator& c : accumulators_) {
      std::vector<int64_t> key{o->read};
      for (size_t a = 0; a < c.offset.size(); ++a)
        key.push_back(reads_axis(s_.p, o->read, static_cast<int>(a)) ? c.offset[a] : 0);
      const auto [at, fresh] = registers_.try_emplace(std::move(key), -1);
      if (fresh) declare.regs.push_back(at->second = new_fragment(*o));
    }
  append(out, std::move(declare));
  for (const Accumulator& c : accumulators_)
    append(out,
           ir::Assign{c.reg, constant_value(0, c_.fragment.mapping.workers(), c_.fragment.number)});
}

int OpaqueBody::loaded_register(const Operand& o, const std::vector<int64_t>& offset) const {
  std::vector<int64_t> key{o.read};
  for (size_t a = 0; a < offset.size(); ++a)
    key.push_back(reads_axis(s_.p, o.read, static_cast<int>(a)) ? offset[a] : 0);
  return registers_.at(key);
}

void OpaqueBody::emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) {
  TileClass whole = tile_;  // of the accumulators; the reduction may be at its end
  for (size_t a = 0; a < tile.size(); ++a)
    if (ir::is_reduce(s_.p.graph, s_.anchor, static_cast<int>(a))) whole[a] = tile[a];
  for (const std::vector<int64_t>& step : places(tile, true)) {
    std::vector<int> loaded;
    for (const Accumulator& c : accumulators_) {
      ir::MatrixMultiply m;
      m.instruction = 0;
      for (const auto& [o, regs] : {std::pair{&a_, &m.a}, {&b_, &m.b}}) {
        const int reg = loaded_register(*o, c.offset);
        regs->push_back(reg);
        if (std::find(loaded.begin(), loaded.end(), reg) != loaded.end()) continue;
        loaded.push_back(reg);
        std::vector<int64_t> offset = c.offset;
        for (size_t a = 0; a < offset.size(); ++a) offset[a] += step[a];
        load(*o, place, offset, whole, reg, out);
      }
      m.c = m.d = {c.reg};
      append(out, std::move(m));
    }
  }
}

bool OpaqueBody::is_inside(const Operand& o, const std::vector<int64_t>& offset,
                           const TileClass& tile) const {
  const auto r = static_cast<size_t>(o.row_axis), c = static_cast<size_t>(o.column_axis);
  return offset[r] + o.fragment.mapping.rows() <= tile[r] &&
         offset[c] + o.fragment.mapping.cols() <= tile[c];
}

// Positions of the axes at a fragment's element, which the layout's variables walk.
std::vector<ir::Index> OpaqueBody::first_element(const Operand& o, const Place& place,
                                                 const std::vector<int64_t>& offset) const {
  std::vector<ir::Index> at;
  for (size_t a = 0; a < offset.size(); ++a) at.push_back(place.at[a] + offset[a]);
  const std::vector<ir::PhysicalDim>& dims =
      o.fragment.memory[static_cast<size_t>(o.layout)].layout.dims;
  for (size_t p = 0; p < dims.size(); ++p) {
    ir::Index& to = at[static_cast<size_t>(dims[p].dim == 0 ? o.row_axis : o.column_axis)];
    to = to + ir::variable(o.walks[p], dims[p].div);
  }
  return at;
}

// Where a fragment of which `e` is any element lies as its layout says; nullopt: it does not.
std::optional<OpaqueBody::Memory> OpaqueBody::place_of(const Operand& o, const Element& e) const {
  const ir::Index at =
      ir::simplify(ir::physical_offset(e.layout, e.shape, e.index, s_.ranges), s_.ranges);
  const ir::MatrixInstruction& i = product_.instruction;
  const int bytes = ir::bytes_of(o.fragment.number);
  Memory m{e.buffer, at, 0};
  int64_t dense = 1;
  for (size_t p = o.walks.size(); p-- > 0;) {
    const std::optional<int64_t> stride = ir::stride_of(at, o.walks[p]);
    if (!stride || *stride < 1 || (p > 0 && *stride != dense)) return std::nullopt;
    dense *= s_.ranges[static_cast<size_t>(o.walks[p])].high + 1;
    m.stride = *stride;
  }
  m.index = ir::simplify(ir::substitute(at,
                                        [&](int var) {
                                          const bool own = std::find(o.walks.begin(), o.walks.end(),
                                                                     var) != o.walks.end();
                                          return own ? ir::constant(0) : ir::variable(var);
                                        }),
                         s_.ranges);
  if (m.stride * bytes % i.stride != 0 || !is_multiple(m.index, std::max(1, i.address / bytes)))
    return std::nullopt;
  return m;
}

std::optional<OpaqueBody::Memory> OpaqueBody::place_of_operand(
    const Operand& o, const Place& place, const std::vector<int64_t>& offset) const {
  const ir::Read& r = s_.anchor.reads[static_cast<size_t>(o.read)];
  const Element e = element_of(o.read, place, first_element(o, place, offset));
  for (size_t d = 0; r.guarded && !s_.staged.contains(o.read) && d < e.index.size(); ++d)
    if (needs_guard(r, e.layout, e.shape, e.index, d)) return std::nullopt;
  return place_of(o, e);
}

std::optional<OpaqueBody::Memory> OpaqueBody::place_of_result(const Place& place,
                                                              const Accumulator& c,
                                                              const TileClass& tile) const {
  const int target = s_.p.graph.outputs[0];
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(target)];
  if (s_.p.graph.nodes.size() > 1 || t.dtype != c_.fragment.number ||
      !is_inside(c_, c.offset, tile))
    return std::nullopt;
  std::vector<ir::Index> at = first_element(c_, place, c.offset);
  at.resize(t.shape.size());
  return place_of(c_, {s_.p.layouts[static_cast<size_t>(target)], t.shape, s_.buffer_of.at(target),
                       std::move(at)});
}

void OpaqueBody::load(Operand& o, const Place& place, const std::vector<int64_t>& offset,
                      const TileClass& tile, int reg, ir::Block& out) {
  std::optional<Memory> from;
  if (is_inside(o, offset, tile) && !o.walks.empty()) from = place_of_operand(o, place, offset);
  if (!from) {
    from = scratch_of(o);
    put_together(o, place, offset, tile, out);
  }
  append(out, ir::MoveFragment{false, reg, from->buffer, from->index, from->stride});
}

void OpaqueBody::emit_end(const Place& place, const TileClass& tile, ir::Block& out) {
  for (const Accumulator& c : accumulators_) {
    std::optional<Memory> to;
    if (!c_.walks.empty()) to = place_of_result(place, c, tile);
    if (to)
      append(out, ir::MoveFragment{true, c.reg, to->buffer, to->index, to->stride});
    else
      take_apart(place, c, tile, out);
  }
}

}  // namespace assay::lower
