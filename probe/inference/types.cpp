// Operations on other element types: slots of the pipe they share with multiply-adds of f32, or a
// pipe of their own.
#include "probe/kernels/types.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kPipesOverlap = 0.3;  // of the shorter time overlaps with the longer one; waves
                                       // that issue in order overlap less than half

std::optional<Summary> time_of(const Observations& all, const Known& known, const std::string& name,
                               int chains, Estimator e) {
  return summarize_at_clock(
      known, select(all, "types", name, {{"lanes", known.lanes}, {"chains", chains}}), e);
}

const Pipe* fma_pipe(const Profile& p) {
  for (const Pipe& pipe : p.pipes)
    if (pipe.name == "fma" && pipe.rate.known()) return &pipe;
  return nullptr;
}

struct Reader {
  const Observations& all;
  const Known& known;
  Profile& to;

  // Elements per tick of one unit.
  std::optional<Measured> rate(const TypedOp& op) const {
    const auto s = time_of(all, known, typed_name(op), kOpChains.back(), Estimator::throughput);
    if (!s) return std::nullopt;
    return inverse(*s, lanes_of(op.dtype, known.lanes, known.threads) * ir::numbers_in(op.dtype) /
                           ticks_per_second(all, known, *s) / known.units);
  }

  // A step of one after a step of the other: their times add, or overlap.
  bool beside_fma(const TypedOp& op, const Pipe& fma) const {
    const auto own = time_of(all, known, typed_name(op), kOpChains.back(), Estimator::throughput);
    const auto both = time_of(all, known, beside_name(op), kPairChains, Estimator::throughput);
    if (!own || !both) return false;
    const double first =
        known.lanes / (fma.rate.value->v * ticks_per_second(all, known, *own) * known.units);
    return first + own->value - 2 * both->value > kPipesOverlap * std::min(first, own->value);
  }

  // Integers and f64 have the pipe of their most common operation.
  std::string pipe_of(const TypedOp& op, const Pipe& fma) const {
    for (const TypedOp& common : kOverlapsFma)
      if (common.dtype == op.dtype && beside_fma(common, fma))
        return std::string(ir::name_of(op.dtype));
    return fma.name;
  }

  // Where a type has a scalar and a paired form, the faster one.
  bool is_slower_form(const TypedOp& op) const {
    const auto own = rate(op);
    for (const TypedOp& other : kTypedOps) {
      if (other.op != std::string(op.op) || other.dtype == op.dtype ||
          ir::number_type(other.dtype) != ir::number_type(op.dtype))
        continue;
      const auto rival = rate(other);
      if (rival && (!own || rival->value > own->value)) return true;
    }
    return false;
  }

  void add(const TypedOp& op, const Pipe& fma) {
    if (is_slower_form(op)) return;
    const bool dot = op.op == std::string("dot");
    const std::string name(dot ? "i8" : ir::name_of(ir::number_type(op.dtype)));
    const auto own = rate(op);
    const auto chain = time_of(all, known, typed_name(op), 1, Estimator::latency);
    if (!own && !chain) return;
    ComputeOp c{op.op, name, pipe_of(op, fma), {}, {}};
    const auto pipe = [&] {
      return std::find_if(to.pipes.begin(), to.pipes.end(),
                          [&](const Pipe& p) { return p.name == c.pipe; });
    };
    const std::string tick = known.clock_hz > 0 ? kCore : "";
    if (own && pipe() == to.pipes.end())  // its first operation was measured against multiply-adds
      to.pipes.push_back(
          {c.pipe, "unit",
           rate_value(*own, tick,
                      fmt::format("{}, runs beside multiply-adds of f32", typed_name(op)))});
    if (own && pipe() != to.pipes.end()) {
      const double whole = pipe()->rate.value->v;
      c.slots =
          count_value({whole / own->value, whole / own->high, whole / own->low, own->n, own->note},
                      fmt::format("rate of the {} pipe over its own{}", c.pipe,
                                  ir::numbers_in(op.dtype) > 1 ? ", of pairs"
                                  : dot                        ? ", of sums of four products"
                                                               : ""));
    }
    if (chain)
      c.latency =
          latency_value(scaled(*chain, ticks_per_second(all, known, *chain)), tick,
                        op.op == std::string("rsqrt") ? "one chain of 1 / sqrt" : "one chain");
    to.compute.push_back(std::move(c));
  }
};

}  // namespace

double ticks_per_second(const Observations& all, const Known& known, const Summary& s) {
  const double clock = clock_under(all, "fma", known.lanes, s.clock_hz);
  return clock > 0 ? clock : s.clock_hz > 0 ? s.clock_hz : 1;
}

void infer_types(const Observations& all, const Known& known, Profile& to) {
  const Pipe* found = fma_pipe(to);
  if (found == nullptr) return;
  const Pipe fma = *found;
  Reader reader{all, known, to};
  for (const TypedOp& op : kTypedOps) reader.add(op, fma);
  const auto unknown = [&](const char* dtype, const std::string& why) {
    to.compute.push_back(
        {"fma", dtype, fma.name, unknown_value<Count>(why), unknown_value<Latency>(why), ""});
  };
  if (all.fact("f64") == "no") unknown("f64", "the driver's kernels have none");
  // The driver's list of arithmetic types is kept; other types were not queried.
  const std::string types = " " + all.fact("types") + " ";
  for (const char* dtype : {"f16", "bf16", "i8"}) {
    const bool known_already =
        std::any_of(to.compute.begin(), to.compute.end(),
                    [&](const ComputeOp& c) { return c.op == "fma" && c.dtype == dtype; });
    if (known_already) continue;
    const bool has = types.find(fmt::format(" {} ", dtype)) != std::string::npos;
    unknown(dtype,
            has ? std::string("its experiment is missing")
            : types == "  "
                ? std::string("it was not asked for")
                : fmt::format("neither the device nor its language computes with {} here", dtype));
  }
}

}  // namespace assay::probe
