#include "ir/accesses.h"

#include <fmt/format.h>

#include <vector>

namespace assay::ir {

namespace {

size_t at(int i) { return static_cast<size_t>(i); }

std::vector<Access> accesses_of(const Plan& plan, int s) {
  std::vector<Access> out;
  const Step& step = plan.steps[at(s)];
  const size_t reads = read_by(plan, step).size();
  for (size_t a = 0; a < step.arguments.size(); ++a) {
    const PlanTensor& t = plan.tensors[at(step.arguments[a])];
    if (t.kind == TensorKind::constant || t.bytes == 0) continue;
    const auto [begin, end] = bytes_of_argument(plan, step, a);
    out.push_back({s, static_cast<int>(a), step.arguments[a], begin, end, a >= reads});
  }
  if (!step.needed_if) return out;
  const PlanTensor& t = plan.tensors[at(step.needed_if->tensor)];
  if (t.kind != TensorKind::constant)
    out.push_back({s, -1, step.needed_if->tensor, t.offset, t.offset + bytes_of(t.dtype), false});
  return out;
}

}  // namespace

void each_conflict(const Plan& plan, const std::function<bool(int, int)>& is_over,
                   const std::function<void(const Access&, const Access&)>& met) {
  std::vector<Access> live;
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const std::vector<Access> step = accesses_of(plan, s);
    for (const Access& now : step)
      std::erase_if(live, [&](const Access& old) {
        if (old.end <= now.begin || now.end <= old.begin || (!old.writes && !now.writes))
          return false;
        const bool over = is_over(old.step, now.step);
        if (!over) met(old, now);
        return over && now.writes && now.begin <= old.begin && old.end <= now.end;
      });
    live.insert(live.end(), step.begin(), step.end());
  }
}

std::string conflict_text(const Plan& plan, const Access& old, const Access& now) {
  const auto tensor = [&](const Access& a) { return plan.tensors[at(a.tensor)].name; };
  const std::string what = old.writes && now.writes ? "both write"
                           : old.writes             ? "the second reads what the first writes"
                                                    : "the second writes what the first reads";
  return old.tensor == now.tensor
             ? fmt::format("{} (tensor {})", what, tensor(now))
             : fmt::format("{} (tensors {} and {} share bytes)", what, tensor(old), tensor(now));
}

}  // namespace assay::ir
