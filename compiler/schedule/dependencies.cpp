#include "compiler/schedule/dependencies.h"

#include <algorithm>

namespace assay::compiler {

std::vector<std::vector<int>> dependencies_of(const ir::Plan& plan) {
  struct Touched {
    int writer = -1;
    std::vector<int> readers;  // since
  };
  std::vector<Touched> tensors(plan.tensors.size());
  std::vector<std::vector<int>> out(plan.steps.size());
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const ir::Step& step = plan.steps[static_cast<size_t>(s)];
    std::vector<int>& before = out[static_cast<size_t>(s)];
    for (const int t : ir::read_by(plan, step)) {
      Touched& of = tensors[static_cast<size_t>(t)];
      if (of.writer >= 0) before.push_back(of.writer);
      of.readers.push_back(s);
    }
    for (const int t : ir::written_by(plan, step)) {
      Touched& of = tensors[static_cast<size_t>(t)];
      if (of.writer >= 0) before.push_back(of.writer);
      for (const int r : of.readers)
        if (r != s) before.push_back(r);
      of = {s, {}};
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
  return out;
}

}  // namespace assay::compiler
