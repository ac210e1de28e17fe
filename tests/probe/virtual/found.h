// What some experiments find of the small chips of this folder, compared with the chips' profiles.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "probe/probe.h"
#include "tests/probe/virtual/chip_profile.h"

namespace assay::probe::testing {

// One probe for all tests of a chip. `device`: of a chip of the folder, or of the library, as
// virtual: has it.
inline const hwdesc::Profile& found_of(const std::string& device,
                                       const std::vector<std::string>& only, int64_t max_bytes) {
  static std::map<std::pair<std::string, std::vector<std::string>>, hwdesc::Profile> probed;
  if (const auto it = probed.find({device, only}); it != probed.end()) return it->second;
  ProbeOptions options;
  options.budget_s = 10;
  options.max_bytes = max_bytes;
  options.only = only;
  const auto result = probe("virtual:" + device, options);
  if (!result) throw std::runtime_error(render(result.diags()));
  EXPECT_TRUE(result->warnings.empty()) << render(result->warnings);
  return probed[{device, only}] = result->profile;
}

inline const hwdesc::MemoryLevel& level(const hwdesc::Profile& p, const std::string& name) {
  for (const hwdesc::MemoryLevel& l : p.memory)
    if (l.name == name) return l;
  throw std::runtime_error(p.name + " has no " + name);
}

template <class Q>
void expect_told(const hwdesc::Value<Q>& v, double truth, double within) {
  ASSERT_TRUE(v.known()) << v.note;
  EXPECT_NEAR(v.value->v, truth, within * truth);
}

}  // namespace assay::probe::testing
