// Whether a unit finds in the last cache what another one has read: units of one die do, units
// whose hypervisor declares one cache of all and runs them on two dies do not. One unit writes and
// reads what only the last cache holds, and reads other bytes, which drive it out of the caches
// before that one; then it or another unit reads it again. A cache that is not the other unit's has
// it no nearer than far memory has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "probe/sampling/session.h"

namespace assay::probe {

class Found {
 public:
  // nullopt: no other unit, one cache alone, or none far enough beyond the one before it to be seen
  // by itself.
  static std::optional<Found> make(Session& s);

  // A block of so many samples of `experiment`: seconds per byte of what it has read itself, or the
  // other one.
  void look(Session& s, const std::string& experiment, bool other, int samples) const;

 private:
  size_t level_ = 0;
  int64_t blocks_ = 0, between_ = 0;
  int buffer_ = -1, others_ = -1;
};

}  // namespace assay::probe
