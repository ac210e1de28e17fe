// Every profile of the library predicts. A matrix product and an elementwise operator are never
// faster than the profile's roofline, computed here independently, and not absurdly slower.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/compile.h"
#include "hwdesc/library.h"
#include "hwdesc/target.h"

namespace assay {
namespace {

using hwdesc::Profile;

constexpr double kSlowest = 20;  // times the roofline; a misread profile is off by more

double instances(const Profile& p, const std::string& per) {
  double n = 1;
  if (per == "device") return n;
  for (const hwdesc::TopologyLevel& t : p.topology) {
    n *= t.count.value->v;
    if (t.name == per) return n;
  }
  ADD_FAILURE() << p.name << ": no level " << per;
  return n;
}

double hertz(const Profile& p, const std::string& clock) {
  for (const hwdesc::Clock& c : p.clocks)
    if (c.name == clock) return c.max.value->v;
  return 1;  // counted per second
}

// Multiply-adds per second of their pipe at the highest clock.
double peak(const Profile& p) {
  for (const hwdesc::ComputeOp& c : p.compute) {
    if (c.op != "fma" || c.dtype != "f32" || !c.mode.empty()) continue;
    const double slots = c.slots.known() ? c.slots.value->v : 1;
    for (const hwdesc::Pipe& pipe : p.pipes)
      if (pipe.name == c.pipe)
        return pipe.rate.value->v * hertz(p, pipe.rate.value->clock) * instances(p, pipe.per) /
               slots;
  }
  ADD_FAILURE() << p.name << ": no pipe for fma.f32";
  return 1;
}

// The highest bandwidth of the memory that holds the tensors, in either direction.
double bandwidth(const Profile& p) {
  double best = 0;
  for (const hwdesc::MemoryLevel& m : p.memory) {
    if (m.per != "device" || m.managed != hwdesc::Managed::explicit_) continue;
    for (const auto* v : {&m.bandwidth.read, &m.bandwidth.write, &m.bandwidth.copy})
      if (v->known()) best = std::max(best, v->value->v * hertz(p, v->value->clock));
  }
  EXPECT_GT(best, 0) << p.name;
  return best;
}

// Bytes of all caches, all instances of them.
double caches(const Profile& p) {
  double bytes = 0;
  for (const hwdesc::MemoryLevel& m : p.memory)
    if (m.managed == hwdesc::Managed::automatic && m.capacity.known())
      bytes += m.capacity.value->v * instances(p, m.per);
  return bytes;
}

class Roofline : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto p = hwdesc::load_from_library(GetParam());
    ASSERT_TRUE(p.ok()) << render(p.diags());
    profile_ = std::move(*p);
  }

  double predicted(const std::string& op) {
    const auto target = hwdesc::select_target(profile_, "", "");
    const auto graph = compiler::parse_operator(op);
    EXPECT_TRUE(target.ok() && graph.ok());
    const auto compiled = compiler::compile(*graph, *target, {});
    EXPECT_TRUE(compiled.ok()) << render(compiled.diags());
    return compiled.ok() ? compiled->total.seconds : 0;
  }

  Profile profile_;
};

TEST_P(Roofline, matmul) {
  const double floor = 1024.0 * 1024 * 1024 / peak(profile_);
  const double seconds = predicted("matmul m=1024 n=1024 k=1024");
  EXPECT_GE(seconds, floor);
  EXPECT_LE(seconds, kSlowest * floor);
}

// A tensor is twice all caches of the chip, and 64 MiB at least: less than its smallest memory.
TEST_P(Roofline, relu) {
  int64_t elements = 1 << 24;
  while (4.0 * static_cast<double>(elements) < 2 * caches(profile_)) elements *= 2;
  const double floor = 2 * 4.0 * static_cast<double>(elements) / bandwidth(profile_);
  const double seconds = predicted("relu n=" + std::to_string(elements));
  EXPECT_GE(seconds, floor);
  EXPECT_LE(seconds, kSlowest * floor);
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const hwdesc::LibraryEntry& e : hwdesc::library())
    if (e.kind == hwdesc::LibraryKind::profile) out.emplace_back(e.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Library, Roofline, testing::ValuesIn(names()), [](const auto& given) {
  std::string name = given.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); },
      '_');
  return name;
});

}  // namespace
}  // namespace assay
