// Memory paths of their own: a curve through constants or images against the same chase through
// plain memory (kernels/path.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/knee.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// A curve through a path and one through plain memory, over footprints of the same size.
struct PathCurves {
  std::vector<CurvePoint> path, plain;
};
PathCurves path_curves(const Observations& all, const std::string& experiment);
// The greatest ratio of the two times at one footprint, either way; 0: no curve.
double path_contrast(const PathCurves& curves);

// The latency that a path adds in every plain cache, which are then the caches that it uses:
// locating a texel takes time. nullopt: it has a cache of its own, or the curves do not show it.
std::optional<double> extra_path_latency(const PathCurves& curves, const Levels& plain);

// Texels of a row, or rows, that one fetch brings, by the time of a second touch at a distance;
// nullopt: unknown.
std::optional<double> fetched_texels(const std::vector<CurvePoint>& by_distance);

// Texels across and down that one fetch brings. Where it never brings a row below, a block is one
// row high.
struct TexelBlock {
  double width = 0, height = 0;
};
std::optional<TexelBlock> block_of(const std::vector<CurvePoint>& across,
                                   const std::vector<CurvePoint>& down);

// Entries of `paths`, and of `memory` what only they reach. Plain memory is in `to` already.
void infer_paths(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
