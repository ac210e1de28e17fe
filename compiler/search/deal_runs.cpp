// Who copies what, and how many neighbours a thread moves at once.
#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "compiler/search/space.h"
#include "ir/kernel.h"
#include "ir/threads.h"
#include "lower/mapped_copy.h"
#include "lower/nest.h"
#include "lower/threads.h"

namespace assay::compiler {

namespace {

void deal_copies(const Space& s, ir::Program& p) {
  int64_t threads = p.threads ? p.threads->tasks.workers() : p.vector_width;
  for (const int waves : p.workers) threads *= waves;
  for (ir::Staging& copy : p.staging) {
    copy.tasks.reset();
    copy.width = 1;
    const int tensor = s.anchor.reads[static_cast<size_t>(copy.read)].tensor;
    // A copy that converts does so once; its elements pass one by one.
    if (lower::staged_type(p, copy) != p.graph.tensors[static_cast<size_t>(tensor)].dtype) continue;
    const int least = p.threads ? 1 : 2;  // vectors along one axis copy single elements as well
    for (int width = lower::longest_run(p, copy); width >= least && !copy.tasks; width /= 2)
      if (ir::TaskMapping tasks = lower::dealt_rows(lower::copied_tile(p, copy), threads, width);
          !tasks.steps.empty()) {
        copy.tasks = std::move(tasks);
        copy.width = width;
      }
  }
}

void widen_loads(const Space& s, ir::Program& p) {
  p.threads->widths.assign(p.graph.tensors.size(), 1);
  const auto set = [&](int tensor, const ir::Layout& layout, std::span<const int64_t> shape,
                       std::span<const ir::Index> index) {
    const auto t = static_cast<size_t>(tensor);
    // Runs begin at multiples of their length, so that rows do as well.
    const int64_t most = ir::kWidestRun / ir::bytes_of(p.graph.tensors[t].dtype),
                  row = lower::row_alignment(layout, shape);
    p.threads->widths[t] =
        static_cast<int>(std::gcd(most, std::gcd(row, ir::neighbours_of_thread(p, layout, index))));
  };
  for (int r = 0; r < static_cast<int>(s.anchor.reads.size()); ++r) {
    const ir::Read& read = s.anchor.reads[static_cast<size_t>(r)];
    const auto t = static_cast<size_t>(read.tensor);
    const auto copy = std::find_if(p.staging.begin(), p.staging.end(),
                                   [&](const ir::Staging& c) { return c.read == r; });
    if (copy != p.staging.end())
      set(read.tensor, copy->layout, lower::staged_shape(p, *copy), read.index);
    else
      set(read.tensor, p.layouts[t], p.graph.tensors[t].shape, read.index);
  }
  std::vector<ir::Index> own;
  for (int d = 0; d < s.spatial; ++d) own.push_back(ir::variable(d));
  const auto out = static_cast<size_t>(p.graph.outputs[0]);
  set(p.graph.outputs[0], p.layouts[out], p.graph.tensors[out].shape, own);
}

}  // namespace

void deal_runs(const Space& s, ir::Program& p) {
  if (!s.machine.simt) return;
  deal_copies(s, p);
  if (p.threads) widen_loads(s, p);
}

}  // namespace assay::compiler
