// What a read outside of an image gives: texels at its edges and beyond are read by place, as
// kernels read texels, and each answer stands beside what the nearest texel inside holds.
//
// A device says by its fact image_outside how its kernels read there; without it nothing is read,
// since its api says that this may do anything.
#pragma once

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

// Zero, or the edge, where all say the same; else unknown, and what was seen.
hwdesc::ImageBorder border_of(const Observations& all);

}  // namespace assay::probe
