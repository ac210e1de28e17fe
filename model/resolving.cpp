#include "model/resolving.h"

#include <algorithm>

#include "model/constants.h"

namespace assay::model {

void Resolving::fail(const std::string& what, const std::string& hint) const {
  out_.diags.push_back(error("profile " + p_.name + " " + what, hint));
}

Quantity Resolving::assume(double value, const std::string& path, const std::string& why) const {
  m_.assumptions.push_back(path + ": " + why);
  return {path == out_.scaled.path ? value * out_.scaled.factor : value, defaults::kSpread, true,
          path};
}

double Resolving::instances_of(const std::string& per) const {
  double n = 1;
  if (per == "device" || per == "host") return 1;
  for (const hwdesc::TopologyLevel& t : p_.topology) {
    n *= t.count.known() ? t.count.value->v : 1;
    if (t.name == per) return n;
  }
  return 1;
}

double Resolving::hertz(const std::string& clock) const {
  for (const hwdesc::Clock& c : p_.clocks) {
    if (c.name != clock) continue;
    const double max = c.max.known() ? c.max.value->v : 0;
    for (const char* load : {"fma", "all"})
      for (const auto& [name, value] : c.sustained)  // never above the clock without load
        if (name == load && value.known())
          return max > 0 ? std::min(max, value.value->v) : value.value->v;
    return max;
  }
  return 0;
}

double Resolving::ticks(const std::string& clock) const {
  if (clock.empty()) return 1;
  const double hz = hertz(clock);
  if (hz <= 0) out_.unknown_clocks.insert(clock);
  return std::max(hz, 1.0);
}

Quantity Resolving::bandwidth(const hwdesc::Value<hwdesc::Bandwidth>& v,
                              const std::string& path) const {
  if (!v.known()) return {};
  return {v.value->v * ticks(v.value->clock), spread_of(v), false, path};
}

}  // namespace assay::model
