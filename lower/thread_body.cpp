#include "lower/thread_body.h"

#include <algorithm>
#include <string>

#include "lower/build.h"

namespace assay::lower {

ThreadBody::ThreadBody(Lowering& s, const TileClass& tile, const Place& place)
    : TileBody(s, tile, place) {
  const ir::ThreadMapping& threads = *s.p.threads;
  points_.clear();
  for (int item = 0; item < threads.tasks.items(); ++item) {
    const LaneTask task = lane_task(threads.tasks, thread_number(s), item, s.ranges);
    Point pt;
    pt.offset.assign(tile_.size(), 0);
    pt.row = item;
    pt.count = s.width();
    pt.lane.assign(tile_.size(), ir::constant(0));
    pt.lane[static_cast<size_t>(threads.row_axis)] = task.row;
    pt.lane[static_cast<size_t>(threads.column_axis)] = task.column;
    points_.push_back(std::move(pt));
  }
  use_lane(s);
}

ThreadBody::Operand ThreadBody::operand(int read) const {
  Operand o;
  o.read = read;
  o.axis = reads_axis(s_.p, read, s_.p.threads->row_axis) ? s_.p.threads->row_axis
                                                          : s_.p.threads->column_axis;
  for (const Point& pt : points_) {
    const ir::Index& at = pt.lane[static_cast<size_t>(o.axis)];
    const auto found = std::find(o.places.begin(), o.places.end(), at);
    o.of_point.push_back(static_cast<size_t>(found - o.places.begin()));
    if (found == o.places.end()) o.places.push_back(at);
  }
  return o;
}

// Threads whose elements may lie behind the end of a partial tile.
std::vector<ir::Condition> ThreadBody::limits(int axis, const ir::Index& at,
                                              const TileClass& tile) const {
  const int64_t extent = tile[static_cast<size_t>(axis)];
  if (ir::range_of(at, s_.ranges).high < extent) return {};
  return {{at, 0, extent - 1}};
}

TileBody::Point ThreadBody::inside(Point pt, const TileClass& tile) const {
  for (const int axis : {s_.p.threads->row_axis, s_.p.threads->column_axis})
    for (ir::Condition& c : limits(axis, pt.lane[static_cast<size_t>(axis)], tile))
      pt.conditions.push_back(std::move(c));
  return pt;
}

std::vector<std::vector<ThreadBody::Element>> ThreadBody::elements(const Operand& o,
                                                                   const Place& place,
                                                                   const std::vector<Step>& steps) {
  std::vector<std::vector<Element>> out;
  for (const Step& step : steps) {
    std::vector<Element> at_step;
    for (const ir::Index& own : o.places) {
      std::vector<ir::Index> at;
      for (size_t a = 0; a < step.size(); ++a) at.push_back(place.at[a] + step[a]);
      at[static_cast<size_t>(o.axis)] = at[static_cast<size_t>(o.axis)] + own;
      const TileBody::Element e = element_of(o.read, place, at);
      Element one;
      one.address = ir::physical_offset(e.layout, e.shape, e.index, s_.ranges);
      one.buffer = e.buffer;
      // A copy has room for the whole tile, and what lies outside of it is not stored.
      if (!s_.staged.contains(o.read)) one.conditions = limits(o.axis, own, tile_);
      one.reg = s_.new_register((o.axis == s_.p.threads->row_axis ? "a" : "b") +
                                    std::to_string(s_.kernel.registers.size()),
                                s_.width());
      at_step.push_back(std::move(one));
    }
    out.push_back(std::move(at_step));
  }
  return out;
}

int ThreadBody::width_of(int tensor) const {
  return s_.p.threads->widths[static_cast<size_t>(tensor)];
}

namespace {

// Is the address a multiple of `n`, whatever its variables are?
bool is_multiple(const ir::Index& address, int n) {
  return address.offset % n == 0 &&
         std::all_of(address.terms.begin(), address.terms.end(),
                     [&](const ir::Term& t) { return t.coeff % n == 0; });
}

}  // namespace

void ThreadBody::move(std::vector<Element*> elements, int width, bool stores, ir::Block& out) {
  while (!elements.empty()) {
    Element* first = elements.front();
    std::vector<Element*> run{first};
    for (int i = 1; i < width && is_multiple(first->address, width); ++i) {
      const auto next = std::find_if(elements.begin(), elements.end(), [&](const Element* e) {
        return e->address == first->address + i && e->conditions == first->conditions;
      });
      if (next == elements.end()) break;
      run.push_back(*next);
    }
    if (static_cast<int>(run.size()) < width) run.resize(1);
    ir::MoveRun s{stores, {}, first->buffer, first->address, first->conditions};
    for (const Element* e : run) s.regs.push_back(e->reg);
    if (!stores) append(out, ir::Declare{s.regs});
    append(out, std::move(s));
    std::erase_if(elements, [&](const Element* e) {
      return std::find(run.begin(), run.end(), e) != run.end();
    });
  }
}

void ThreadBody::emit_reduce_point(const Place& place, const TileClass& tile, ir::Block& out) {
  std::vector<int64_t> box(tile.size(), 1);
  for (size_t a = static_cast<size_t>(ir::spatial_count(s_.p.graph, s_.anchor)); a < tile.size();
       ++a)
    box[a] = tile[a];
  const std::vector<Step> steps = offsets_in(box);
  const std::vector<Operand> operands{operand(0), operand(1)};
  std::vector<std::vector<std::vector<Element>>> all;
  for (const Operand& o : operands) {
    all.push_back(elements(o, place, steps));
    const int width = width_of(s_.anchor.reads[static_cast<size_t>(o.read)].tensor);
    std::vector<Element*> in_order;
    for (std::vector<Element>& at_step : all.back())
      for (Element& e : at_step) in_order.push_back(&e);
    move(std::move(in_order), width, false, out);
  }
  for (size_t k = 0; k < steps.size(); ++k)
    for (size_t i = 0; i < points_.size(); ++i) {
      std::vector<ir::Value> reads;
      for (size_t r = 0; r < operands.size(); ++r)
        reads.push_back(s_.held(all[r][k][operands[r].of_point[i]].reg));
      append(out, ir::Assign{points_[i].reg, combined(s_.held(points_[i].reg), s_.anchor.body,
                                                      reads, position(place, points_[i]))});
    }
}

// What is stored in runs stays in a register until all of a run are there.
void ThreadBody::store(const Place& place, const Point& pt, ir::Value value, ir::Block& out) {
  const int target = s_.p.graph.outputs[0];
  const ir::Tensor& t = s_.p.graph.tensors[static_cast<size_t>(target)];
  if (t.dtype != value.dtype) return TileBody::store(place, pt, std::move(value), out);
  std::vector<ir::Index> at = position(place, pt);
  at.resize(t.shape.size());
  Element e;
  e.address =
      ir::physical_offset(s_.p.layouts[static_cast<size_t>(target)], t.shape, at, s_.ranges);
  e.buffer = s_.buffer_of.at(target);
  e.conditions = pt.conditions;
  e.reg = value.id;
  if (value.op != ir::ValueOp::reg) {
    e.reg = s_.new_register("out" + std::to_string(s_.kernel.registers.size()), s_.width());
    s_.kernel.registers.back().dtype = value.dtype;
    append(out, ir::Declare{{e.reg}});
    append(out, ir::Assign{e.reg, std::move(value)});
  }
  results_.push_back(std::move(e));
}

void ThreadBody::emit_end(const Place& place, const TileClass& tile, ir::Block& out) {
  results_.clear();
  TileBody::emit_end(place, tile, out);
  std::vector<Element*> in_order;
  for (Element& e : results_) in_order.push_back(&e);
  move(std::move(in_order), width_of(s_.p.graph.outputs[0]), true, out);
}

}  // namespace assay::lower
