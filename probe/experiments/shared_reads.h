// Do two units share the last cache? Under cross-die placement a host declares one cache and runs
// the units on two dies.
// One unit writes and reads data that only the last cache holds, then reads other data, which
// evicts it from the caches before that one. Then it or another unit reads it again. If the cache
// is not shared, the other unit takes as long as from far memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probe/sampling/session.h"

namespace assay::probe {

class SharedReads {
 public:
  // nullopt: no other unit, one cache alone, or a last cache too close to the one before it.
  static std::optional<SharedReads> make(Session& s);

  // A block of samples of `experiment`: seconds per byte, read again by the same unit or the other
  // one.
  void measure(Session& s, const std::string& experiment, bool other, int samples) const;

 private:
  size_t level_ = 0;
  int64_t blocks_ = 0, between_ = 0;
  int buffer_ = -1, others_ = -1;
};

}  // namespace assay::probe
