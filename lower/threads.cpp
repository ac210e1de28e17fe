#include "lower/threads.h"

#include <algorithm>
#include <array>

namespace assay::lower {
namespace {

// sum over one axis of a[...] * b[...]
bool is_product(const ir::Program& p) {
  const ir::Node& n = p.graph.nodes[0];
  const int spatial = ir::spatial_count(p.graph, n);
  const auto reads = [](const ir::Scalar& s) { return s.op == ir::ScalarOp::read; };
  return p.graph.nodes.size() == 1 && ir::is_expression(n) && n.combine == ir::Combiner::sum &&
         n.reads.size() == 2 && static_cast<int>(n.axes.size()) == spatial + 1 &&
         n.body.op == ir::ScalarOp::mul &&
         std::all_of(n.body.args.begin(), n.body.args.end(), reads) &&
         n.body.args[0].operand != n.body.args[1].operand;
}

// Addresses are sums over the axes.
bool is_strided(const ir::Layout& l) {
  return !ir::is_padded(l) &&
         std::all_of(l.dims.begin(), l.dims.end(),
                     [](const ir::PhysicalDim& d) { return d.div == 1 && d.mod == 0; });
}

// One operand has the rows' axis, the other the columns' axis, and both the reduction's.
bool operands_fit(const ir::Program& p) {
  const ir::Node& n = p.graph.nodes[0];
  const int reduced = ir::spatial_count(p.graph, n);
  std::array<int, 2> rows{}, columns{};
  for (int r = 0; r < 2; ++r) {
    const ir::Read& read = n.reads[static_cast<size_t>(r)];
    const auto plain = [](const ir::Index& i) { return ir::variable_of(i).has_value(); };
    if (read.guarded || read.lookup || !std::all_of(read.index.begin(), read.index.end(), plain) ||
        !ir::moves_with(n, r, reduced))
      return false;
    rows[static_cast<size_t>(r)] = int{ir::moves_with(n, r, p.threads->row_axis)};
    columns[static_cast<size_t>(r)] = int{ir::moves_with(n, r, p.threads->column_axis)};
  }
  return rows[0] + rows[1] == 1 && columns[0] + columns[1] == 1 && rows[0] != columns[0];
}

}  // namespace

void check_threads(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  if (!p.threads) return;
  const auto fail = [&](const std::string& what) { out.push_back(error(p.name + ": " + what)); };
  if (hwdesc::threads_of(target) == 1)
    fail("`threads` are for chips whose lanes are threads, and those of " + target.profile.name +
         " are not");
  if (!is_product(p))
    fail("threads over two axes are priced for a product of two operands, summed over one axis");
  else if (!operands_fit(p))
    fail(
        "threads over two axes are priced where one operand has the rows, the other the columns, "
        "at the axes themselves");
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (!is_strided(p.layouts[t]))
      fail("threads over two axes are priced for tensors without blocks and padding, and " +
           p.graph.tensors[t].name + " has some");
    if (p.graph.tensors[t].dtype != ir::DType::f32)
      fail("threads over two axes are priced for f32, and " + p.graph.tensors[t].name + " is " +
           std::string(ir::name_of(p.graph.tensors[t].dtype)));
  }
  if (p.pipeline_stages > 1) fail("copies by the tasks of threads have no pipeline_stages");
  const int64_t all = p.threads->tasks.workers();
  const auto& own = target.api.limits.threads_per_group;
  const auto& limit = own.known() ? own : target.profile.execution.threads_per_group_max;
  if (limit.known() && static_cast<double>(all) > limit.value->v)
    fail(std::to_string(all) + " threads in a group, of " +
         std::to_string(static_cast<int64_t>(limit.value->v)) + " at most");
}

}  // namespace assay::lower
