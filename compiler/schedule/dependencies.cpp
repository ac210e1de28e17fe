#include "compiler/schedule/dependencies.h"

#include <algorithm>
#include <map>

namespace assay::compiler {

namespace {

// Who touched which bytes of one tensor last.
class Touched {
 public:
  template <class See>
  void each(int64_t begin, int64_t end, const See& see) {
    cut(begin);
    cut(end);
    for (auto p = pieces_.lower_bound(begin); p != pieces_.end() && p->first < end; ++p)
      see(p->second);
  }

  struct Piece {
    int writer = -1;
    std::vector<int> readers = {};  // since
  };

 private:
  void cut(int64_t at) {
    const auto after = pieces_.lower_bound(at);
    if (after != pieces_.end() && after->first == at) return;
    pieces_.emplace_hint(after, at, after == pieces_.begin() ? Piece{} : std::prev(after)->second);
  }
  std::map<int64_t, Piece> pieces_;  // by their first byte, each up to the next one
};

}  // namespace

std::vector<std::vector<int>> dependencies_of(const ir::Plan& plan) {
  std::vector<Touched> tensors(plan.tensors.size());
  std::vector<std::vector<int>> out(plan.steps.size());
  for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
    const ir::Step& step = plan.steps[static_cast<size_t>(s)];
    std::vector<int>& before = out[static_cast<size_t>(s)];
    const size_t reads = ir::read_by(plan, step).size();
    if (step.needed_if) {
      const auto tensor = static_cast<size_t>(step.needed_if->tensor);
      tensors[tensor].each(0, ir::bytes_of(plan.tensors[tensor].dtype), [&](Touched::Piece& p) {
        if (p.writer >= 0) before.push_back(p.writer);
        p.readers.push_back(s);
      });
    }
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      const auto tensor = static_cast<size_t>(step.arguments[i]);
      if (plan.tensors[tensor].kind == ir::TensorKind::constant) continue;
      const int64_t offset = plan.tensors[tensor].offset;
      const auto [begin, end] = ir::bytes_of_argument(plan, step, i);
      tensors[tensor].each(begin - offset, end - offset, [&](Touched::Piece& p) {
        if (p.writer >= 0 && p.writer != s) before.push_back(p.writer);
        if (i < reads) {
          p.readers.push_back(s);
          return;
        }
        for (const int r : p.readers)
          if (r != s) before.push_back(r);
        p = {s, {}};
      });
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
  }
  return out;
}

}  // namespace assay::compiler
