#include "lower/threads.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>

#include "ir/kernel.h"
#include "lower/nest.h"

namespace assay::lower {

std::optional<int> summed_axis(const ir::Graph& g, const ir::Node& n) {
  std::optional<int> out;
  for (int a = ir::spatial_count(g, n); a < static_cast<int>(n.axes.size()); ++a) {
    const bool longer = n.axes[static_cast<size_t>(a)].extent > 1;
    if (longer && out && n.axes[static_cast<size_t>(*out)].extent > 1) return std::nullopt;
    if (longer || !out) out = a;
  }
  return out;
}

int64_t row_alignment(const ir::Layout& layout, std::span<const int64_t> shape) {
  if (layout.dims.empty()) return 1;
  return std::gcd(ir::physical_shape(layout, shape).back(),
                  ir::pad_of(layout, layout.dims.back().dim).before);
}

namespace {

// sum over one axis of a[...] * b[...]
bool is_product(const ir::Program& p) {
  const ir::Node& n = p.graph.nodes[0];
  const auto reads = [](const ir::Scalar& s) { return s.op == ir::ScalarOp::read; };
  return ir::is_expression(n) && n.combine == ir::Combiner::sum && n.reads.size() == 2 &&
         summed_axis(p.graph, n) && n.body.op == ir::ScalarOp::mul &&
         std::all_of(n.body.args.begin(), n.body.args.end(), reads) &&
         n.body.args[0].operand != n.body.args[1].operand;
}

// Addresses are sums over the axes.
bool is_strided(const ir::Layout& l) {
  return std::all_of(l.dims.begin(), l.dims.end(),
                     [](const ir::PhysicalDim& d) { return d.div == 1 && d.mod == 0; });
}

// One operand has the rows' axis, the other the columns' axis, and both the reduction's. Dimensions
// of one position are read there.
bool operands_fit(const ir::Program& p) {
  const ir::Node& n = p.graph.nodes[0];
  const int reduced = *summed_axis(p.graph, n);
  std::array<int, 2> rows{}, columns{};
  for (int r = 0; r < 2; ++r) {
    const ir::Read& read = n.reads[static_cast<size_t>(r)];
    const auto plain = [](const ir::Index& i) {
      return ir::variable_of(i).has_value() || i.terms.empty();
    };
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
    fail("threads over two axes compute a product of two operands, summed over one axis");
  else if (!operands_fit(p))
    fail(
        "threads over two axes compute it where one operand has the rows, the other the columns, "
        "at the axes themselves");
  for (size_t t = 0; t < p.graph.tensors.size(); ++t) {
    if (!is_strided(p.layouts[t]))
      fail("threads over two axes take tensors without blocks, and " + p.graph.tensors[t].name +
           " has some");
    if (p.graph.tensors[t].dtype != ir::DType::f32)
      fail("threads over two axes take f32, and " + p.graph.tensors[t].name + " is " +
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

namespace {

// Do runs of `width` begin at multiples of it in rows of so many elements?
std::string run_fault(const ir::Layout& layout, std::span<const int64_t> shape, int width,
                      ir::DType type) {
  const int bytes = width * ir::bytes_of(type);
  if (bytes > ir::kWidestRun || (bytes & (bytes - 1)) != 0)
    return "width " + std::to_string(width) + ", where a thread moves 1, 2, 4, 8 or " +
           std::to_string(ir::kWidestRun) + " bytes at once";
  if (layout.dims.empty() || row_alignment(layout, shape) % width == 0) return "";
  return "width " + std::to_string(width) + ", and rows begin at multiples of " +
         std::to_string(row_alignment(layout, shape)) + " elements";
}

}  // namespace

void check_printed_threads(const ir::Program& p, const hwdesc::Target& target, Diags& out) {
  if (!p.threads || !out.empty()) return;
  const auto fail = [&](const std::string& what) { out.push_back(error(p.name + ": " + what)); };
  const int64_t threads = p.threads->tasks.workers();
  const int lanes = hwdesc::threads_of(target);
  if (threads % lanes != 0)
    fail("threads: " + std::to_string(threads) + " are no whole waves of " + std::to_string(lanes));
  if (!p.staging.empty() && target.dialect.known && !target.dialect.group_barrier)
    fail("dialect " + target.dialect.name + " has no barriers");
  const auto staging_of = [&](int tensor) {
    return std::find_if(p.staging.begin(), p.staging.end(), [&](const ir::Staging& s) {
      return p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor == tensor;
    });
  };
  for (int t = 0; t < static_cast<int>(p.graph.tensors.size()); ++t) {
    const ir::Tensor& tensor = p.graph.tensors[static_cast<size_t>(t)];
    const int width = p.threads->widths[static_cast<size_t>(t)];
    const auto staged = staging_of(t);
    const bool copied = staged != p.staging.end();
    const std::string fault =
        width == 1 ? ""
        : copied   ? run_fault(staged->layout, staged_shape(p, *staged), width, tensor.dtype)
                 : run_fault(p.layouts[static_cast<size_t>(t)], tensor.shape, width, tensor.dtype);
    if (!fault.empty()) fail("threads: " + tensor.name + ": " + fault);
  }
}

}  // namespace assay::lower
