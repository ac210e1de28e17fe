#include "probe/inference/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kFree = 0.35, kCosts = 0.65;  // of the step from a hit to the level's latency
constexpr double kServed =
    0.7;  // of the level's latency at least where both touches miss; of the next level's at most
constexpr double kFew = 0.1;     // of a look's samples: so many hits are no accident
constexpr double kNoGain = 0.9;  // of the time inside lines: across them is never faster
constexpr const char* kPairs =
    "two touches at a distance: the second costs nothing within what is moved at once";

std::optional<double> pair_time(const Observations& all, double level, double distance) {
  const auto s =
      summarize(select(all, "transfer", "pair", {{"level", level}, {"distance", distance}}),
                Estimator::latency);
  return s ? std::optional(s->value) : std::nullopt;
}

}  // namespace

Value<Bytes> transaction_of(const Observations& all, const Known& known, size_t level) {
  const auto i =
      double(std::max<size_t>(1, level));  // the first cache's line shows in the second level
  const std::vector<double> distances =
      values_of(select(all, "transfer", "pair", {{"level", i}}), "distance");
  if (distances.size() < 2) return {};
  const double near = known.levels.plateaus.front().seconds,
               here = known.levels.plateaus[static_cast<size_t>(i)].seconds;
  const double separate = *pair_time(all, i, distances.back());  // per touch
  const bool last = static_cast<size_t>(i) + 1 >= known.levels.plateaus.size();
  if (separate < kServed * here ||
      (!last && separate > kServed * known.levels.plateaus[static_cast<size_t>(i) + 1].seconds))
    return unknown_value<Bytes>(fmt::format(
        "two touches at a distance of {:.0f} B take {:.2f} times the level's latency each: "
        "neighbouring lines are fetched along, or it is not the level that serves them",
        distances.back(), separate / here));
  double unit = 0;
  for (const double d : distances) {
    const double part = (2 * *pair_time(all, i, d) - separate - near) / (separate - near);
    if (unit == 0 && part >= kCosts) unit = d;
    if (unit == 0 ? part > kFree : part < kCosts)
      return unknown_value<Bytes>(
          fmt::format("a second touch {:.0f} B further costs {:.0f} % of a miss", d, 100 * part));
  }
  if (unit == 0 || unit == distances.front())
    return unknown_value<Bytes>(
        fmt::format("no distance from {:.0f} to {:.0f} B separates free touches from others",
                    distances.front(), distances.back()));
  // The first cache's whole line comes from whatever level serves it.
  if (level > 1)
    if (const auto least = transaction_of(all, known, 1); least.known())
      unit = std::max(unit, least.value->v);
  auto v = known_value(Bytes{unit}, Origin::measured, kPairs);
  if (unit > known.line)
    v = known_value(Bytes{known.line}, Origin::measured, kPairs,
                    fmt::format("{:.0f} B come along: lines are fetched in pairs", unit));
  return v;
}

namespace {

// Looks at one stride. A neighbour who has a part of the cache makes nodes miss, and never hit.
enum class Fill { hits, misses, untold };
Fill fill_of(const Observations& all, size_t level, double stride, double middle) {
  Fill out = Fill::untold;
  for (size_t i = 0; i < all.points.size(); ++i) {
    const Observation& o = all.points[i];
    if (o.experiment != "transfer" || o.what != "span" || o.samples.empty() ||
        o.value_at("level", 0) != double(level) || o.value_at("stride") != stride)
      continue;
    if (quantile(o.samples, kFew) < middle) return Fill::hits;
    // What the cache surely holds, directly afterwards; journals of before have no such look.
    const Observation* const next = i + 1 < all.points.size() ? &all.points[i + 1] : nullptr;
    if (next == nullptr || next->what != "held" || quantile(next->samples, 0.5) < middle)
      out = Fill::misses;
  }
  return out;
}

}  // namespace

Value<Bytes> line_of(const Observations& all, const Known& known, size_t level) {
  std::vector<Observation> spans = select(all, "transfer", "span");
  std::erase_if(spans,
                [&](const Observation& o) { return o.value_at("level", 0) != double(level); });
  const std::vector<double> strides = values_of(spans, "stride");
  if (strides.empty() || known.levels.plateaus.size() < level + 2) return {};
  const double middle =
      std::sqrt(known.levels.plateaus[level].seconds * known.levels.plateaus[level + 1].seconds);
  double line = 0;
  for (const double stride : strides) {
    const Fill fill = fill_of(all, level, stride, middle);
    if (fill == Fill::hits) break;
    if (fill == Fill::untold)
      return unknown_value<Bytes>("others had a part of the cache whenever it was looked at");
    line = stride;
  }
  if (line == 0 || line == strides.back()) return {};
  return known_value(Bytes{line}, Origin::measured,
                     "nodes at a stride: up to a line they fill as much, beyond it less");
}

Value<Bytes> line_or_nearer(const Observations& all, const Known& known, size_t level) {
  Value<Bytes> line, untold;
  for (size_t i = level + 1; i-- > 0 && !line.known();) {
    line = line_of(all, known, i);
    if (!line.known() && !line.note.empty()) untold = line;
    if (line.known() && i < level) line.note = "that of the level before: its own was not told";
  }
  return line.known() ? line : untold;
}

void add_straddling(const Observations& all, const Known& known, Profile& to) {
  const Conditions at = {{"lanes", double(known.lanes)}};
  const auto within = summarize(select(all, "transfer", "within", at), Estimator::throughput);
  const auto across = summarize(select(all, "transfer", "across", at), Estimator::throughput);
  if (!within || !across || across->value < kNoGain * within->value) return;
  ComputeOp c{"across", "f32", "load", {}, {}};
  c.slots = count_value(
      {across->value / within->value, across->low / within->high, across->high / within->low,
       across->n, ""},
      fmt::format("vector loads across the end of {} bytes over those inside, vectors of {}", 128,
                  known.lanes));
  to.compute.push_back(std::move(c));
}

}  // namespace assay::probe
