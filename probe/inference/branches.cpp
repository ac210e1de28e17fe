// Wave width, by divergent branches; barriers of a group.
#include <fmt/format.h>

#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kBothWays = 1.5;  // times as long as one way

std::optional<Summary> time_of(const Observations& all, double alternate) {
  return summarize(select(all, "branches", "branch", {{"alternate", alternate}}),
                   Estimator::throughput);
}

struct Found {
  double width = 0;  // 0: unknown
  std::string why;
};

// The least k from which a wave takes one side only.
Found width_from(const Observations& all) {
  const std::vector<double> by = values_of(select(all, "branches", "branch"), "alternate");
  if (by.size() < 3 || by[0] != 0) return {0, "branches that lanes disagree on did not run"};
  const double one = time_of(all, 0)->value;
  const auto both = [&](size_t i) { return time_of(all, by[i])->value > kBothWays * one; };
  if (!both(1)) return {0, "a branch that neighbours disagree on takes no longer"};
  size_t i = 1;
  while (i < by.size() && both(i)) ++i;
  if (i == by.size())
    return {0, fmt::format("waves are wider than {:.0f} lanes, the furthest that alternated",
                           by.back())};
  for (size_t j = i; j < by.size(); ++j)
    if (both(j)) return {0, "the time of such branches does not fall once and for all"};
  return {by[i], ""};
}

void add_width(const Observations& all, const Known& known, LaneMode& mode) {
  const Found found = width_from(all);
  Value<Count>& width = mode.width;
  const auto note = [&](const std::string& text) {
    width.note += (width.note.empty() ? "" : "; ") + text;
  };
  if (found.width <= 0) return note(found.why);
  if (found.width != known.lanes)
    return note(fmt::format("conflict: by branches that lanes disagree on, waves have {:.0f} lanes",
                            found.width));
  width.source = Origin::measured;
  width.method = "branches by how far lanes alternate, as the driver says";
}

}  // namespace

void infer_branches(const Observations& all, const Known& known, Profile& to) {
  if (!known.threads || to.execution.lanes.modes.empty()) return;
  Lanes& lanes = to.execution.lanes;
  add_width(all, known, lanes.modes.front());
  const auto one = time_of(all, 0), both = time_of(all, 1);
  if (one && both)
    lanes.divergence = ratio_value(
        {both->value / one->value, both->low / one->high, both->high / one->low, both->n, ""},
        "a branch that neighbours disagree on over one on which all agree, both ways as long");
  else
    lanes.divergence = unknown_value<Ratio>("branches that lanes disagree on did not run");
  if (to.apis.empty()) return;
  const std::vector<double> threads = values_of(select(all, "branches", "barrier"), "threads");
  Value<Seconds>& barrier = to.apis[0].group_barrier;
  if (threads.empty()) barrier = unknown_value<Seconds>("barriers did not run");
  for (const double n : threads) {
    const auto s =
        summarize(select(all, "branches", "barrier", {{"threads", n}}), Estimator::throughput);
    if (n == known.lanes)
      barrier = seconds_value(scaled(*s, 1), "a group of one wave that meets again and again");
    else
      to.apis[0].wide_barrier.push_back(
          {known_value(Count{n}, Origin::measured, ""),
           seconds_value(scaled(*s, 1), "one group that meets again and again")});
  }
}

}  // namespace assay::probe
