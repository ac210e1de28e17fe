#include "probe/report/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <sstream>

#include "probe/inference/stats.h"
#include "probe/report/chart_table.h"
#include "probe/report/drift.h"

namespace assay::probe {
namespace {

constexpr auto kLatency = Estimator::latency;

const std::vector<ChartRow>& table() {
  static const std::vector<ChartRow> rows = [] {
    std::vector<ChartRow> out;
    for (auto* subject : {latency_charts, bandwidth_charts, compute_charts, control_charts})
      for (ChartRow& row : subject()) out.push_back(std::move(row));
    return out;
  }();
  return rows;
}

bool holds(const char* words, const std::string& word) {
  std::istringstream in(words);
  for (std::string w; in >> w;)
    if (w == word) return true;
  return false;
}

std::vector<std::string> words_of(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string w; in >> w;) out.push_back(w);
  return out;
}

bool covers(const ChartRow& row, const Observation& o) {
  const Samples& of = row.samples;
  return holds(of.experiments, o.experiment) &&
         (*of.quantities == '\0' || holds(of.quantities, o.what));
}

// Names of the levels from near to far, as in the profile. Empty: some levels were merged.
std::vector<std::string> level_names(const Source& source) {
  std::vector<std::string> out;
  for (const hwdesc::MemoryLevel& m : source.profile.memory)
    if (m.managed == hwdesc::Managed::automatic || m.name == "dram") out.push_back(m.name);
  return out.size() == source.known.levels.plateaus.size() ? out : std::vector<std::string>{};
}

// `levels`: their names; empty: not known.
std::string condition_text(const std::string& name, double v,
                           const std::vector<std::string>& levels) {
  if (name == "bytes" || name == "stride" || name == "distance")
    return name + " " + human(v, Kind::bytes);
  if (name == "level")
    return v < static_cast<double>(levels.size()) ? levels[static_cast<size_t>(v)]
                                                  : fmt::format("level {:.0f}", v + 1);
  if (name == "lanes" || name == "units" || name == "chains")
    return fmt::format("{:.0f} {}", v, v == 1 ? name.substr(0, name.size() - 1) : name);
  return name + " " + human(v, Kind::count);
}

double shown(double sample, const Observation& o, Show show) {
  if (show == Show::time) return sample;
  return (show == Show::lanes_rate ? o.value_at("lanes", 1) : 1) / sample;
}

// The interval of a rate is that of its time, reversed.
Estimate estimate_of(double x, const std::vector<Observation>& blocks, Show show,
                     Estimator estimator) {
  const auto s = summarize(blocks, estimator);
  if (!s) return {x, std::nan(""), std::nan(""), std::nan(""), 0};
  const double a = shown(s->low, blocks[0], show), b = shown(s->high, blocks[0], show);
  return {x, shown(s->value, blocks[0], show), std::min(a, b), std::max(a, b), s->n};
}

struct Plan {     // which blocks go into which series of one chart, and where
  std::string x;  // condition; "": names
  std::vector<std::string> split;
  bool several_whats = false;  // the quantity is part of a series' name
  Show show = Show::time;
  Estimator estimator = kLatency;
  std::vector<std::string> levels;  // of memory
};

std::string series_name(const Plan& plan, const Observation& o) {
  std::string out = plan.several_whats && !plan.x.empty() ? o.what : "";
  for (const std::string& name : plan.split)
    if (o.at.contains(name))
      out += (out.empty() ? "" : ", ") + condition_text(name, o.value_at(name), plan.levels);
  return out.empty() ? o.what : out;
}

Series series_of(const std::string& name, const std::vector<Observation>& blocks, const Plan& plan,
                 const std::vector<std::string>& names) {
  Series out{name, {}, {}, {}, !plan.x.empty()};
  std::map<double, std::vector<Observation>> by_x;
  for (const Observation& o : blocks) {
    const double x = plan.x.empty()
                         ? double(std::find(names.begin(), names.end(), o.what) - names.begin())
                         : o.value_at(plan.x);
    by_x[x].push_back(o);
    for (size_t i = 0; i < o.samples.size(); ++i) {
      const bool waited = i < o.disturbed.size() && o.disturbed[i] > kDisturbed;
      (waited ? out.waiting : out.samples).push_back({x, shown(o.samples[i], o, plan.show)});
    }
  }
  for (const auto& [x, at] : by_x)
    out.line.push_back(estimate_of(x, at, plan.show, plan.estimator));
  return out;
}

// Where a chart has bars, blocks of different conditions are different series.
void fill(Chart& chart, const std::vector<Observation>& blocks, const Plan& plan) {
  if (plan.x.empty())
    for (const Observation& o : blocks)
      if (std::find(chart.names.begin(), chart.names.end(), o.what) == chart.names.end())
        chart.names.push_back(o.what);
  std::sort(chart.names.begin(), chart.names.end());
  std::vector<std::pair<std::string, std::vector<Observation>>> groups;  // by ascending conditions
  std::vector<Observation> sorted = blocks;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Observation& a, const Observation& b) {
    if (a.what != b.what) return a.what < b.what;
    for (const std::string& name : plan.split)
      if (a.value_at(name) != b.value_at(name)) return a.value_at(name) < b.value_at(name);
    return false;
  });
  for (Observation& o : sorted) {
    const std::string name = series_name(plan, o);
    const auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (it == groups.end())
      groups.push_back({name, {std::move(o)}});
    else
      it->second.push_back(std::move(o));
  }
  if (plan.x.empty() && plan.split.empty()) groups = {{"estimate", blocks}};
  for (const auto& [name, list] : groups)
    chart.series.push_back(series_of(name, list, plan, chart.names));
}

bool usable(const Observation& o) {
  return !o.samples.empty() &&
         std::all_of(o.samples.begin(), o.samples.end(), [](double s) { return std::isfinite(s); });
}

// A logarithm or a rate needs positive samples.
bool drawable(const Observation& o, Show show, bool log) {
  return usable(o) &&
         (!(log || show != Show::time) ||
          std::all_of(o.samples.begin(), o.samples.end(), [](double s) { return s > 0; }));
}

Chart chart_of(const ChartRow& row, const Source& source) {
  Chart out{row.section, row.title, row.method, row.x.axis, row.y, {}, {}, {}, row.heat};
  Plan plan{row.x.condition, words_of(row.x.series), false,
            row.show,        row.estimator,          level_names(source)};
  std::vector<Observation> blocks;
  std::set<std::string> whats;
  for (const Observation& o : source.all.points)
    if (covers(row, o) && drawable(o, row.show, row.y.log) &&
        (plan.x.empty() || o.at.contains(plan.x))) {
      blocks.push_back(o);
      whats.insert(o.what);
    }
  plan.several_whats = whats.size() > 1;
  if (blocks.empty()) return out;
  fill(out, blocks, plan);
  if (row.separate)
    for (Series& s : out.series) s.joined = false;
  if (row.mark != nullptr) row.mark(source, out);
  return out;
}

// Experiments that no row covers: against the condition that takes the most values.
Chart generic_chart(const std::string& experiment, const std::vector<Observation>& blocks) {
  std::map<std::string, std::set<double>> values;
  std::set<std::string> whats;
  for (const Observation& o : blocks) {
    whats.insert(o.what);
    for (const auto& [name, v] : o.at) values[name].insert(v);
  }
  Plan plan;
  size_t most = 1;
  for (const auto& [name, v] : values)
    if (v.size() > most && std::all_of(blocks.begin(), blocks.end(),
                                       [&](const Observation& o) { return o.at.contains(name); })) {
      most = v.size();
      plan.x = name;
    }
  for (const auto& [name, v] : values)
    if (name != plan.x && v.size() > 1) plan.split.push_back(name);
  plan.several_whats = whats.size() > 1;
  const std::string& unit = blocks[0].unit;
  const Kind y = unit == "s" ? Kind::seconds : unit == "B" ? Kind::bytes : Kind::count;
  const bool bytes = plan.x == "bytes" || plan.x == "stride" || plan.x == "distance";
  const auto positive = [](double v) { return v > 0; };
  const bool x_log = !plan.x.empty() && most > 4 &&
                     std::all_of(values[plan.x].begin(), values[plan.x].end(), positive);
  const bool y_log = std::all_of(blocks.begin(), blocks.end(), [](const Observation& o) {
    return drawable(o, Show::rate, true);
  });
  Chart out{"Other experiments",
            experiment,
            "Every sample of the experiment as it was taken, and its 10 % quantile.",
            {plan.x, bytes ? Kind::bytes : Kind::count, x_log},
            {"sample", y, y_log},
            {},
            {},
            {},
            false};
  fill(out, blocks, plan);
  return out;
}

std::vector<Chart> uncovered_charts(const Source& source) {
  std::vector<std::pair<std::string, std::vector<Observation>>> groups;
  for (const Observation& o : source.all.points) {
    const bool known = std::any_of(table().begin(), table().end(), [&](const ChartRow& r) {
      return covers(r, o) && (*r.x.condition == '\0' || o.at.contains(r.x.condition));
    });
    if (known || !usable(o) || o.what == "sentinel") continue;  // the sentinel has its own chart
    const std::string name = o.experiment + (o.unit == "s" ? "" : ", " + o.unit);
    const auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
    if (it == groups.end())
      groups.push_back({name, {o}});
    else
      it->second.push_back(o);
  }
  std::vector<Chart> out;
  for (const auto& [name, blocks] : groups) out.push_back(generic_chart(name, blocks));
  return out;
}

}  // namespace

std::vector<Chart> charts_of(const Source& source) {
  std::vector<Chart> out;
  for (const ChartRow& row : table()) {
    Chart c = chart_of(row, source);
    if (!c.series.empty()) out.push_back(std::move(c));
  }
  for (Chart& c : uncovered_charts(source)) out.push_back(std::move(c));
  return out;
}

std::vector<Chart> drift_of(const Source& source) {
  const Axis blocks{"blocks in the order they were taken", Kind::count, false};
  Chart clock{
      "How quiet the machine was",
      "Clock of the sentinel",
      "A chain of additions next to each block. A disturbed sentinel only ever looks slower.",
      blocks,
      {"clock", Kind::hertz, false},
      {},
      {},
      {},
      false};
  Chart others{
      "How quiet the machine was",
      "Others on the machine",
      "Share of the whole machine that others used around a block, and the largest share of a "
      "sample's time during which our own threads were kept from running. Estimates rest on quiet "
      "samples where there are enough.",
      blocks,
      {"share", Kind::share, false},
      {},
      {},
      {},
      false};
  Series quiet{"quiet", {}, {}, {}, false}, busy{"others used the machine", {}, {}, {}, false},
      waited{"our threads waited", {}, {}, {}, false};
  Series foreign{"used by others", {}, {}, {}, false},
      waiting{"our threads waited", {}, {}, {}, false};
  std::string running;
  for (size_t i = 0; i < source.all.points.size(); ++i) {
    const Observation& o = source.all.points[i];
    const auto x = static_cast<double>(i);
    double kept = 0;
    for (const double d : o.disturbed) kept = std::max(kept, d);
    Series& to = kept > kDisturbed ? waited : o.foreign > kDisturbed ? busy : quiet;
    if (o.clock_hz && std::isfinite(*o.clock_hz)) to.samples.push_back({x, *o.clock_hz});
    if (!o.samples.empty() && o.unit == "s") {
      foreign.samples.push_back({x, o.foreign});
      waiting.samples.push_back({x, kept});
    }
    if (o.experiment != running) {
      running = o.experiment;
      clock.marks.push_back({running, x, x});
    }
    clock.marks.back().to = x;
  }
  if (const std::string note = drift_note(source.all); !note.empty()) clock.method += " " + note;
  others.marks = clock.marks;
  for (Series* s : {&quiet, &busy, &waited})
    if (!s->samples.empty()) clock.series.push_back(std::move(*s));
  for (Series* s : {&foreign, &waiting})
    if (!s->samples.empty()) others.series.push_back(std::move(*s));
  std::vector<Chart> out;
  for (Chart* c : {&clock, &others})
    if (!c->series.empty()) out.push_back(std::move(*c));
  return out;
}

}  // namespace assay::probe
