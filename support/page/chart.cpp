#include "support/page/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "support/number.h"

namespace assay::page {
namespace {

using Json = nlohmann::json;

constexpr int kDigits = 4;  // of a number in a chart: finer than a pixel

Json number(double v) { return std::isfinite(v) ? Json(rounded_to(v, kDigits)) : Json(nullptr); }

Json to_json(const std::vector<Dot>& dots) {
  Json out = Json::array();
  for (const Dot& d : dots) out.push_back({rounded_to(d.x, 9), number(d.y)});
  return out;
}

Json to_json(const Axis& a) {
  return {{"title", a.title}, {"kind", word_of(a.kind)}, {"log", a.log}};
}

Json to_json(const Series& s) {
  Json line = Json::array(), intervals = Json::array();
  for (const Estimate& e : s.line)
    line.push_back({rounded_to(e.x, 9), number(e.y), number(e.low), number(e.high)});
  for (const Interval& i : s.intervals)
    intervals.push_back({rounded_to(i.x, 9), number(i.low), number(i.high)});
  return {{"name", s.name},
          {"line", line},
          {"samples", to_json(s.samples)},
          {"waiting", to_json(s.waiting)},
          {"joined", s.joined},
          {"intervals", intervals},
          {"reference", s.reference}};
}

Json to_json(const Chart& c) {
  Json series = Json::array(), marks = Json::array();
  for (const Series& s : c.series) series.push_back(to_json(s));
  for (const Mark& m : c.marks) marks.push_back({{"name", m.name}, {"from", m.from}, {"to", m.to}});
  return {{"title", c.title}, {"x", to_json(c.x)}, {"y", to_json(c.y)}, {"names", c.names},
          {"series", series}, {"marks", marks},    {"whole", c.whole},  {"equal", c.equal}};
}

// Works with the page's script alone, as the chart does.
std::string intervals_option(const Chart& c, size_t index) {
  const bool any = std::any_of(c.series.begin(), c.series.end(),
                               [](const Series& s) { return !s.intervals.empty(); });
  return any ? fmt::format(
                   "<label class=\"option\"><input type=\"checkbox\" "
                   "data-intervals=\"{}\"> 90 % intervals</label>\n",
                   index)
             : "";
}

}  // namespace

std::string json_of(const std::vector<Chart>& charts) {
  Json data = Json::array();
  for (const Chart& c : charts) data.push_back(to_json(c));
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string figure(const Chart& c, size_t index, const std::string& below) {
  return fmt::format(
      "<figure id=\"chart-{0}\"{6}><figcaption><h3>{1}</h3><p>{2}</p></figcaption>\n{7}<div "
      "class=\"plot\"><canvas data-chart=\"{0}\" "
      "role=\"img\" aria-label=\"{1}: {4} against {3}\"></canvas></div>\n{5}</figure>\n",
      index, html(c.title), html(c.method), html(c.x.title.empty() ? "quantity" : c.x.title),
      html(c.y.title), below, c.equal ? " class=\"square\"" : "", intervals_option(c, index));
}

}  // namespace assay::page
