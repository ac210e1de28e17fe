// What a path of its own is told by: a curve through constants or images beside the same chase
// through plain memory (kernels/path.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "probe/inference/knee.h"
#include "probe/inference/known.h"
#include "probe/observation.h"

namespace assay::probe {

// A curve through a path beside the same through plain memory, from footprints of the same size.
struct PathCurves {
  std::vector<CurvePoint> path, plain;
};
PathCurves path_curves(const Observations& all, const std::string& experiment);
// No footprint through the path takes a time that a plain one does not take: greatest ratio of the
// two, either way; 0: no curve.
double path_differs(const PathCurves& curves);

// By how much a path takes longer than plain memory in every cache of that, which are then the
// caches that it goes through: locating a texel takes its time. nullopt: it has a cache of its own,
// or the curves do not tell.
std::optional<double> longer_to_plain_caches(const PathCurves& curves, const Levels& plain);

// Texels of a row, or rows, that are fetched together, by the time of a second touch at a distance;
// nullopt: not told.
std::optional<double> texels_together(const std::vector<CurvePoint>& by_distance);

// Texels across and down that are fetched together. Where touches below each other never are, a
// block is one row high.
struct TexelBlock {
  double width = 0, height = 0;
};
std::optional<TexelBlock> block_of(const std::vector<CurvePoint>& across,
                                   const std::vector<CurvePoint>& down);

// Entries of `paths`, and of `memory` what only they reach. Plain memory is there already.
void infer_paths(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
