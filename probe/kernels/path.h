// Other paths to memory: constants and images. The same chase runs through such an argument and
// through a global one of the same size.
//
//   path_chase       lane l: p[l] = nodes[p[l]], from its state; `nodes` constant, image or global;
//   image_read_<t>   vectors of texels of t numbers, a range of rows repeatedly;
//   image_plain      the same of a global argument;
//   image_touch_<t>  answers[i] = the texel of t numbers in column columns[i] of row rows[i],
//                    inside and outside of an image.
//
// Built for the experiment alone, each launch by itself: a kernel that runs through many launches
// takes addresses, which such arguments do not have. The device's facts say what it supports:
// constant_memory (bytes of one argument), images, image_width and image_height (texels).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ir/kernel.h"

namespace assay::probe {

inline constexpr int kPathHops = 8;                  // per iteration
inline constexpr int64_t kPathStride = 64;           // bytes between nodes of constants
inline constexpr int64_t kMostConstants = 64 << 10;  // of one argument, where it may be larger
inline constexpr int64_t kImageRow = 1024;           // texels
inline constexpr int64_t kPathReads = 8;             // vectors per iteration

ir::Kernel path_chase(ir::Space space, int64_t elements, int lanes);
// A texel of `texel` numbers; 0: a global argument of as many single numbers.
ir::Kernel path_read(int texel, int64_t texels, int lanes);
std::string path_read_name(int texel);

inline constexpr int64_t kBorderColumns = 64, kBorderRows = 32, kFarOutside = int64_t{1} << 20;

struct Touch {
  const char* where;
  int64_t column, row;
};
inline constexpr std::array<Touch, 13> kTouches = {{{"inside", 0, 0},
                                                    {"inside", 17, 9},
                                                    {"inside", kBorderColumns - 1, kBorderRows - 1},
                                                    {"left", -1, 9},
                                                    {"right", kBorderColumns, 9},
                                                    {"above", 17, -1},
                                                    {"below", 17, kBorderRows},
                                                    {"corner", -1, -1},
                                                    {"corner", kBorderColumns, kBorderRows},
                                                    {"far", -kFarOutside, 9},
                                                    {"far", kFarOutside, 9},
                                                    {"far", 17, -kFarOutside},
                                                    {"far", 17, kFarOutside}}};

ir::Kernel image_touch(int texel, ir::DType type);
std::string image_touch_name(int texel);

}  // namespace assay::probe
