// Other ways to read memory: constants and images. The same chase goes through such an argument and through a plain one of
// the same size; what differs is the path.
//
//   path_chase      lane l: p[l] = nodes[p[l]], from where its state says; `nodes` constant, an image, or plain
//   image_read_<t>  vectors of texels of t numbers, a range of rows over and over; image_plain: the same of a plain argument
//
// Built for the experiment alone, each launch on its own: a kernel that runs through many launches takes addresses, which
// such arguments do not have. A device says by its facts what it has: constant_memory (bytes of one argument), images,
// image_width and image_height (texels).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hwdesc/profile.h"
#include "ir/kernel.h"
#include "probe/knee.h"
#include "probe/known.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr int kPathHops = 8;                   // per iteration
inline constexpr int64_t kPathStride = 64;            // bytes between nodes of constants
inline constexpr int64_t kMostConstants = 64 << 10;   // of one argument, where it may be larger
inline constexpr int64_t kImageRow = 1024;            // texels
inline constexpr int64_t kPathReads = 8;              // vectors per iteration

ir::Kernel path_chase(ir::Space space, int64_t elements, int lanes);
// A texel of `texel` numbers; 0: a plain argument of as many single numbers.
ir::Kernel path_read(int texel, int64_t texels, int lanes);
std::string path_read_name(int texel);

// A curve through a path beside the same through plain memory, from footprints of the same size.
struct PathCurves {
  std::vector<CurvePoint> path, plain;
};
PathCurves path_curves(const Observations& all, const std::string& experiment);
// No footprint through the path takes a time that a plain one does not take: greatest ratio of the two, either way; 0: no
// curve.
double path_differs(const PathCurves& curves);

// By how much a path takes longer than plain memory in every cache of that, which are then the caches that it goes through:
// locating a texel takes its time. nullopt: it has a cache of its own, or the curves do not tell.
std::optional<double> longer_to_plain_caches(const PathCurves& curves, const Levels& plain);

// Texels of a row, or rows, that are fetched together, by the time of a second touch at a distance; nullopt: not told.
std::optional<double> texels_together(const std::vector<CurvePoint>& by_distance);

// Texels across and down that are fetched together. Where touches below each other never are, a block is one row high.
struct TexelBlock {
  double width = 0, height = 0;
};
std::optional<TexelBlock> block_of(const std::vector<CurvePoint>& across, const std::vector<CurvePoint>& down);

// Entries of `paths`, and of `memory` what only they reach. Plain memory is there already.
void infer_paths(const Observations& all, const Known& known, hwdesc::Profile& to);

}  // namespace assay::probe
