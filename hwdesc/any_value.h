// A Value<Q> whose dimension is data instead of a type, so that reading, printing, checking and
// overriding need no templates. Post-condition: from_any<Q>(to_any(v)) == v.
#pragma once

#include "hwdesc/kinds.h"

namespace assay::hwdesc {

struct AnyValue {
  Dimension dimension = Dimension::count;
  std::optional<Quantity> value, low, high;
  std::optional<int64_t> n;
  std::optional<Origin> source;
  std::string method, ref, note;
  bool operator==(const AnyValue&) const = default;
};

template <class Q>
AnyValue to_any(const Value<Q>& v) {
  AnyValue out{kDimension<Q>, {}, {}, {}, v.n, v.source, v.method, v.ref, v.note};
  if (v.value) out.value = to_quantity(*v.value);
  if (v.low) out.low = to_quantity(*v.low);
  if (v.high) out.high = to_quantity(*v.high);
  return out;
}

template <class Q>
Value<Q> from_any(const AnyValue& v) {
  Value<Q> out;
  if (v.value) out.value = from_quantity<Q>(*v.value);
  if (v.low) out.low = from_quantity<Q>(*v.low);
  if (v.high) out.high = from_quantity<Q>(*v.high);
  out.n = v.n;
  out.source = v.source;
  out.method = v.method;
  out.ref = v.ref;
  out.note = v.note;
  return out;
}

}  // namespace assay::hwdesc
