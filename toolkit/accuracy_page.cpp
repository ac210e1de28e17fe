#include "toolkit/accuracy_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "support/page/page.h"
#include "toolkit/accuracy_charts.h"

namespace assay::toolkit {
namespace {

using page::Cells;
using page::html;

std::string percents(double v) { return fmt::format("{:.1f}", 100 * v); }

std::string wide(const std::string& table) {
  return "<div class=\"wide\" tabindex=\"0\">" + table + "</div>\n";
}

// May be broken on a narrow screen, where it stays while the figures are scrolled.
std::string named(const std::string& device, const std::string& group) {
  return html(device) + " " + html(group);
}

std::string bars(const std::vector<AccuracyBar>& all) {
  std::vector<Cells> rows;
  for (const AccuracyBar& b : all)
    rows.push_back({html(b.name), figure_text(b, b.value),
                    (b.at_least ? "&ge; " : "&le; ") + figure_text(b, b.bar),
                    b.holds ? "yes" : "<span class=\"no\">no</span>"});
  return page::table_of({"bar", "value", "bound", "holds"}, rows, "values bars");
}

Cells error_cells(const AccuracyRow& r) {
  const bool part = !std::isinf(r.below), known = r.half_width > 0;
  Cells out = {named(r.device, r.group), regime_name(r)};
  const double least = std::min({r.model.mean, r.datasheet.mean, r.constants.mean});
  for (const double mean : {r.model.mean, r.datasheet.mean, r.constants.mean})
    out.push_back(mean == least ? "<span class=\"least\">" + percents(mean) + "</span>"
                                : percents(mean));
  for (const double v : {r.model.median, r.model.worst_tenth, r.model.bias})
    out.push_back(percents(v));
  for (const double v : {r.coverage, r.half_width}) out.push_back(known ? percents(v) : "–");
  out.push_back(fmt::format("{}", r.model.n));
  out.push_back(role_name(r.role));
  if (part)
    for (std::string& cell : out) cell = "<span class=\"part\">" + cell + "</span>";
  return out;
}

std::string errors(const std::vector<AccuracyRow>& all) {
  std::vector<Cells> rows;
  for (const AccuracyRow& r : all) rows.push_back(error_cells(r));
  return "<p>Of |predicted / measured &minus; 1|, in %; bias: with its sign. The least of the "
         "three "
         "means is bold. Datasheet: the roofline of the chip's peak and bandwidth. Three "
         "constants: "
         "with efficiencies of both and a launch, fitted on another chip or, where there is none, "
         "on the table itself. Inside: times within 90 % intervals that the other devices gave; "
         "half-width: the median, of the estimate. Fit: the model may be changed by looking at the "
         "table; judge: it may not.</p>\n" +
         wide(page::table_of(
             {"device, operators", "times", "mean", "datasheet", "three constants", "median",
              "worst tenth", "bias", "inside", "half-width", "rows", "role"},
             rows, "grid figures"));
}

std::string programs(const std::vector<ProgramAccuracy>& all) {
  std::vector<Cells> rows;
  for (const ProgramAccuracy& p : all)
    rows.push_back({named(p.device, p.group), percents(p.errors.mean), percents(p.errors.median),
                    percents(p.errors.bias), fmt::format("{:.3f}", p.kendall),
                    fmt::format("{:.3f}", p.spearman), fmt::format("{:.2f}", p.regret),
                    fmt::format("{:.2f}", p.subset_regret), fmt::format("{}", p.errors.n),
                    role_name(p.role)});
  return "<p>Does the model find the good programs? Errors in %. Regret: the time of the program "
         "with the least estimate over that of the fastest, among all and the mean over subsets of "
         "1,000.</p>\n" +
         wide(page::table_of({"device, programs", "mean", "median", "bias", "Kendall", "Spearman",
                              "regret", "of 1,000", "rows", "role"},
                             rows, "grid figures"));
}

std::string notes(const Diags& all) {
  std::string out = "<ul>\n";
  for (const Diag& d : all)
    out += fmt::format("<li><code>{}</code>: {}</li>\n", html(d.file), html(d.message));
  return out + "</ul>\n";
}

std::string about(const Accuracy& a) {
  std::set<std::string> devices;
  size_t rows = 0;
  int64_t refused = 0;
  for (const AccuracyTable& t : a.tables) {
    devices.insert(t.device);
    rows += t.points.size();
    refused += t.refused;
  }
  const auto held =
      std::count_if(a.bars.begin(), a.bars.end(), [](const auto& b) { return b.holds; });
  return "<dl class=\"about\">\n" + page::list_item("measured times", fmt::format("{}", rows)) +
         page::list_item("tables", fmt::format("{}", a.tables.size())) +
         page::list_item("devices", fmt::format("{}", devices.size())) +
         page::list_item("rows that no entry computes", fmt::format("{}", refused)) +
         page::list_item("bars that hold", fmt::format("{} of {}", held, a.bars.size())) +
         "</dl>\n";
}

// Pairs of figures, sections in the order of their first charts.
void add_chart_sections(const std::vector<page::Chart>& charts,
                        std::vector<page::Section>& sections) {
  for (size_t i = 0; i < charts.size(); ++i) {
    if (i == 0 || charts[i].section != charts[i - 1].section)
      sections.push_back({charts[i].section,
                          "<noscript><p>The charts need a script; the tables do not.</p></noscript>"
                          "\n<div class=\"pair\">\n"});
    sections.back().body += page::figure(charts[i], i);
    if (i + 1 == charts.size() || charts[i].section != charts[i + 1].section)
      sections.back().body += "</div>\n";
  }
}

}  // namespace

std::string accuracy_page(const Accuracy& a) {
  std::vector<page::Chart> charts = accuracy_charts(a.tables);
  std::vector<page::Section> sections = {{"Bars", bars(a.bars)}, {"Errors", errors(a.rows)}};
  if (!a.programs.empty()) sections.push_back({"Programs", programs(a.programs)});
  add_chart_sections(charts, sections);
  if (!a.notes.empty()) sections.push_back({"Left out, and why", notes(a.notes)});
  return page::page_html(
      {"Estimates against published times", "assay accuracy", "Estimates against published times",
       about(a), std::move(sections), std::move(charts),
       fmt::format(
           "Made by <code>assay accuracy --report</code> from published tables. Each dot is a row; "
           "of a table with more than {0} rows {0} are drawn, evenly taken in the order of their "
           "times, and the name of the series says of how many. Tables are of all rows.",
           kMostDots)});
}

}  // namespace assay::toolkit
