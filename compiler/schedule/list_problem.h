// What a schedule of steps is made from: their times on few units and on many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::compiler {

struct ListProblem {
  int units = 1;
  std::vector<int> widths;  // ascending; the last one is all units
  // Per step and width. Infinite: not offered; the narrowest and the widest always are.
  std::vector<std::vector<double>> seconds;
  std::vector<std::vector<int>> dependencies;  // per step, those before it
  double hand_off = 0;                         // s, where a step follows one on other units
  // Per step and dependency, the widths (bit w: widths[w]) at which no unit needs anything of
  // another one, where both steps are on the same units. Empty: none but one unit.
  std::vector<std::vector<uint64_t>> own_parts{};
  // Per step and dependency, whether there may be such a width above one unit. Empty: none.
  std::vector<std::vector<bool>> may_be_own{};
  // Per step and width, the program that takes so long, of those that the step may have.
  std::vector<std::vector<int>> programs{};
};

constexpr size_t kMostWidths = 64;  // of a problem

// Is there no hand-off from the dependency at position `d` where both are on the same units?
inline bool needs_no_hand_off(const ListProblem& p, size_t step, size_t d, size_t width) {
  return p.widths[width] == 1 || (!p.own_parts.empty() && (p.own_parts[step][d] >> width & 1) != 0);
}

// Does each schedule whose step is on several units have that hand-off?
inline bool always_hands_off(const ListProblem& p, size_t step, size_t d) {
  return p.may_be_own.empty() || !p.may_be_own[step][d];
}

// A width of a step that is faster than all narrower ones.
struct WidthOption {
  size_t width = 0;  // position in the problem's
  int units = 1;
  double seconds = 0;
  double work() const { return units * seconds; }  // unit seconds
};
using WidthOptions = std::vector<std::vector<WidthOption>>;  // per step, ascending

WidthOptions width_options(const ListProblem& problem);

// Per step, those that depend on it, ascending.
std::vector<std::vector<int>> readers_of(const ListProblem& problem);

// Units [first, last), seconds.
struct Assigned {
  int first = 0, last = 0;
  double begin = 0, end = 0;
};

// s, when the last step ends.
double end_of(const std::vector<Assigned>& assigned);

}  // namespace assay::compiler
