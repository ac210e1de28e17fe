#include "model/mapped_copies.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lower/mapped_copy.h"
#include "lower/nest.h"
#include "model/lane_addresses.h"

namespace assay::model {

namespace {

// Position in the tile of an element as it is stored: the innermost dimension is the column.
std::vector<int64_t> position_of(const ir::Layout& layout, std::span<const int64_t> shape,
                                 ir::Task at) {
  std::vector<int64_t> out(shape.size(), 0);
  out[static_cast<size_t>(layout.dims.back().dim)] = at.col;
  int64_t row = at.row;
  for (size_t d = layout.dims.size() - 1; d-- > 0;) {
    const auto dim = static_cast<size_t>(layout.dims[d].dim);
    out[dim] = row % shape[dim];
    row /= shape[dim];
  }
  return out;
}

}  // namespace

RunCycles run_cycles(const ir::Program& p, const ir::Staging& s, const WaveShape& shape) {
  const auto t = static_cast<size_t>(p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor);
  const std::vector<int64_t> tile = lower::staged_shape(p, s), &whole = p.graph.tensors[t].shape;
  const int bytes = ir::bytes_of(p.graph.tensors[t].dtype), run = s.width * bytes;
  std::vector<int64_t> from, to;
  for (int l = 0; l < std::min(p.vector_width, s.tasks->workers()); ++l) {
    std::vector<int64_t> at = position_of(s.layout, tile, s.tasks->task(l, 0));
    to.push_back(ir::element_at(s.layout, tile, at) * bytes /
                 static_cast<int64_t>(shape.bank_width));
    for (size_t d = 0; d < at.size(); ++d) at[d] = std::min(at[d], whole[d] - 1);
    from.push_back(ir::element_at(p.layouts[t], whole, at) * bytes);
  }
  const auto line = static_cast<int64_t>(shape.line);
  const int words = std::max(1, run / static_cast<int>(shape.bank_width));
  return {line_cycles(from, run, line, line),
          bank_cycles(to, words, static_cast<int>(shape.banks))};
}

double run_registers(const ir::Program& p) {
  double most = 0;
  for (const ir::Staging& s : p.staging) {
    if (!s.tasks) continue;
    const int bytes = s.width * ir::bytes_of(lower::staged_type(p, s));
    most = std::max(most, static_cast<double>(lower::runs_at_once(s)) *
                              std::ceil(bytes / static_cast<double>(sizeof(float))));
  }
  return most;
}

}  // namespace assay::model
