// What a read outside of an image gives: texels at its edges and beyond are read by place, as kernels read texels, and each
// answer stands beside what the nearest texel inside holds.
//
//   image_touch_<t>  answers[i] = the texel of t numbers in column columns[i] of row rows[i]
//
// A device says by its fact image_outside how its kernels read there; without it nothing is read, since its api says that
// this may do anything.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hwdesc/profile.h"
#include "ir/kernel.h"
#include "probe/observation.h"

namespace assay::probe {

inline constexpr int64_t kBorderColumns = 64, kBorderRows = 32, kFarOutside = int64_t{1} << 20;

struct Touch {
  const char* where;
  int64_t column, row;
};
inline constexpr std::array<Touch, 13> kTouches = {{{"inside", 0, 0}, {"inside", 17, 9}, {"inside", kBorderColumns - 1, kBorderRows - 1},
                                                    {"left", -1, 9}, {"right", kBorderColumns, 9}, {"above", 17, -1}, {"below", 17, kBorderRows},
                                                    {"corner", -1, -1}, {"corner", kBorderColumns, kBorderRows},
                                                    {"far", -kFarOutside, 9}, {"far", kFarOutside, 9}, {"far", 17, -kFarOutside}, {"far", 17, kFarOutside}}};

ir::Kernel image_touch(int texel, ir::DType type);
std::string image_touch_name(int texel);

// Zero, or the edge, where all say the same; else unknown, and what was seen.
hwdesc::ImageBorder border_of(const Observations& all);

}  // namespace assay::probe
