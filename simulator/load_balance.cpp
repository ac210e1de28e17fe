#include "simulator/load_balance.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::simulator {

namespace {

constexpr double kMostUnits = 100;  // beyond, edges are too fine to matter

// Elements in the first `groups` groups.
double volume_before(double groups, const std::vector<double>& extents,
                     const std::vector<double>& tiles) {
  double inside = 1, trips = 1, sum = 0, slice = 1;
  for (size_t a = 0; a < extents.size(); ++a) {
    inside *= extents[a];
    trips *= std::ceil(extents[a] / tiles[a]);
  }
  if (groups >= trips) return inside;
  for (size_t a = 0; a < extents.size();
       ++a) {  // whole slabs of axis a, then the rest inside the next one
    inside /= extents[a];
    trips /= std::ceil(extents[a] / tiles[a]);
    const double slabs = std::floor(groups / trips);
    sum += slice * slabs * tiles[a] * inside;
    groups -= slabs * trips;
    slice *= std::min(tiles[a], extents[a] - slabs * tiles[a]);
  }
  return sum;
}

}  // namespace

double busiest_share(const ir::Program& p, const model::Machine& m) {
  const auto groups = static_cast<double>(ir::group_count(p));
  const double active = std::min(m.units, groups);
  const ir::Node& anchor = p.graph.nodes[0];
  std::vector<double> extents, tiles;  // along the axes of the group number, outermost first
  double group_volume = 1, volume = 1;
  for (const int a : p.tiles[0].order) {
    if (ir::is_reduce(p.graph, anchor, a)) continue;
    extents.push_back(static_cast<double>(anchor.axes[static_cast<size_t>(a)].extent));
    tiles.push_back(static_cast<double>(p.tiles[0].extent[static_cast<size_t>(a)]));
    group_volume *= tiles.back();
    volume *= extents.back();
  }
  const double whole =
      std::clamp(std::ceil(groups / m.units) * group_volume / volume, 1 / active, 1.0);
  if (m.simt || m.units > kMostUnits) return whole;
  double most = 0, before = 0;
  for (double u = 1; u <= m.units; ++u) {
    const double upto = volume_before(std::floor(groups * u / m.units), extents, tiles);
    most = std::max(most, upto - before);
    before = upto;
  }
  return std::clamp(most / volume, 1 / m.units, 1.0);
}

}  // namespace assay::simulator
