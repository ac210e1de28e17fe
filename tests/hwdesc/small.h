// A small valid profile for tests to vary, and the errors of reading it.
#pragma once

#include <string>

#include "hwdesc/parse.h"

namespace assay::hwdesc {

inline std::string small_profile() {
  return "schema: assay/profile/1\n"             // line 1
         "name: small\n"                         // 2
         "source: measured\n"                    // 3
         "references: {ds: a datasheet}\n"       // 4
         "clocks: {core: 2 GHz}\n"               // 5
         "topology: [{name: unit, count: 4}]\n"  // 6
         "pipes:\n"                              // 7
         "  - {name: fma, per: unit, rate: 16 /cycle@core}\n"
         "memory:\n"  // 9
         "  - {name: l1, per: unit, capacity: 32 KiB, latency: 5 cycles@core}\n"
         "  - name: dram\n"  // 11
         "    per: device\n"
         "    managed: explicit\n"
         "    latency: {value: 90 ns, low: 80 ns, high: 110 ns, n: 30, source: measured, ref: ds}\n"
         "    bandwidth: {read: 50 GB/s, write: {value: unknown, note: not tried}}\n"
         "compute:\n"
         "  - {op: fma, dtype: f32, pipe: fma, latency: 4 cycles@core}\n";
}

// `small_profile` with the first `from` replaced by `to`.
inline std::string varied(const std::string& from, const std::string& to) {
  std::string text = small_profile();
  const size_t at = text.find(from);
  return at == std::string::npos ? "" : text.replace(at, from.size(), to);
}

inline std::string complaints(const std::string& text, const Library& lib = no_library) {
  const auto p = parse_profile(text, "p.yaml", lib);
  return p.ok() ? "" : render(p.diags());
}

}  // namespace assay::hwdesc
