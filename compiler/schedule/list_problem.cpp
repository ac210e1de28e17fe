#include "compiler/schedule/list_problem.h"

#include <algorithm>

namespace assay::compiler {

WidthOptions width_options(const ListProblem& problem) {
  WidthOptions out(problem.seconds.size());
  for (size_t s = 0; s < out.size(); ++s)
    for (size_t w = 0; w < problem.widths.size(); ++w)
      if (const double seconds = problem.seconds[s][w];
          out[s].empty() || seconds < out[s].back().seconds)
        out[s].push_back({w, problem.widths[w], seconds});
  return out;
}

std::vector<std::vector<int>> readers_of(const ListProblem& problem) {
  std::vector<std::vector<int>> out(problem.dependencies.size());
  for (size_t s = 0; s < out.size(); ++s)
    for (const int before : problem.dependencies[s])
      out[static_cast<size_t>(before)].push_back(static_cast<int>(s));
  return out;
}

double end_of(const std::vector<Assigned>& assigned) {
  double out = 0;
  for (const Assigned& a : assigned) out = std::max(out, a.end);
  return out;
}

}  // namespace assay::compiler
