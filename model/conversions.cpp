#include "model/conversions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/computed_type.h"
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

double conversion_operations(const Machine& m, Access access, ir::DType stored,
                             ir::DType computed) {
  if (stored == computed) return 0;
  for (const ConversionCost& c : m.conversions)
    if (c.access == access && c.stored == stored && c.computed == computed)
      return c.additions.value;
  if (access == Access::splat) return conversion_operations(m, Access::load, stored, computed);
  // From 8 bits to f32 by way of i32.
  const bool bytes = stored == ir::DType::i8 || stored == ir::DType::u8;
  return bytes && computed == ir::DType::f32 ? 2 : 1;
}

namespace {

// The type that a tensor's elements are read as: that of the first node which reads it, or of the
// copy that does.
ir::DType read_as(const ir::Program& p, int tensor) {
  for (size_t s = 0; s < p.staging.size(); ++s)
    if (staged_tensor(p, s) == tensor) return lower::staged_type(p, p.staging[s]);
  for (const ir::Node& n : p.graph.nodes)
    for (const ir::Read& r : n.reads)
      if (r.tensor == tensor) return ir::computed_in(p.graph, n);
  return ir::computed_in(p.graph, p.graph.nodes.back());
}

}  // namespace

lower::Counts with_conversions(const ir::Program& p, const Machine& m, lower::Counts counts) {
  const std::vector<int> arguments = ir::arguments_of(p);
  const ir::DType anchored = ir::computed_in(p.graph, p.graph.nodes[0]),
                  result = ir::computed_in(p.graph, p.graph.nodes.back());
  double all = 0;
  for (size_t b = 0; b < std::min(counts.buffers.size(), arguments.size() + p.staging.size());
       ++b) {
    const ir::DType type = type_of_buffer(p, b);
    if (is_multiplied(p, b)) continue;
    const lower::AccessCount& a = counts.buffers[b];
    const double lanes = p.vector_width, loads = a.vector_loads + a.gathered_lanes / lanes,
                 stores = a.vector_stores + a.scattered_lanes / lanes;
    const bool copied = b >= arguments.size();
    const ir::DType read = copied ? anchored : read_as(p, arguments[b]);
    all += loads * conversion_operations(m, Access::load, type, read) +
           a.splats * conversion_operations(m, Access::splat, type, read);
    if (!copied) all += stores * conversion_operations(m, Access::store, type, result);
  }
  counts.simple += all;
  return counts;
}

}  // namespace assay::model
