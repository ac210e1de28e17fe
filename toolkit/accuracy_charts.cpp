#include "toolkit/accuracy_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "toolkit/accuracy_intervals.h"

namespace assay::toolkit {
namespace {

using Points = std::vector<AccuracyPoint>;
using Named = std::vector<std::pair<std::string, Points>>;  // in the order of their first points

// By device, each with its groups; or by group, each with its devices.
std::vector<std::pair<std::string, Named>> grouped(const std::vector<AccuracyTable>& tables,
                                                   std::string AccuracyTable::*outer,
                                                   std::string AccuracyTable::*inner) {
  const auto at = [](auto& list, const std::string& name) -> auto& {
    auto it =
        std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.first == name; });
    if (it == list.end()) it = list.insert(list.end(), {name, {}});
    return it->second;
  };
  std::vector<std::pair<std::string, Named>> out;
  for (const AccuracyTable& t : tables) {
    if (t.points.empty()) continue;
    Points& to = at(at(out, t.*outer), t.*inner);
    to.insert(to.end(), t.points.begin(), t.points.end());
  }
  return out;
}

Points sampled(Points points) {
  const size_t n = points.size();
  if (n <= kMostDots) return points;
  std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return std::pair(a.measured, a.predicted) < std::pair(b.measured, b.predicted);
  });
  Points out;
  for (size_t i = 0; i < kMostDots; ++i) out.push_back(points[(2 * i + 1) * n / (2 * kMostDots)]);
  return out;
}

// `share`: of the measured time; without intervals, which would hide how errors lie.
page::Series series_of(const std::string& name, const Points& all, bool share) {
  page::Series out;
  const Points shown = sampled(all);
  out.name = shown.size() == all.size()
                 ? name
                 : fmt::format("{} ({} of {})", name, shown.size(), all.size());
  for (const AccuracyPoint& p : shown) {
    const double by = share ? p.measured : 1;
    out.samples.push_back({p.measured, p.predicted / by});
    if (!share && p.low < p.high) out.intervals.push_back({p.measured, p.low, p.high});
  }
  return out;
}

page::Series reference(const Named& of, const std::string& name, bool diagonal) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const auto& [series, points] : of)
    for (const AccuracyPoint& p : points) {
      least = std::min({least, p.measured, diagonal ? p.predicted : p.measured});
      most = std::max({most, p.measured, diagonal ? p.predicted : p.measured});
    }
  page::Series out;
  out.name = name;
  out.reference = true;
  for (const double x : {least, most}) {
    const double y = diagonal ? x : 1;
    out.line.push_back({x, y, y, y, 0});
  }
  return out;
}

page::Chart scatter(const std::string& device, const Named& groups) {
  page::Chart c;
  c.section = "Predicted beside measured";
  c.title = device;
  c.method = "Above the line the estimate is too slow. An interval holds where it meets the line.";
  c.x = {"measured", page::Kind::seconds, true};
  c.y = {"predicted", page::Kind::seconds, true};
  for (const auto& [group, points] : groups) c.series.push_back(series_of(group, points, false));
  c.series.push_back(reference(groups, "equal", true));
  c.whole = c.equal = true;
  return c;
}

page::Chart ratios(const std::string& group, const Named& devices) {
  page::Chart c;
  c.section = "Predicted / measured against time";
  c.title = group;
  c.method = "Vertical lines: where regimes end.";
  c.x = {"measured", page::Kind::seconds, true};
  c.y = {"predicted / measured", page::Kind::count, true};
  for (const auto& [device, points] : devices) c.series.push_back(series_of(device, points, true));
  c.series.push_back(reference(devices, "equal", false));
  for (const double end : kRegimes)
    if (end < 1) c.marks.push_back({page::human(end, page::Kind::seconds), end, end});
  c.whole = true;
  return c;
}

}  // namespace

std::vector<page::Chart> accuracy_charts(const std::vector<AccuracyTable>& tables) {
  std::vector<page::Chart> out;
  for (const auto& [device, groups] :
       grouped(tables, &AccuracyTable::device, &AccuracyTable::group))
    out.push_back(scatter(device, groups));
  for (const auto& [group, devices] :
       grouped(tables, &AccuracyTable::group, &AccuracyTable::device))
    out.push_back(ratios(group, devices));
  return out;
}

}  // namespace assay::toolkit
