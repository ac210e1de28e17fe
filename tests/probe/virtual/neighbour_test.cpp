// Chips with a neighbour for a part of the run, who takes half of the caches, issue slots or a part
// of the clock; chips whose system declares half, twice or nothing of the truth. No interval
// excludes it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "hwdesc/library.h"
#include "tests/probe/virtual/chip_profile.h"
#include "tests/probe/virtual/complete.h"
#include "tests/probe/virtual/found.h"
#include "tests/probe/virtual/probed.h"
#include "tests/probe/virtual/truth.h"
#include "tests/probe/virtual/with_effects.h"

namespace assay::probe {
namespace {

struct Case {
  std::string chip, name, effects;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.chip << c.name; }

std::vector<Case> cases_of(std::vector<std::string> chips) {
  const std::pair<const char*, const char*> kEffects[] = {
      {"plain", ""},
      {"caches", "neighbour: {every: 40 ms, lasts: 15 ms, caches: 0.5}\n"},
      {"slots", "neighbour: {every: 40 ms, lasts: 15 ms, slots: 0.5}\n"},
      {"clock", "neighbour: {every: 40 ms, lasts: 15 ms, clock: 0.6}\n"},
      {"half", "declares: 0.5\n"},
      {"twice", "declares: 2\n"},
      {"truth", "declares: 1\n"},
      {"twice_and_caches", "declares: 2\nneighbour: {every: 40 ms, lasts: 15 ms, caches: 0.5}\n"}};
  std::vector<Case> out;
  for (const std::string& chip : chips)
    for (const auto& [name, effects] : kEffects) out.push_back({chip, name, effects});
  return out;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string out = info.param.chip + "_" + info.param.name;
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return out;
}

template <class Q>
void expect_held(const hwdesc::Value<Q>& v, double truth, const std::string& what) {
  ASSERT_TRUE(v.known()) << what << ": " << v.note;
  const double value = v.value->v, low = v.low ? v.low->v : value,
               high = v.high ? v.high->v : value;
  EXPECT_LE(low, 1.001 * truth) << what << ": " << v.note;
  EXPECT_GE(high, 0.999 * truth) << what << ": " << v.note;
}

std::vector<const hwdesc::MemoryLevel*> caches_of(const hwdesc::Profile& p) {
  std::vector<const hwdesc::MemoryLevel*> out;
  for (const hwdesc::MemoryLevel& l : p.memory)
    if (l.managed == hwdesc::Managed::automatic && l.path.empty()) out.push_back(&l);
  return out;
}

class Neighbours : public ::testing::TestWithParam<Case> {};

TEST_P(Neighbours, NoIntervalExcludesTheTruth) {
  const Case& c = GetParam();
  const testing::WithEffects chip(testing::chip_file(c.chip), "noise: 0.03\n" + c.effects);
  const hwdesc::Profile truth = testing::chip_profile(c.chip),
                        found = testing::found_of(
                            chip.device().substr(8),
                            {"clock", "line", "chase", "knees", "fma", "units", "waves", "looks"},
                            int64_t{8} << 20);
  const auto real = caches_of(truth), caches = caches_of(found);
  ASSERT_EQ(caches.size(), real.size());
  for (size_t i = 0; i < real.size(); ++i) {
    expect_held(caches[i]->capacity, real[i]->capacity.value->v, real[i]->name);
    expect_held(caches[i]->line, real[i]->line.value->v, real[i]->name + " line");
  }
  expect_held(found.clocks.at(0).max, truth.clocks.at(0).max.value->v, "clock");
  expect_held(found.topology.back().count, truth.topology.at(0).count.value->v, "units");
  const hwdesc::Pipe& fma = found.pipes.at(0);
  ASSERT_EQ(fma.name, "fma");
  ASSERT_TRUE(fma.rate.known());
  expect_held(fma.rate, truth.pipes.at(0).rate.value->v, "fma");
}

INSTANTIATE_TEST_SUITE_P(Small, Neighbours,
                         ::testing::ValuesIn(cases_of({"two-levels", "access-core"})), name_of);

// All that a whole probe finds.
class NeighboursOfAll : public ::testing::TestWithParam<Case> {};

TEST_P(NeighboursOfAll, NoIntervalExcludesTheTruth) {
  const Case& c = GetParam();
  const bool small = c.chip.find('/') == std::string::npos;
  const std::string file = small ? testing::chip_file(c.chip) : c.chip;
  const testing::WithEffects chip(file, "noise: 0.03\n" + c.effects);
  const auto truth = small ? Result<hwdesc::Profile>(testing::chip_profile(c.chip))
                           : hwdesc::load_from_library(c.chip);
  ASSERT_TRUE(truth.ok()) << render(truth.diags());
  ProbeOptions options;
  if (small) options.max_bytes = int64_t{24} << 20;
  const auto result = testing::probed(name_of({c, 0}), chip.device(), options);
  ASSERT_TRUE(result.ok()) << render(result.diags());
  std::string all;
  for (const std::string& w :
       testing::contradictions(testing::completed(*truth), result->profile, 0.05))
    all += "\n  " + w;
  EXPECT_TRUE(all.empty()) << all;
}

INSTANTIATE_TEST_SUITE_P(Slow, NeighboursOfAll,
                         ::testing::ValuesIn(cases_of({"two-levels", "waves-of-32", "phone",
                                                       "generic/x86-avx512-2core"})),
                         name_of);

}  // namespace
}  // namespace assay::probe
