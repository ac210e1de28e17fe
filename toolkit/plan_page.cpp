#include "toolkit/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "ir/producers.h"
#include "support/page/page.h"
#include "toolkit/model_type.h"

namespace assay::toolkit {
namespace {

using page::Cells;
using page::html;
using page::Kind;

constexpr double kHalfPage = 400;  // points; wider pictures are one above the other

double bytes_of(const model::LevelUse& u) { return u.read_bytes + u.written_bytes; }

std::string times_text(const model::Estimate& e) {
  return fmt::format("{} ({} to {})", page::human(e.seconds, Kind::seconds),
                     page::human(e.low, Kind::seconds), page::human(e.high, Kind::seconds));
}

std::string about(const PlanPage& p) {
  const Bundle& b = p.bundle;
  return "<dl class=\"about\">\n" + page::list_item("profile", b.profile.name) +
         page::list_item("api", b.api) + page::list_item("types", types_of(b.graph)) +
         page::list_item("steps", fmt::format("{}; before: {}", p.after.plan.steps.size(),
                                              p.before.plan.steps.size())) +
         page::list_item("predicted", times_text(p.after.total)) +
         page::list_item("predicted before", times_text(p.before.total)) +
         page::list_item("intermediate values",
                         page::human(static_cast<double>(b.plan.arena_bytes), Kind::bytes)) +
         page::list_item("weights",
                         page::human(static_cast<double>(b.plan.weights_bytes), Kind::bytes)) +
         "</dl>\n";
}

const model::LevelUse* find(const std::vector<model::LevelUse>& all, const std::string& boundary) {
  const auto at = std::ranges::find(all, boundary, &model::LevelUse::boundary);
  return at == all.end() ? nullptr : &*at;
}

// Of both plans, near to far: a boundary that one of them does not use has 0 bytes there.
std::vector<std::string> boundaries(const PlanPage& p) {
  std::vector<std::string> out;
  for (const auto* all : {&p.before.traffic, &p.after.traffic})
    for (const model::LevelUse& u : *all)
      if (std::ranges::find(out, u.boundary) == out.end()) out.push_back(u.boundary);
  return out;
}

double bytes_at(const std::vector<model::LevelUse>& all, const std::string& boundary) {
  const model::LevelUse* u = find(all, boundary);
  return u == nullptr ? 0 : bytes_of(*u);
}

page::Chart traffic_chart(const PlanPage& p) {
  page::Chart c;
  c.section = c.title = "Traffic";
  c.method =
      "Estimated bytes that one run moves over each boundary between two memories, read and "
      "written.";
  c.y = {"MiB", Kind::count, false};
  c.names = boundaries(p);
  for (const auto& [name, plan] : {std::pair("before", &p.before), std::pair("after", &p.after)}) {
    page::Series s;
    s.name = name;
    for (size_t i = 0; i < c.names.size(); ++i) {
      const double y = bytes_at(plan->traffic, c.names[i]) / (1 << 20);
      s.line.push_back({static_cast<double>(i), y, y, y, 0});
    }
    c.series.push_back(std::move(s));
  }
  return c;
}

std::string traffic_table(const PlanPage& p) {
  std::vector<Cells> rows;
  for (const std::string& name : boundaries(p)) {
    const double before = bytes_at(p.before.traffic, name), after = bytes_at(p.after.traffic, name);
    rows.push_back({html(name), page::human(before, Kind::bytes), page::human(after, Kind::bytes),
                    before > 0 ? page::human(after / before, Kind::share) : "–"});
  }
  return "<div class=\"wide\" tabindex=\"0\">" +
         page::table_of({"boundary", "before", "after", "after / before"}, rows, "grid figures") +
         "</div>\n";
}

std::string count_of_steps(const PagePlan& p) {
  const size_t n = p.plan.steps.size();
  return fmt::format("{} step{}", n, n == 1 ? "" : "s");
}

// Points of its width.
double width_of(const std::string& svg) {
  constexpr std::string_view kWidth = "width=\"";
  const size_t at = svg.find(kWidth);
  return at == std::string::npos ? 0 : std::strtod(svg.c_str() + at + kWidth.size(), nullptr);
}

std::string picture(const PagePlan& p, const std::string& id, const std::string& title,
                    const std::string& text) {
  return fmt::format(
      "<figure class=\"drawn\"><figcaption><h3>{1}</h3><p>{2} {3}, predicted "
      "{4}.</p></figcaption>\n<input type=\"checkbox\" class=\"fit\" id=\"fit-{0}\"><label "
      "class=\"fit\" for=\"fit-{0}\"> fit to the width</label>\n<div class=\"picture\" "
      "tabindex=\"0\" role=\"img\" aria-label=\"{1}: the model's graph in {3}\">\n{5}</div>"
      "</figure>\n",
      id, title, html(text), count_of_steps(p), page::human(p.total.seconds, Kind::seconds),
      p.picture);
}

std::string graph(const PlanPage& p) {
  const bool narrow = std::max(width_of(p.before.picture), width_of(p.after.picture)) < kHalfPage;
  return fmt::format(
      "<p>A box in a colour is a step: what one launch computes. A step before has the colour of "
      "the step after that computes the same. An arrow is a tensor, with the memory in which it "
      "lies and its bytes: <code>registers</code> inside a program; a near memory where a group "
      "keeps a tile of it (bold; the tile's bytes of the tensor's); else the nearest memory that "
      "holds most of it when it is read. Of many steps, repeated ones are drawn once, and a "
      "program is one node.</p>\n<div{}>\n{}{}</div>\n",
      narrow ? " class=\"pair\"" : "",
      picture(p.before, "before", "Before", "Here " + p.before_is + "."),
      picture(p.after, "after", "After", "As it was compiled."));
}

std::string schedule(const PlanPage& p) {
  const std::string about =
      !p.after.plan.phases.empty()
          ? fmt::format(
                "Steps that do not wait for each other are launched together, in {} launches. "
                "Longest path {}, work {}: no launches of these programs take less. The chip deals "
                "groups to units; here a step has its part of the units.",
                p.after.plan.phases.size(), page::human(p.bounds.critical_path, Kind::seconds),
                page::human(p.bounds.work, Kind::seconds))
      : p.after.plan.schedule.empty()
          ? "Each step runs on all units, with a barrier behind it."
          : fmt::format(
                "Steps run side by side; a unit waits only for what it reads. Longest path "
                "{}, work {}, both at once {}: no schedule of these programs takes less.",
                page::human(p.bounds.critical_path, Kind::seconds),
                page::human(p.bounds.work, Kind::seconds),
                page::human(p.bounds.both, Kind::seconds));
  return fmt::format(
      "<figure class=\"drawn\"><figcaption><p>{} A bar is the groups of a step on a unit, grey is "
      "waiting. Predicted.</p></figcaption>\n<input type=\"checkbox\" class=\"fit\" "
      "id=\"fit-schedule\"><label class=\"fit\" for=\"fit-schedule\"> fit to the "
      "width</label>\n<div class=\"picture\" tabindex=\"0\" role=\"img\" aria-label=\"What each "
      "unit does when\">\n{}</div></figure>\n",
      about, p.schedule);
}

// What a group of a step keeps on the chip: `2 of 64 KiB in l2, 512 B in l1`.
std::string kept(const ir::Program& p) {
  std::vector<std::pair<std::string, int>> tiles;
  for (const ir::Producer& r : p.producers) {
    const std::string tile =
        page::human(static_cast<double>(ir::passed_bytes(p, r)), Kind::bytes) + " in " + r.level;
    auto at = std::ranges::find(tiles, tile, &std::pair<std::string, int>::first);
    if (at == tiles.end()) at = tiles.insert(at, {tile, 0});
    ++at->second;
  }
  std::string out;
  for (const auto& [tile, times] : tiles)
    out += (out.empty() ? "" : ", ") + (times > 1 ? fmt::format("{} of ", times) : "") + html(tile);
  return out;
}

std::string steps(const PagePlan& p, const std::string& id) {
  std::vector<Cells> rows;
  for (size_t i = 0; i < p.plan.steps.size(); ++i) {
    const ir::Step& s = p.plan.steps[i];
    const model::Estimate& e = p.estimates[i];
    rows.push_back(
        {fmt::format("<a class=\"step-colour-{}\" href=\"#{}_{}\">{}</a> {}", p.colours[i], id,
                     p.boxes[i] + 1, i + 1, html(ir::display_name(s))),
         page::human(e.seconds, Kind::seconds),
         page::human(e.low, Kind::seconds) + " to " + page::human(e.high, Kind::seconds),
         p.total.seconds > 0 ? page::human(e.seconds / p.total.seconds, Kind::share) : "",
         html(e.bound), kept(p.plan.programs[static_cast<size_t>(s.program)])});
  }
  return page::table_of(
      {"step", "predicted", "interval", "of the total", "bound", "a group keeps tiles of"}, rows);
}

}  // namespace

std::string plan_page(const PlanPage& p) {
  std::vector<page::Chart> charts = {traffic_chart(p)};
  std::vector<page::Section> sections = {
      {"Graph", graph(p)},
      {"Traffic", "<noscript><p>The chart needs a script; the table does not.</p></noscript>\n" +
                      page::figure(charts[0], 0) + traffic_table(p)},
      {"Steps", steps(p.after, "after") + "<details><summary>steps before</summary>\n" +
                    steps(p.before, "before") + "</details>\n"}};
  if (!p.schedule.empty()) sections.insert(sections.begin() + 2, {"Schedule", schedule(p)});
  return page::page_html({p.bundle.plan.name + " on " + p.bundle.profile.name, "assay report",
                          p.bundle.plan.name + " on " + p.bundle.profile.name, about(p),
                          std::move(sections), std::move(charts),
                          "Made by <code>assay report</code> from a bundle. Times and bytes are "
                          "estimates. Graphs were laid out by Graphviz."});
}

}  // namespace assay::toolkit
