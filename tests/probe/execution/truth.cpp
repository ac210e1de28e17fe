#include "tests/probe/execution/truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay::probe::testing {
namespace {

using namespace hwdesc;

// Elements per cycle.
double rate(const Profile& p, const ComputeOp& c) {
  for (const Pipe& pipe : p.pipes)
    if (pipe.name == c.pipe && pipe.rate.known() && c.slots.known())
      return pipe.rate.value->v / c.slots.value->v;
  return 0;
}

}  // namespace

std::vector<std::string> wrong_operations(const Profile& truth, const Profile& found,
                                          double tolerance) {
  std::vector<std::string> out;
  for (const ComputeOp& t : truth.compute) {
    if (!t.slots.known()) continue;
    const auto f =
        std::find_if(found.compute.begin(), found.compute.end(),
                     [&](const ComputeOp& c) { return c.op == t.op && c.dtype == t.dtype; });
    const std::string name = t.op + "." + t.dtype;
    if (f == found.compute.end()) {
      out.push_back(name + " was not found");
      continue;
    }
    const auto compare = [&](const char* what, double is, double was) {
      if (!(std::abs(was / is - 1) <= tolerance))
        out.push_back(fmt::format("{} {}: {:.4g}, found {:.4g}", name, what, is, was));
    };
    compare("rate", rate(truth, t), rate(found, *f));
    if (t.latency.known())
      compare("latency", t.latency.value->v, f->latency.known() ? f->latency.value->v : 0);
    if (f->pipe != t.pipe)
      out.push_back(fmt::format("{}: pipe {}, found {}", name, t.pipe, f->pipe));
  }
  return out;
}

}  // namespace assay::probe::testing
