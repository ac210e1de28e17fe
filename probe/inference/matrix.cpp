// Matrix instructions: multiply-adds per tick of a unit, and ticks until a result can be added to
// again.
#include "probe/kernels/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/isa.h"
#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {

using namespace hwdesc;

void infer_matrix(const Observations& all, const Known& known, Profile& to) {
  std::set<std::string> names;
  for (const Observation& o : all.points)
    if (o.experiment == "matrix") names.insert(o.what);
  int widest = 1;  // the lanes of instructions of single lanes
  for (const LaneRate& r : lane_rates(all)) widest = std::max(widest, r.lanes);
  const std::string tick = known.clock_hz > 0 ? kCore : "";
  for (const std::string& name : names) {
    const auto found = codegen::find_instruction(name);
    if (!found.ok()) continue;
    const ir::MatrixInstruction i = ir::widened(found->computes, widest);
    std::optional<Summary> best;
    int chains = 0;
    for (const int c : kMatrixChains)
      if (const auto s = c == 1 ? std::nullopt
                                : summarize(select(all, "matrix", name, {{"chains", c}}),
                                            Estimator::throughput);
          s && (!best || s->value < best->value)) {
        best = s;
        chains = c;
      }
    const auto one = summarize(select(all, "matrix", name, {{"chains", 1}}), Estimator::latency);
    if (!best && !one) continue;
    Instruction out{"isa/" + name, "unit", {}, {}};
    if (best)
      out.rate = rate_value(inverse(*best, double(i.m) * i.n * i.k /
                                               ticks_per_second(all, known, *best) / known.units),
                            tick, fmt::format("multiply-adds, {} sums side by side", chains));
    if (one)
      out.latency = latency_value(scaled(*one, ticks_per_second(all, known, *one)), tick,
                                  "one sum, added to again and again");
    to.instructions.push_back(std::move(out));
  }
}

}  // namespace assay::probe
