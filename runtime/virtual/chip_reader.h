// Converts a profile's values to ticks, seconds and bytes. Internal to chip*.cpp.
#pragma once

#include <algorithm>
#include <string>

#include "runtime/virtual/chip.h"
#include "runtime/virtual/defaults.h"

namespace assay::runtime::simulated {

struct ProfileReader {
  const hwdesc::Profile& p;
  bool simt;

  double hertz(const std::string& clock) const;
  Span span(const hwdesc::Value<hwdesc::Latency>& v, Span otherwise) const;
  Speed speed(const hwdesc::Value<hwdesc::Bandwidth>& v, Speed otherwise) const;
  double rate(const hwdesc::Value<hwdesc::Rate>& v,
              double otherwise) const;          // per tick of the core
  int levels_of(const std::string& per) const;  // instances of `per` in the device
};

template <class Q>
double value_or(const hwdesc::Value<Q>& v, double otherwise) {
  return v.known() ? v.value->v : otherwise;
}

void read_execution(const ProfileReader& r, Chip& to);
void read_atomics(const ProfileReader& r, Chip& to);  // after memory
void read_memory(const ProfileReader& r, Chip& to);

}  // namespace assay::runtime::simulated
