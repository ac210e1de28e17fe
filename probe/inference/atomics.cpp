// Additions in one step, as lane-slots of the store pipe.
#include "probe/kernels/atomics.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

std::optional<Summary> time_of(const Observations& all, const std::string& kind, bool most,
                               Estimator e) {
  const std::vector<double> groups = values_of(select(all, "atomics", kind), "groups");
  if (groups.empty()) return std::nullopt;
  return summarize(
      select(all, "atomics", kind, {{"groups", most ? groups.back() : groups.front()}}), e);
}

const Pipe* pipe_of(const Profile& p) {
  for (const char* name : {"store", "fma"})
    for (const Pipe& pipe : p.pipes)
      if (pipe.name == name && pipe.rate.known()) return &pipe;
  return nullptr;
}

void add(const Observations& all, const Known& known, const std::string& op,
         const std::string& kind, const std::string& chain, Profile& to) {
  const auto own = time_of(all, kind, true, Estimator::throughput);
  const Pipe* pipe = pipe_of(to);
  if (!own || pipe == nullptr) return;
  ComputeOp c{op, "i32", pipe->name, {}, {}};
  const Measured rate = inverse(*own, 1 / ticks_per_second(all, known, *own) / known.units);
  const double whole = pipe->rate.value->v;
  c.slots =
      count_value({whole / rate.value, whole / rate.high, whole / rate.low, rate.n, rate.note},
                  fmt::format("rate of the {} pipe over its own, all units at it", pipe->name));
  if (const auto one = time_of(all, kind, false, Estimator::throughput); one && kind == "same")
    c.slots.note = fmt::format("one {} alone takes {:.3g} ns for each",
                               known.threads ? "group" : "unit", one->value * 1e9);
  if (const auto s = chain.empty() ? std::nullopt : time_of(all, chain, false, Estimator::latency))
    c.latency = latency_value(
        scaled(*s, ticks_per_second(all, known, *s) * (known.threads ? known.lanes : 1)),
        known.clock_hz > 0 ? kCore : "", "what is found is what is added next");
  else
    c.latency = unknown_value<Latency>("no chain of these is run");
  to.compute.push_back(std::move(c));
}

}  // namespace

void infer_atomics(const Observations& all, const Known& known, Profile& to) {
  add(all, known, "atomic", "distinct", "chain", to);
  add(all, known, "atomic_same", "same", "", to);
  add(all, known, "atomic_group", "group_distinct", "group_chain", to);
  add(all, known, "atomic_group_same", "group_same", "", to);
}

}  // namespace assay::probe
