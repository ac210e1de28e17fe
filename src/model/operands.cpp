#include "model/operands.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::model {

namespace {

// Of elements for all lanes, those that come with their operation. Some are written with an index in their address, and take a slot of
// their own again. Assumed.
constexpr double kElements = 0.5;

// Times that a node's body is executed.
double executions(const ir::Program& p, const ir::Node& n, int width) {
  double out = 1;
  for (size_t a = 0; a < n.axes.size(); ++a) {
    const auto extent = static_cast<double>(n.axes[a].extent);
    out *= static_cast<int>(a) == p.vector_axis ? std::ceil(extent / width) : extent;
  }
  return out;
}

}  // namespace

double operands_in_memory(const ir::Program& p, const lower::Counts& counts, int width) {
  const std::vector<int> arguments = ir::arguments_of(p);
  std::vector<double> needed(counts.buffers.size(), 0);
  for (const ir::Node& node : p.graph.nodes) {
    const bool anchor = &node == &p.graph.nodes[0];
    for (size_t r = 0; r < node.reads.size(); ++r) {
      const ir::Read& read = node.reads[r];
      if (!anchor && read.tensor == (&node - 1)->output) continue;
      auto b = static_cast<size_t>(std::find(arguments.begin(), arguments.end(), read.tensor) - arguments.begin());
      for (size_t i = 0; anchor && i < p.staging.size(); ++i)
        if (p.staging[i].read == static_cast<int>(r)) b = arguments.size() + i;
      needed[b] += executions(p, node, width);
    }
  }
  double out = 0;
  for (size_t b = 0; b < needed.size(); ++b) {
    const lower::AccessCount& a = counts.buffers[b];
    const double loads = a.vector_loads + a.splats, once = std::clamp(2 * loads - needed[b], 0.0, std::min(loads, needed[b]));
    if (loads > 0) out += once * (a.vector_loads + (p.vector_width == 1 ? 1 : kElements) * a.splats) / loads;
  }
  return out;
}

}  // namespace assay::model
