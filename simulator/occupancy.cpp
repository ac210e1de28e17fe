#include "simulator/occupancy.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lower/nest.h"
#include "simulator/estimate.h"

namespace assay::simulator {

namespace {

constexpr double kWaveReserve =
    16;  // registers for addresses, operands and loop state, beside the accumulators

// Bytes that a group copies into its scratchpad, those of later pipeline stages included.
double staged_bytes(const ir::Program& p) {
  double staged = 2.0 * static_cast<double>(lower::sort_plan(p).elements) * sizeof(float);
  for (const ir::Staging& s : p.staging) {
    const auto t = static_cast<size_t>(p.graph.nodes[0].reads[static_cast<size_t>(s.read)].tensor);
    staged += static_cast<double>(ir::physical_elements(s.layout, lower::staged_shape(p, s))) *
              ir::bytes_of(p.graph.tensors[t].dtype) * p.pipeline_stages;
  }
  return staged;
}

}  // namespace

double waves_per_group(const ir::Program& p) {
  double waves = 1;
  for (const int64_t n : p.workers) waves *= static_cast<double>(n);
  return waves;
}

double registers_per_wave(const ir::Program& p) {
  double n = 1;
  for (int a = 0; a < ir::spatial_count(p.graph, p.graph.nodes[0]); ++a) {
    if (ir::is_whole(p.graph.nodes[0], a)) continue;
    const double t = static_cast<double>(p.tiles.back().extent[static_cast<size_t>(a)]);
    n *= a == p.vector_axis ? std::ceil(t / p.vector_width) : t;
  }
  return n + kWaveReserve;
}

double registers_per_group(const ir::Program& p) {
  return waves_per_group(p) * registers_per_wave(p);
}

double groups_per_unit(const ir::Program& p, const model::Machine& m) {
  double groups = m.resident_groups;
  const double staged = staged_bytes(p);
  for (const model::Level& l : m.levels)
    if (l.is_scratchpad && staged > 0)
      groups = std::min(groups, std::floor(l.capacity.value / staged));
  const double waves = waves_per_group(p);
  groups = std::min(groups, std::floor(m.resident_waves / waves));
  groups = std::min(groups, std::floor(m.vector_registers / (waves * registers_per_wave(p))));
  return std::max(1.0, groups);
}

const model::Level& nearest_cache(const model::Machine& m) {
  return *std::find_if(m.levels.begin(), m.levels.end() - 1,
                       [](const model::Level& l) { return !l.is_scratchpad; });
}

PortTimes port_times(const ir::Program& p, const model::Machine& m, const lower::Counts& counts,
                     double share) {
  const size_t arguments = ir::arguments_of(p).size();
  const model::Level& cache = nearest_cache(m);
  const double bytes = sizeof(float);
  double vector = p.vector_width;
  if (p.vector_axis >= 0)
    vector = std::min(
        vector,
        static_cast<double>(p.graph.nodes[0].axes[static_cast<size_t>(p.vector_axis)].extent));
  std::array<double, 2> in{}, out{};  // of the cache; own
  for (size_t b = 0; b < counts.buffers.size(); ++b) {
    const lower::AccessCount& a = counts.buffers[b];
    const size_t own = b >= arguments ? 1 : 0;
    const double each = own == 1 ? bytes : std::max(cache.line, bytes);
    in[own] += (vector * a.vector_loads + a.splats) * bytes +
               (m.gather_rate.value > 0 ? 0 : each * a.gathered_lanes);
    out[own] += vector * a.vector_stores * bytes +
                (m.scatter_rate.value > 0 ? 0 : each * a.scattered_lanes);
  }
  PortTimes ports;
  for (const size_t own : {size_t{0}, size_t{1}}) {
    const model::Level& l = own == 1 ? m.levels[0] : cache;
    if (own == 1 && !l.is_scratchpad) continue;
    const double users = l.shared ? m.units / l.instances : 1;
    ports.in = std::max(ports.in, in[own] * share * users / l.read.value);
    ports.out = std::max(ports.out, out[own] * share * users / l.write.value);
  }
  return ports;
}

}  // namespace assay::simulator
