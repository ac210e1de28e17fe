#include "probe/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "hwdesc/any_value.h"
#include "hwdesc/show.h"
#include "hwdesc/walk.h"
#include "hwdesc/words.h"
#include "probe/inference/doubts.h"
#include "support/page/page.h"

namespace assay::probe {
namespace {

using hwdesc::AnyValue;
using page::Cells;
using page::list_item;
using page::table_of;

struct Row {
  std::string path;
  AnyValue value;
  std::string origin;
};

std::string text_of(const std::optional<Quantity>& q, Dimension d) {
  if (!q) return "";
  switch (d) {
    case Dimension::bytes:
      return human(q->v, Kind::bytes);
    case Dimension::hertz:
      return human(q->v, Kind::hertz);
    case Dimension::seconds:
      return human(q->v, Kind::seconds);
    case Dimension::latency:
      return q->clock.empty() ? human(q->v, Kind::seconds)
                              : human(q->v, Kind::count) + " cycles@" + q->clock;
    case Dimension::bandwidth:
      return q->clock.empty() ? human(q->v, Kind::bytes_per_second)
                              : human(q->v, Kind::count) + " B/cycle@" + q->clock;
    case Dimension::rate:
      return q->clock.empty() ? human(q->v, Kind::per_second)
                              : human(q->v, Kind::count) + " /cycle@" + q->clock;
    case Dimension::count:
    case Dimension::ratio:
      return human(q->v, Kind::count);
    default:
      return print_quantity(q->v, q->clock, d);
  }
}

std::string value_text(const AnyValue& v) { return text_of(v.value, v.dimension); }

// A unit that both ends have is printed once.
std::string from_to(const std::string& low, const std::string& high) {
  const size_t a = low.find(' '), b = high.find(' ');
  const bool same =
      a != std::string::npos && b != std::string::npos && low.substr(a) == high.substr(b);
  return (same ? low.substr(0, a) : low) + " – " + high;
}

std::string interval_text(const AnyValue& v) {
  return v.low && v.high ? from_to(text_of(v.low, v.dimension), text_of(v.high, v.dimension)) : "";
}

// A path may be broken after its dots.
std::string path_html(const std::string& path) {
  std::string out = "<code>";
  for (const char c : html(path)) out += c == '.' ? std::string(".<wbr>") : std::string(1, c);
  return out + "</code>";
}

// Every number of the profile, known or not, in table order.
std::vector<Row> number_rows(const hwdesc::Profile& profile) {
  std::vector<Row> out;
  hwdesc::walk(profile, [&](const hwdesc::Path& path, const auto& member) {
    using M = std::remove_cvref_t<decltype(member)>;
    if constexpr (hwdesc::AValue<M>)
      out.push_back({hwdesc::dotted(path), hwdesc::to_any(member),
                     word_of(member.source.value_or(profile.source))});
  });
  return out;
}

bool starts_with_any(const std::string& path, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* p) { return path.starts_with(p); });
}

bool contains_any(const std::string& path, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const char* p) { return path.find(p) != std::string::npos; });
}

// Details that a chart shows better, or that few need, are only in the whole table.
bool is_main(const Row& r) {
  return r.value.value &&
         starts_with_any(r.path, {"clocks.", "topology.", "execution.", "pipes.", "memory.", "tlb.",
                                  "instructions.", "apis.", "paths."}) &&
         !contains_any(r.path, {".knee.", ".cyclic_scan.", ".pipes.", ".shape.", ".limits.",
                                ".sharpness", ".outstanding."});
}

Cells value_cells(const Row& r) {
  return {path_html(r.path), html(r.value.value ? value_text(r.value) : "unknown"),
          html(interval_text(r.value)), html(r.origin), html(r.value.method)};
}

constexpr const char* kDeclared = "declared.";

// The latest text of each fact.
std::map<std::string, std::string> facts_of(const Observations& all) {
  std::map<std::string, std::string> out;
  for (const auto& [name, text] : all.facts) out[name] = text;
  return out;
}

std::vector<Cells> declared_rows(const Source& source, const std::vector<Row>& rows) {
  std::vector<Cells> out;
  for (const auto& [name, text] : facts_of(source.all)) {
    if (!name.starts_with(kDeclared)) continue;
    const std::string level = name.substr(std::string(kDeclared).size());
    const auto r = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.path == "memory." + level + ".capacity";
    });
    const bool measured = r != rows.end() && r->value.value;
    const auto declared = size_in(text);
    out.push_back(
        {html(level), html(text), measured ? html(value_text(r->value)) : "no such level found",
         measured ? html(interval_text(r->value)) : "",
         measured && declared ? fmt::format("{:.2f}", r->value.value->v / *declared) : ""});
  }
  return out;
}

// Values from which on a note is about the measurement, not about one of them.
constexpr size_t kCommon = 3;

std::string noted_values(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, std::vector<const Row*>>> by_note;
  for (const Row& r : rows) {
    if (!r.value.value || r.value.note.empty()) continue;
    const auto it = std::find_if(by_note.begin(), by_note.end(),
                                 [&](const auto& n) { return n.first == r.value.note; });
    if (it == by_note.end())
      by_note.push_back({r.value.note, {&r}});
    else
      it->second.push_back(&r);
  }
  std::vector<Cells> single;
  std::string common;
  for (const auto& [note, list] : by_note) {
    std::string paths;
    for (const Row* r : list) paths += (paths.empty() ? "" : ", ") + path_html(r->path);
    if (list.size() >= kCommon)
      common += fmt::format("<li>{}: <small>{}</small></li>\n", html(note), paths);
    else
      for (const Row* r : list)
        single.push_back(
            {path_html(r->path), html(value_text(r->value)), html(r->value.method), html(note)});
  }
  std::string out = single.empty() ? "" : table_of({"what", "value", "method", "note"}, single);
  if (!common.empty()) out += "<ul>\n" + common + "</ul>\n";
  return out.empty() ? "" : "<h3>Notes of known values</h3>\n" + out;
}

}  // namespace

std::string device_name(const Source& source) {
  const std::string name = source.all.fact("name");
  return name.empty() ? source.profile.name : name;
}

std::string main_values(const Source& source) {
  std::vector<Cells> rows;
  for (const Row& r : number_rows(source.profile))
    if (is_main(r)) rows.push_back(value_cells(r));
  return table_of({"what", "value", "interval", "source", "method"}, rows);
}

std::string all_values(const Source& source) {
  std::vector<Cells> rows;
  for (const Row& r : number_rows(source.profile)) {
    if (!r.value.value) continue;
    Cells cells = value_cells(r);
    cells.push_back(html(r.value.note));
    rows.push_back(std::move(cells));
  }
  return table_of({"what", "value", "interval", "source", "method", "note"}, rows);
}

std::string unknown_values(const Source& source) {
  std::vector<Cells> explained;
  std::string unexplained;
  size_t count = 0;
  for (const Row& r : number_rows(source.profile)) {
    if (r.value.value) continue;
    if (!r.value.note.empty())
      explained.push_back({path_html(r.path), html(r.value.note)});
    else
      unexplained += fmt::format("<li>{}</li>\n", path_html(r.path)), ++count;
  }
  std::string out = explained.empty() ? "<p>Every experiment that ran gave its values.</p>\n"
                                      : table_of({"what", "why"}, explained);
  if (count > 0)
    out += fmt::format(
        "<details><summary>{} more fields of the profile that no experiment measures</summary>"
        "<p>None of the experiments that ran measures these, so they stay empty.</p><ul "
        "class=\"paths\">\n{}</ul></details>\n",
        count, unexplained);
  return out;
}

std::string cross_checks(const Source& source) {
  const std::vector<Row> rows = number_rows(source.profile);
  std::string out;
  if (const auto declared = declared_rows(source, rows); !declared.empty())
    out +=
        "<h3>Declared beside measured</h3>\n<p>What the system declares of its caches never "
        "replaces a measurement. They differ where others "
        "share a level, or where two levels look like one.</p>\n" +
        table_of({"level", "declared", "measured", "interval", "measured / declared"}, declared);
  out += noted_values(rows);
  return out.empty() ? "<p>No value of this profile was measured in two ways.</p>\n" : out;
}

// How many runs failed, and which experiments another run completed.
std::string bad_runs_text(const Observations& all, size_t bad) {
  std::set<std::string> lost, completed;
  for (const Ending& e : all.endings)
    if (e.outcome != Outcome::done)
      (all.finished(e.experiment) ? completed : lost).insert(e.experiment);
  std::string out = fmt::format("{} of {} runs of experiments failed.", bad, all.endings.size());
  if (!completed.empty())
    out += fmt::format(" A later run completed: {}.", fmt::join(completed, ", "));
  if (!lost.empty())
    out += fmt::format(
        " Nothing is inferred from: {}. Their samples are in the charts; --resume runs them "
        "again.",
        fmt::join(lost, ", "));
  return "<p>" + html(out) + "</p>\n";
}

std::string experiment_endings(const Source& source) {
  constexpr std::array<const char*, 6> kOutcomes = {"done",      "failed",    "crashed",
                                                    "timed out", "cancelled", "unknown"};
  std::vector<Cells> rows, bad;
  for (const Ending& e : source.all.endings) {
    Cells cells = {html(e.experiment), kOutcomes[static_cast<size_t>(e.outcome)],
                   human(e.seconds, Kind::seconds), html(e.reason)};
    if (e.outcome != Outcome::done) {
      cells.push_back(source.all.finished(e.experiment) ? "yes, by another run" : "no");
      bad.push_back(cells);
      cells.pop_back();
    }
    rows.push_back(std::move(cells));
  }
  const Cells head = {"experiment", "ended", "took", "reason"};
  std::string out =
      bad.empty()
          ? fmt::format("<p>All {} runs of experiments completed.</p>\n", rows.size())
          : bad_runs_text(source.all, bad.size()) +
                table_of({"experiment", "ended", "took", "reason", "completed"}, bad, "values bad");
  if (const std::string doubts = doubts_of(source.all); !doubts.empty())
    out += "<p>Times: " + html(doubts) + ".</p>\n";
  return out + fmt::format("<details><summary>All {} runs of experiments</summary>\n{}</details>\n",
                           rows.size(), table_of(head, rows));
}

std::string facts(const Source& source) {
  std::vector<Cells> rows;
  for (const auto& [name, text] : facts_of(source.all)) rows.push_back({html(name), html(text)});
  return table_of({"fact", "text"}, rows, "values facts");
}

std::string summary_list(const Source& source) {
  const Observations& all = source.all;
  double seconds = 0;
  size_t samples = 0;
  for (const Ending& e : all.endings) seconds += e.seconds;
  for (const Observation& o : all.points) samples += o.samples.size();
  std::string driver;
  for (const char* fact : {"platform", "version", "driver", "compiler"})
    if (const std::string text = all.fact(fact); !text.empty())
      driver += (driver.empty() ? "" : "; ") + text;
  std::string clock, units;
  for (const Row& r : number_rows(source.profile)) {
    if (r.path == "clocks.core.max" && r.value.value) clock = value_text(r.value);
    if (r.path == "topology.unit.count" && r.value.value) units = value_text(r.value);
  }
  std::string budget = all.fact("budget_s");
  if (!budget.empty()) budget += " s";
  return "<dl class=\"about\">\n" +
         list_item("device", all.fact("device").empty()
                                 ? all.fact("api")
                                 : all.fact("device") + ", api " + all.fact("api")) +
         list_item("driver", driver) + list_item("system", all.fact("os")) +
         list_item("date", all.fact("date")) + list_item("clock", clock) +
         list_item("units", units) + list_item("memory", all.fact("memory")) +
         list_item("budget", budget) + list_item("time taken", human(seconds, Kind::seconds)) +
         list_item("samples", fmt::format("{} in {} blocks", samples, all.points.size())) +
         list_item("profile", source.profile.name) + "</dl>\n";
}

std::string chart_values(const Chart& chart) {
  std::map<double, std::vector<std::pair<size_t, const Estimate*>>> by_x;
  double most = 0;
  std::vector<const Series*> columns;
  for (const Series& s : chart.series) {
    if (s.line.empty() || s.line.front().n == 0) continue;  // drawn, not sampled
    for (const Estimate& e : s.line) {
      by_x[e.x].push_back({columns.size(), &e});
      most = std::max(most, e.y);
    }
    columns.push_back(&s);
  }
  if (columns.empty()) return "";
  Cells head = {html(chart.x.title)};
  for (const Series* s : columns) head.push_back(html(s->name));
  std::vector<Cells> rows;
  for (const auto& [x, list] : by_x) {
    Cells row(columns.size() + 1);
    row[0] =
        chart.names.empty() ? human(x, chart.x.kind) : html(chart.names[static_cast<size_t>(x)]);
    for (const auto& [column, e] : list)
      row[column + 1] =
          fmt::format("<span style=\"--share:{:.2f}\">{}</span> <small>{}</small>",
                      most > 0 ? e->y / most : 0, human(e->y, chart.y.kind),
                      from_to(human(e->low, chart.y.kind), human(e->high, chart.y.kind)));
    rows.push_back(std::move(row));
  }
  return fmt::format(
      "<details{}><summary>Values with intervals</summary><div class=\"wide\">{}</div></details>\n",
      chart.heat ? " open" : "", table_of(head, rows, chart.heat ? "grid heat" : "grid"));
}

}  // namespace assay::probe
