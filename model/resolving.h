// A profile's values in seconds and bytes: what the parts of `prepare` share. For machine*.cpp
// only.
#pragma once

#include <cmath>
#include <set>
#include <string>

#include "model/machine.h"

namespace assay::model {

struct Resolution {
  Machine machine;
  Diags diags;
  std::set<std::string> unknown_clocks;  // named by values in ticks, but of unknown frequency
  Scaled scaled;
};

// Half the width of a value's interval, relative to the value; 0: none is given.
template <class Q>
double spread_of(const hwdesc::Value<Q>& v) {
  if (!v.known() || !v.low || !v.high || v.value->v == 0) return 0;
  return std::abs(v.high->v - v.low->v) / (2 * std::abs(v.value->v));
}

class Resolving {
 protected:
  Resolving(const hwdesc::Target& target, Resolution& out)
      : p_(target.profile), api_(target.api), m_(out.machine), out_(out) {}

  void fail(const std::string& what, const std::string& hint) const;
  Quantity assume(double value, const std::string& path, const std::string& why) const;

  // How many instances of topology level `per` the device has.
  double instances_of(const std::string& per) const;
  // Instances of `per` inside one unit (partitions), or the fraction of one (halves).
  double per_unit(const std::string& per) const { return instances_of(per) / m_.units; }

  double hertz(const std::string& clock) const;
  // Ticks per second of a value's clock; 1 where it counts in seconds.
  double ticks(const std::string& clock) const;
  double seconds(const hwdesc::Latency& l) const { return l.v / ticks(l.clock); }
  // Bytes per second; 0 where it is not known.
  Quantity bandwidth(const hwdesc::Value<hwdesc::Bandwidth>& v, const std::string& path) const;

  const hwdesc::Profile& p_;
  const hwdesc::Api& api_;
  Machine& m_;
  Resolution& out_;
};

// Memories and TLBs. Pre: units, clock, lanes and pipes are resolved.
void resolve_memories(const hwdesc::Target& target, Resolution& out);

// Types, matrix instructions, threads' registers, launches by kind. Pre: units and clock are
// resolved.
void resolve_types(const hwdesc::Target& target, std::span<const ir::MatrixInstruction> described,
                   Resolution& out);

}  // namespace assay::model
