// Conversions of loads and stores, as slots of the pipe of additions.
#include "probe/kernels/conversions.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

// An access and its conversion overlap, so that only what takes clearly longer than the access
// itself shows how long the conversion takes.
constexpr double kShownBeside = 1.15;

std::optional<Summary> time_of_access(const Observations& all, const Known& known,
                                      const Conversion& c) {
  return summarize_at_clock(
      known, select(all, "conversions", conversion_name(c), {{"lanes", known.lanes}}),
      Estimator::throughput);
}

const hwdesc::Pipe* pipe_of_additions(const hwdesc::Profile& p) {
  std::string name = "fma";
  for (const hwdesc::ComputeOp& c : p.compute)
    if (c.op == "add" && c.dtype == "f32" && c.mode.empty()) name = c.pipe;
  for (const hwdesc::Pipe& pipe : p.pipes)
    if (pipe.name == name && pipe.rate.known()) return &pipe;
  return nullptr;
}

}  // namespace

void infer_conversions(const Observations& all, const Known& known, hwdesc::Profile& to) {
  const hwdesc::Pipe* additions = pipe_of_additions(to);
  if (additions == nullptr) return;
  const double whole = additions->rate.value->v;
  for (const Conversion& c : conversions(known.threads)) {
    const auto own = time_of_access(all, known, c),
               plain = time_of_access(all, known, plain_access(c));
    if (!own || !plain) continue;
    hwdesc::ComputeOp op{
        operation_of(c), std::string(ir::name_of(c.stored)), additions->name, {}, {}};
    const Measured rate =
        inverse(*own, known.lanes / ticks_per_second(all, known, *own) / known.units);
    if (own->value > kShownBeside * plain->value)
      op.slots =
          count_value({whole / rate.value, whole / rate.high, whole / rate.low, rate.n, rate.note},
                      fmt::format("rate of the {} pipe over that of accesses of {} that convert",
                                  additions->name, ir::name_of(c.stored)));
    else
      op.slots = unknown_value<hwdesc::Count>(
          fmt::format("hidden behind the access: at most {:.3g}", whole / rate.value));
    to.compute.push_back(std::move(op));
  }
}

}  // namespace assay::probe
