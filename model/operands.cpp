#include "model/operands.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ir/computed_type.h"
#include "model/conversions.h"

namespace assay::model {

namespace {

// Times that a node's body is executed, where `slp_lanes` scalar operations are one.
double executions(const ir::Program& p, const ir::Node& n, int slp_lanes) {
  double out = 1.0 / slp_lanes;
  for (size_t a = 0; a < n.axes.size(); ++a) {
    const auto extent = static_cast<double>(n.axes[a].extent);
    out *= static_cast<int>(a) == p.vector_axis ? std::ceil(extent / p.vector_width) : extent;
  }
  return out;
}

}  // namespace

double operands_in_memory(const ir::Program& p, const lower::Counts& counts, int slp_lanes) {
  const std::vector<int> arguments = ir::arguments_of(p);
  std::vector<double> needs(counts.buffers.size());  // times that operations take it
  for (const ir::Node& node : p.graph.nodes) {
    const bool anchor = &node == &p.graph.nodes[0];
    for (int r = 0; r < static_cast<int>(node.reads.size()); ++r) {
      const ir::Read& read = node.reads[static_cast<size_t>(r)];
      if (!anchor && read.tensor == (&node - 1)->output) continue;
      auto b = static_cast<size_t>(std::find(arguments.begin(), arguments.end(), read.tensor) -
                                   arguments.begin());
      for (size_t i = 0; anchor && i < p.staging.size(); ++i)
        if (p.staging[i].read == r) b = arguments.size() + i;
      const int uses = ir::uses_of(node, r);
      needs[b] += uses > 0 ? executions(p, node, slp_lanes) * uses
                           : std::numeric_limits<double>::infinity();  // positions are computed
                                                                       // with, in registers
    }
  }
  const ir::DType computed = ir::computed_in(p.graph, p.graph.nodes[0]);
  double out = 0;
  for (size_t b = 0; b < needs.size(); ++b) {
    const lower::AccessCount& a = counts.buffers[b];
    const double loads = a.vector_loads + a.splats;
    const ir::DType type = type_of_buffer(p, b);
    if (loads <= 0 || type != computed) continue;  // it is converted first
    const double once = std::clamp(2 * loads - needs[b], 0.0, std::min(loads, needs[b]));
    out += once;
  }
  return out;
}

}  // namespace assay::model
