#include "compiler/search/few_units.h"

#include <algorithm>
#include <utility>

#include "simulator/estimate.h"
#include "simulator/range.h"
#include "simulator/unit_range.h"

namespace assay::compiler {

namespace {

// Parts of the chip that programs are sought for: as wide as a step of a few that run side by side,
// and as one of many.
constexpr int kFew = 4, kMany = 16, kHalf = 2;

constexpr double kLess = 0.97;  // of another program's time: what counts

std::vector<int> parts_of(int units) {
  if (units / kMany > 0) return {units / kFew, units / kMany};
  return units / kHalf > 0 ? std::vector{units / kHalf} : std::vector<int>{};
}

}  // namespace

FewUnits::FewUnits(const hwdesc::Target& target, const model::Machine& m, ForEach each)
    : target_(target), each_(std::move(each)) {
  for (const int units : parts_of(static_cast<int>(m.units))) {
    parts_.push_back(simulator::part_of(m, 0, units));
    parts_.back().launch.value = 0;
  }
}

std::vector<ir::Program> FewUnits::beside(const ir::Program& fast) {
  ir::Program unnamed = fast;  // equal programs of several plans have names of their own
  unnamed.name.clear();
  const auto [known, fresh] = known_.try_emplace(ir::hash_of(unnamed));
  if (fresh && fast.producers.empty()) known->second = search(fast);
  return known->second;
}

std::vector<ir::Program> FewUnits::search(const ir::Program& fast) const {
  const Problem problem{fast.graph, fast.layouts, std::vector<bool>(fast.layouts.size(), false)};
  const std::vector<simulator::Range> where = simulator::separate_ranges(fast);
  std::vector<simulator::CacheState> found;  // per part
  for (const model::Machine& part : parts_)
    found.push_back(simulator::after(fast, part, {}, where));
  const auto seconds_of = [&](const ir::Program& p) {
    std::vector<double> out;  // per part
    for (size_t i = 0; i < parts_.size(); ++i)
      out.push_back(
          simulator::estimate(p, parts_[i], found[i], where, nullptr, simulator::TermDetail::none)
              .seconds);
    return out;
  };
  std::vector<double> least = seconds_of(fast);  // of the programs so far
  std::vector<ir::Program> out;
  for (size_t i = 0; i < parts_.size(); ++i) {
    Result<Constructed> made = construct(problem, target_, parts_[i], found[i], where, 1, each_);
    if (!made.ok()) continue;
    ir::Program& p = made->best.front().program;
    const std::vector<double> seconds = seconds_of(p);
    if (seconds[i] >= kLess * least[i]) continue;
    for (size_t j = 0; j < parts_.size(); ++j) least[j] = std::min(least[j], seconds[j]);
    out.push_back(std::move(p));
  }
  return out;
}

}  // namespace assay::compiler
