#include "compiler/schedule/draw.h"

#include <algorithm>
#include <random>

#include "compiler/schedule/synchronise.h"
#include "compiler/schedule/timed_list.h"
#include "compiler/schedule/widths.h"
#include "simulator/unit_range.h"

namespace assay::compiler {

std::vector<std::vector<ir::Command>> draw_schedules(const ir::Plan& plan, const model::Machine& m,
                                                     int count, uint64_t seed) {
  constexpr int kTries = 4;  // for each schedule that is wanted
  TouchedParts parts(plan);
  const ListProblem problem =
      list_problem(plan, simulator::with_residents(m, plan.resident), &parts);
  const WidthOptions options = width_options(problem);
  TimedList list(problem, options);
  std::mt19937_64 random(seed);
  const auto part = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };  // of 1
  std::vector<std::vector<ir::Command>> out;
  for (int i = 0; i < kTries * count && static_cast<int>(out.size()) < count; ++i) {
    const double wide = part();
    std::vector<int> choice;
    for (const std::vector<WidthOption>& of : options) {
      const auto widest = static_cast<double>(of.size() - 1);
      choice.push_back(static_cast<int>(part() < wide ? widest : part() * widest));
    }
    list.run(choice);
    const WaitsFor waits = part() < 0.5 ? WaitsFor::parts : WaitsFor::steps;
    std::vector<ir::Command> drawn =
        synchronised(plan, list.assigned(), problem.dependencies, parts, waits);
    if (std::ranges::find(out, drawn) == out.end()) out.push_back(std::move(drawn));
  }
  return out;
}

}  // namespace assay::compiler
