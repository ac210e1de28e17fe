// What a read outside of an image gives. Texels at its edges and beyond are read by position, as
// kernels read texels, and each answer is compared with the nearest texel inside.
//
// The device's fact image_outside says how its kernels read there. Without it nothing is read,
// since its api leaves the result undefined.
#pragma once

#include "hwdesc/profile.h"
#include "probe/observation.h"

namespace assay::probe {

// Zero, or the edge, where all reads agree; else unknown, and what was seen.
hwdesc::ImageBorder border_of(const Observations& all);

}  // namespace assay::probe
