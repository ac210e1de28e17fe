// Sampling of images at positions that are computed: GridSample and RoiAlign.
//
//   y[p, c] = sum(t) weight[p, t] image[place[p, t], c]
//
// A read looks up one position, so an image's dimensions are seen as one, and the channels are
// last: lanes then share a position and read neighbours. Places are numbers of f32, exact up to
// 2^24. A place outside the image gives 0.
#pragma once

#include "compiler/import/context.h"

namespace assay::import {

// [batch, channels, d1 .. dr] -> [batch, d1 * .. * dr, channels]; refuses images that are too
// large.
int image_rows(Context& c, int x);

// `places` and `weights` are [batch, points.., taps], the result is [batch, points.., channels].
// `weights` of -1: all are 1, and there is one tap. Rows of another batch are none of its points',
// unless `shared`: then there is one batch of rows for all.
struct Samples {
  int rows = -1, places = -1, weights = -1;
  bool shared = false;
  ir::Combiner combine = ir::Combiner::sum;
};
int sampled(Context& c, const Samples& s);

}  // namespace assay::import
