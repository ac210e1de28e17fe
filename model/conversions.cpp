#include "model/conversions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lower/nest.h"

namespace assay::model {
namespace {

int staged_tensor(const ir::Program& p, size_t staging) {
  return p.graph.nodes[0].reads[static_cast<size_t>(p.staging[staging].read)].tensor;
}

// Does a matrix instruction take the buffer's elements as they are?
bool is_multiplied(const ir::Program& p, size_t buffer) {
  const std::vector<int> arguments = ir::arguments_of(p);
  const std::vector<ir::Read>& reads = p.graph.nodes[0].reads;
  return !p.instruction.empty() && (buffer >= arguments.size() ||
                                    std::any_of(reads.begin(), reads.end(), [&](const ir::Read& r) {
                                      return r.tensor == arguments[buffer];
                                    }));
}

}  // namespace

ir::DType type_of_buffer(const ir::Program& p, size_t buffer) {
  const std::vector<int> arguments = ir::arguments_of(p);
  const auto type = [&](int tensor) { return p.graph.tensors[static_cast<size_t>(tensor)].dtype; };
  if (buffer < arguments.size()) return type(arguments[buffer]);
  if (buffer - arguments.size() < p.staging.size())
    return lower::staged_type(p, p.staging[buffer - arguments.size()]);
  return ir::accumulation_of(type(p.graph.outputs[0]));
}

lower::Counts with_conversions(const ir::Program& p, lower::Counts counts) {
  const std::vector<int> arguments = ir::arguments_of(p);
  double all = 0;
  for (size_t b = 0; b < std::min(counts.buffers.size(), arguments.size() + p.staging.size());
       ++b) {
    const ir::DType type = type_of_buffer(p, b);
    if (ir::accumulation_of(type) == type || is_multiplied(p, b)) continue;
    const lower::AccessCount& a = counts.buffers[b];
    const double lanes = p.vector_width,
                 loads = a.vector_loads + a.splats + a.gathered_lanes / lanes,
                 stores = a.vector_stores + a.scattered_lanes / lanes;
    bool copied = false;  // as it is
    for (size_t s = 0; b < arguments.size() && s < p.staging.size(); ++s)
      copied = copied ||
               (staged_tensor(p, s) == arguments[b] && lower::staged_type(p, p.staging[s]) == type);
    all += b >= arguments.size() ? loads : copied ? stores : loads + stores;
  }
  counts.simple += all;
  return counts;
}

}  // namespace assay::model
