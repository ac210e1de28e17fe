#include "probe/report/report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "probe/inference/doubts.h"
#include "probe/inference/values.h"
#include "probe/report/assets.h"
#include "probe/report/chart.h"
#include "probe/report/tables.h"

namespace assay::probe {
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

Json to_json(const Chart& c) {
  Json series = Json::array(), marks = Json::array();
  for (const Series& s : c.series) {
    Json line = Json::array();
    for (const Estimate& e : s.line)
      line.push_back({rounded_to(e.x, 9), number(e.y), number(e.low), number(e.high)});
    series.push_back({{"name", s.name},
                      {"line", line},
                      {"samples", to_json(s.samples)},
                      {"waiting", to_json(s.waiting)},
                      {"joined", s.joined}});
  }
  for (const Mark& m : c.marks) marks.push_back({{"name", m.name}, {"from", m.from}, {"to", m.to}});
  return {{"title", c.title}, {"x", to_json(c.x)}, {"y", to_json(c.y)},
          {"names", c.names}, {"series", series},  {"marks", marks}};
}

std::string figure(const Chart& c, size_t index) {
  return fmt::format(
      "<figure id=\"chart-{0}\"><figcaption><h3>{1}</h3><p>{2}</p></figcaption>\n<div "
      "class=\"plot\"><canvas data-chart=\"{0}\" "
      "role=\"img\" aria-label=\"{1}: {4} against {3}\"></canvas></div>\n{5}</figure>\n",
      index, html(c.title), html(c.method), html(c.x.title.empty() ? "quantity" : c.x.title),
      html(c.y.title), chart_values(c));
}

struct Section {
  std::string title, body;
};

// Charts of one section together, sections in the order of their first charts.
std::vector<Section> chart_sections(const std::vector<Chart>& charts) {
  std::vector<Section> out;
  for (size_t i = 0; i < charts.size(); ++i) {
    auto it = std::find_if(out.begin(), out.end(),
                           [&](const Section& s) { return s.title == charts[i].section; });
    if (it == out.end()) it = out.insert(out.end(), {charts[i].section, ""});
    it->body += figure(charts[i], i);
  }
  return out;
}

std::string section_id(const std::string& title) {
  std::string out;
  for (const char c : title) out += c == ' ' || c == ',' ? '-' : c;
  return out;
}

// One pass: inserted text is not searched for places again.
std::string filled(std::string_view frame, const std::map<std::string, std::string_view>& places) {
  std::string out;
  for (size_t at = 0; at < frame.size();) {
    const size_t open = frame.find("{{", at), close = frame.find("}}", open);
    if (open == std::string_view::npos || close == std::string_view::npos)
      return out + std::string(frame.substr(at));
    out += frame.substr(at, open - at);
    out += places.at(std::string(frame.substr(open + 2, close - open - 2)));
    at = close + 2;
  }
  return out;
}

std::string body_of(const std::vector<Section>& sections) {
  std::string links, out;
  for (const Section& s : sections) {
    links += fmt::format("<a href=\"#{}\">{}</a>\n", section_id(s.title), html(s.title));
    out += fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", section_id(s.title),
                       html(s.title), s.body);
  }
  return "<nav aria-label=\"sections\">\n" + links + "</nav>\n<main>\n" + out + "</main>\n";
}

}  // namespace

std::string report_html(const Observations& all, const hwdesc::Profile& profile) {
  const Source source{all, profile, known_from(usable_observations(all))};
  std::vector<Chart> charts = charts_of(source);
  for (Chart& c : drift_of(source)) charts.push_back(std::move(c));
  std::vector<Section> sections = {
      {"Values", main_values(source) + "<details><summary>Every value of the profile</summary>\n" +
                     all_values(source) + "</details>\n"}};
  for (Section& s : chart_sections(charts)) sections.push_back(std::move(s));
  sections.push_back({"Unknown values and why", unknown_values(source)});
  sections.push_back({"Cross-checks", cross_checks(source)});
  sections.push_back({"How the experiments ended", experiment_endings(source)});
  sections.push_back({"System and driver", facts(source)});
  Json data = Json::array();
  for (const Chart& c : charts) data.push_back(to_json(c));
  const std::string title = html(device_name(source)), about = summary_list(source),
                    body = body_of(sections);
  const std::string json = script_safe(data.dump(-1, ' ', false, Json::error_handler_t::replace));
  return filled(page_frame(), {{"title", title},
                               {"about", about},
                               {"body", body},
                               {"data", json},
                               {"style", page_style()},
                               {"library", chart_library()},
                               {"script", page_script()}});
}

}  // namespace assay::probe
