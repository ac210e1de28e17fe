#include "compiler/schedule/touched_parts.h"

#include <algorithm>
#include <span>

namespace assay::compiler {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

// Of parts of a tensor that overlap and do not begin alike: any units may meet.
constexpr std::pair<int, int> kEverywhere{-1, -1};

}  // namespace

TouchedParts::TouchedParts(const ir::Plan& plan) : plan_(plan) {
  for (const ir::Step& s : plan.steps) programs_.push_back(s.program);
}

void TouchedParts::take(std::span<const int> programs) {
  programs_.assign(programs.begin(), programs.end());
}

bool TouchedParts::meet(int before, int x, int s, int y, int units) {
  return meet({before, x, units}, {s, y, units}, shared_arguments(before, s));
}

bool TouchedParts::are_own(int before, int s, int units) {
  const Arguments shared = shared_arguments(before, s);
  const auto [known, fresh] =
      own_.try_emplace({programs_[at(before)], programs_[at(s)], units, shared}, true);
  for (int x = 0; fresh && known->second && x + 1 < units; ++x)
    known->second = !meet({before, x, units}, {s, x + 1, units}, shared) &&
                    !meet({before, x + 1, units}, {s, x, units}, shared);
  for (int x = 0; fresh && x < units && units <= kMostUnits; ++x)
    for (int y = 0; known->second && y < units; ++y)
      if (x != y) known->second = !meet({before, x, units}, {s, y, units}, shared);
  return known->second;
}

const TouchedParts::Needed& TouchedParts::needed(int before, int units, int s, int readers) {
  const Arguments shared = shared_arguments(before, s);
  Needed& known = needed_[{programs_[at(before)], programs_[at(s)], units, readers, shared}];
  for (int y = static_cast<int>(known.size()); y < readers; ++y) {
    int first = 0, last = units;
    while (first < last && !meet({before, first, units}, {s, y, readers}, shared)) ++first;
    while (first < last && !meet({before, last - 1, units}, {s, y, readers}, shared)) --last;
    known.emplace_back(first, last);
  }
  return known;
}

TouchedParts::Arguments TouchedParts::shared_arguments(int before, int s) const {
  const ir::Step &one = plan_.steps[at(before)], &two = plan_.steps[at(s)];
  const size_t one_reads = ir::read_by(plan_, one).size(),
               two_reads = ir::read_by(plan_, two).size();
  Arguments out;
  const auto touches = [](const ir::Step& step, size_t first, const ir::Step& other) {
    const auto all = std::span(step.arguments).subspan(first);
    return other.needed_if && std::ranges::find(all, other.needed_if->tensor) != all.end();
  };
  if (touches(one, one_reads, two) || touches(two, two_reads, one)) return {kEverywhere};
  for (size_t i = 0; i < one.arguments.size(); ++i)
    for (size_t j = 0; j < two.arguments.size(); ++j)
      if (one.arguments[i] == two.arguments[j] && (i >= one_reads || j >= two_reads)) {
        const auto bytes = ir::bytes_of_argument(plan_, one, i),
                   others = ir::bytes_of_argument(plan_, two, j);
        if (bytes.second <= others.first || others.second <= bytes.first) continue;
        if (bytes.first != others.first) return {kEverywhere};
        out.emplace_back(static_cast<int>(i), static_cast<int>(j));
      }
  return out;
}

bool TouchedParts::meet(const Part& one, const Part& two, const Arguments& shared) {
  for (const auto& [i, j] : shared) {
    if (std::pair(i, j) == kEverywhere || shape_of(one.step, i) != shape_of(two.step, j))
      return true;
    if (ir::overlap(box(one.step, one.unit, one.units, i), box(two.step, two.unit, two.units, j)))
      return true;
  }
  return false;
}

const std::vector<int64_t>& TouchedParts::shape_of(int step, int argument) const {
  const ir::Program& p = plan_.programs[at(programs_[at(step)])];
  return p.graph.tensors[at(ir::arguments_of(p)[at(argument)])].shape;
}

// Steps of one program touch the same.
const ir::Box& TouchedParts::box(int step, int unit, int units, int argument) {
  const int program = programs_[at(step)];
  std::vector<ir::Box>& known = boxes_[{program, units, unit}];
  if (known.empty()) {
    auto touched = touched_.find(program);
    if (touched == touched_.end())
      touched = touched_.emplace(program, plan_.programs[at(program)]).first;
    const ir::Command all{
        ir::Command::Kind::run, 0, units, step, 0, ir::group_count(plan_.programs[at(program)])};
    const auto [begin, end] = ir::groups_of(all, unit);
    known = touched->second.of(begin, end);
    if (begin == end)  // no groups touch nothing
      for (ir::Box& b : known)
        for (ir::Range& r : b) r = {0, -1};
  }
  return known[at(argument)];
}

}  // namespace assay::compiler
