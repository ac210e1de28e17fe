#include "lower/lowering.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/computed_type.h"
#include "lower/build.h"

namespace assay::lower {

namespace {

ir::Buffer argument(const ir::Tensor& t, const ir::Layout& layout, bool written) {
  ir::Buffer b;
  b.name = t.name;
  b.dtype = t.dtype;
  b.elements = ir::physical_elements(layout, t.shape);
  b.written = written;
  return b;
}

}  // namespace

Lowering::Lowering(const ir::Program& program, int lanes)
    : p(program),
      anchor(program.graph.nodes[0]),
      nest(nest_of(program)),
      type(ir::computed_in(program.graph, anchor)),
      width_(program.threads ? lanes : program.vector_width) {
  kernel.name = p.name;
  if (!p.instruction.empty())
    if (auto found = matrix_product(p)) {
      product = std::move(found).value();
      kernel.instructions = {product->instruction};
    }
  kernel.groups = ir::group_count(p);
  new_index("group", kernel.groups);
  lane = new_index("lane", width_);
  for (const Loop& l : nest.loops)
    if (l.wave) kernel.waves *= static_cast<int>(l.trips);
  if (p.threads) kernel.waves = p.threads->tasks.workers() / width_;
  if (kernel.waves > 1) kernel.wave = new_index("wave", kernel.waves);
  for (int t : ir::arguments_of(p)) {
    buffer_of[t] = static_cast<int>(kernel.buffers.size());
    kernel.buffers.push_back(argument(p.graph.tensors[static_cast<size_t>(t)],
                                      p.layouts[static_cast<size_t>(t)], t == p.graph.outputs[0]));
  }
  for (const ir::Staging& stage : p.staging) {
    StagedBuffer b;
    b.staging = stage;
    b.place = staging_place(p, nest, stage);
    b.shape = staged_shape(p, stage);
    b.buffer = static_cast<int>(kernel.buffers.size());
    ir::Buffer scratch;
    const ir::Tensor& source =
        p.graph.tensors[static_cast<size_t>(anchor.reads[static_cast<size_t>(stage.read)].tensor)];
    scratch.name = source.name + "_staged";
    scratch.dtype = staged_type(p, stage);
    scratch.elements = ir::physical_elements(stage.layout, b.shape);
    scratch.scope = ir::Scope::scratch;
    kernel.buffers.push_back(std::move(scratch));
    staged.emplace(stage.read, std::move(b));
  }
  for (const char* name : {"keys", "order"})
    if (const SortPlan sort = sort_plan(p); sort.elements > 0) {
      ir::Buffer scratch;
      scratch.name = name;
      scratch.elements = sort.elements;
      scratch.scope = ir::Scope::scratch;
      scratch.by_lane = sort.shares == 1;
      kernel.buffers.push_back(std::move(scratch));
    }
  if (const int64_t elements = shared_state(p); elements > 0) {
    ir::Buffer scratch;
    scratch.name = "states";
    scratch.elements = elements;
    scratch.scope = ir::Scope::scratch;
    kernel.buffers.push_back(std::move(scratch));
  }
}

int Lowering::new_index(std::string name, int64_t limit) {
  kernel.index_names.push_back(std::move(name));
  ranges.push_back({0, limit - 1});
  return static_cast<int>(ranges.size()) - 1;
}

int Lowering::new_register(std::string name, int lanes) {
  ir::Register r;
  r.name = std::move(name);
  r.dtype = type;
  r.lanes = lanes;
  kernel.registers.push_back(std::move(r));
  return static_cast<int>(kernel.registers.size()) - 1;
}

// Of whole numbers, those beyond them are the nearest ones.
ir::Value Lowering::number(double n) const {
  using Limits = std::numeric_limits<int32_t>;
  if (type == ir::DType::i32)
    n = std::min(std::max(n, double{Limits::min()}), double{Limits::max()});
  return constant_value(n, width(), type);
}

ir::Value Lowering::held(int reg) const { return reg_value(reg, width(), type); }

std::optional<LaneAddress> split_lane(const Lowering& s, const ir::Index& index) {
  const std::optional<int64_t> stride = ir::stride_of(index, s.lane);
  if (!stride) return std::nullopt;
  const ir::Index base = ir::substitute(
      index, [&](int var) { return var == s.lane ? ir::constant(0) : ir::variable(var); });
  return LaneAddress{base, *stride};
}

ir::Index thread_number(const Lowering& s) {
  const ir::Index lane = ir::variable(s.lane);
  return s.kernel.waves == 1 ? lane : lane + ir::variable(s.kernel.wave, s.width());
}

void use_lane(Lowering& s) { s.kernel.vector_lane = s.lane; }

bool whole_vectors(const ir::Layout& layout, int dim, int width) {
  for (const ir::PhysicalDim& d : layout.dims)
    if (d.dim == dim && d.mod > 0 && d.div == 1) return d.mod % width == 0;
  return false;
}

}  // namespace assay::lower
