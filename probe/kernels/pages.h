// Pages, as chases visit them (sampling/cycle.h).
#pragma once

#include <cstdint>

namespace assay::probe {

inline constexpr int64_t kPage = 4096;    // smallest page: the conservative choice for locality
inline constexpr int64_t kFarPages = 17;  // odd: spreads over the sets of a TLB
inline constexpr int64_t kLocalBytes = 64 * kPage, kMostLocalBytes = 1024 * kPage;

}  // namespace assay::probe
