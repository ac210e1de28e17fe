// The report as text: its content, and that foreign text stays text.
#include "probe/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "hwdesc/show.h"
#include "probe/report/chart.h"
#include "tests/probe/synthetic_report.h"

namespace assay::probe::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

hwdesc::Profile profile_of(const Observations& all) {
  const auto p = infer(all);
  EXPECT_TRUE(p.ok()) << render(p.diags());
  return *p;
}

std::string synthetic_report(const std::string& name = "Made-up chip") {
  const Observations all = synthetic_observations(name);
  return report_html(all, profile_of(all));
}

constexpr std::string_view kData = "<script type=\"application/json\" id=\"charts\">",
                           kEnd = "</script>";

json charts_in(const std::string& page) {
  const size_t begin = page.find(kData) + kData.size();
  return json::parse(page.substr(begin, page.find(kEnd, begin) - begin));
}

// The page without styles, scripts and comments.
std::string markup_of(const std::string& page) {
  std::string out;
  for (size_t at = 0; at < page.size();) {
    size_t next = page.size();
    std::string_view end;
    for (const auto& [open, close] :
         {std::pair{"<script", "</script>"}, {"<style", "</style>"}, {"<!--", "-->"}})
      if (const size_t found = page.find(open, at); found < next) next = found, end = close;
    out += page.substr(at, next - at);
    if (next == page.size()) break;
    const size_t closing = page.find(end, next);
    EXPECT_NE(closing, std::string::npos) << end;
    at = closing + end.size();
  }
  return out;
}

std::string text_of(const std::string& page) {
  std::string out = std::regex_replace(markup_of(page), std::regex("<[^>]*>"), "");
  for (const auto& [entity, c] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
    out = std::regex_replace(out, std::regex(entity), c);
  return out;
}

// "" when every element that is opened is closed, in the right order.
std::string unbalanced(const std::string& markup) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>");
  for (auto it = std::sregex_iterator(markup.begin(), markup.end(), tag);
       it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[2];
    if (name == "meta" || name == "wbr" || name == "DOCTYPE") continue;
    if ((*it)[1].length() == 0) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

TEST(Report, IsOneWholePage) {
  const std::string page = synthetic_report(), markup = markup_of(page);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  EXPECT_EQ(unbalanced(markup), "");
  EXPECT_THAT(page, Not(HasSubstr("{{"))) << "a place of the frame was not filled";
  std::set<std::string> ids;
  const std::regex id(" id=\"([^\"]*)\"");
  for (auto it = std::sregex_iterator(markup.begin(), markup.end(), id);
       it != std::sregex_iterator(); ++it)
    EXPECT_TRUE(ids.insert((*it)[1]).second) << (*it)[1];
  const std::regex link("href=\"#([^\"]*)\"");
  for (auto it = std::sregex_iterator(markup.begin(), markup.end(), link);
       it != std::sregex_iterator(); ++it)
    EXPECT_TRUE(ids.contains((*it)[1])) << (*it)[1];
}

TEST(Report, AsksNothingFromAnywhere) {
  const std::string page = synthetic_report(), markup = markup_of(page);
  EXPECT_FALSE(std::regex_search(
      markup, std::regex("(src|srcset|action|data)=\"|href=\"[^#]|url\\(|@import|http")));
  const std::string frame = page.substr(0, page.find(kData));
  EXPECT_THAT(frame, Not(HasSubstr("http"))) << "styles too";
  EXPECT_THAT(page, Not(testing::ContainsRegex("<(link|iframe|object|embed|base|img)")));
}

TEST(Report, ShowsEveryValueAndEveryReason) {
  const Observations all = synthetic_observations();
  const hwdesc::Profile profile = profile_of(all);
  const std::string text = text_of(report_html(all, profile));
  int values = 0;
  for (const hwdesc::FieldRow& row : hwdesc::rows(profile)) {
    if (row.origin.empty() && row.value != "unknown") continue;  // words
    EXPECT_THAT(text, HasSubstr(row.path));
    EXPECT_THAT(text, HasSubstr(row.method));
    EXPECT_THAT(text, HasSubstr(row.note));
    ++values;
  }
  EXPECT_GT(values, 40);
  ASSERT_TRUE(profile.memory.at(0).capacity.known());
  EXPECT_THAT(text, HasSubstr(human(profile.memory[0].capacity.value->v, Kind::bytes)));
}

TEST(Report, ListsUnknownValues) {
  const Observations all = synthetic_observations();
  const hwdesc::Profile profile = profile_of(all);
  const std::string text = text_of(report_html(all, profile));
  const std::string unknown = text.substr(text.rfind("Unknown values and why"));
  ASSERT_FALSE(profile.power.idle.known());
  EXPECT_THAT(unknown, HasSubstr("power.idle"));
}

TEST(Report, EverySampleIsInAChart) {
  const Observations all = synthetic_observations();
  size_t samples = 0, drawn = 0;
  for (const Observation& o : all.points)
    if (o.what != "sentinel") samples += o.samples.size();
  const Source source{all, profile_of(all), known_from(all)};
  for (const Chart& c : charts_of(source))
    for (const Series& s : c.series) drawn += s.samples.size() + s.waiting.size();
  EXPECT_EQ(drawn, samples);
}

TEST(Report, SamplesOfWaitingThreadsAreDistinct) {
  Observations all = synthetic_observations();
  const auto waiting = [&] {
    size_t count = 0;
    const Source source{all, profile_of(all), known_from(all)};
    for (const Chart& c : charts_of(source))
      for (const Series& s : c.series) count += s.waiting.size();
    return count;
  };
  EXPECT_EQ(waiting(), 1U);
  all.points[41].disturbed[0] = 0.5;
  EXPECT_EQ(waiting(), 2U);
}

TEST(Report, AnUncoveredExperimentHasAChart) {
  const Observations all = synthetic_observations("a bank");
  const Source source{all, profile_of(all), known_from(all)};
  const std::vector<Chart> charts = charts_of(source);
  const auto it =
      std::find_if(charts.begin(), charts.end(), [](const Chart& c) { return c.title == "banks"; });
  ASSERT_NE(it, charts.end());
  EXPECT_EQ(it->x.title, "ways");
  EXPECT_EQ(it->series.at(0).line.size(), 5U);
}

TEST(Report, ChartsHaveTitlesAxesAndMethods) {
  const Observations all = synthetic_observations();
  const Source source{all, profile_of(all), known_from(all)};
  std::vector<Chart> charts = charts_of(source);
  for (Chart& c : drift_of(source)) charts.push_back(c);
  EXPECT_GT(charts.size(), 18U);
  for (const Chart& c : charts) {
    EXPECT_FALSE(c.title.empty() || c.method.empty() || c.y.title.empty()) << c.title;
    EXPECT_TRUE(!c.x.title.empty() || !c.names.empty()) << c.title;
    for (const Series& s : c.series) {
      EXPECT_FALSE(s.name.empty()) << c.title;
      for (const Estimate& e : s.line)
        if (e.n > 0) {
          EXPECT_LE(e.low, e.y * (1 + 1e-9)) << c.title;
          EXPECT_GE(e.high, e.y * (1 - 1e-9)) << c.title;
        }
    }
  }
}

TEST(Report, MarksValuesOfTheProfile) {
  const Observations all = synthetic_observations();
  const hwdesc::Profile profile = profile_of(all);
  const json charts = charts_in(report_html(all, profile));
  const json& latency = charts.at(0);
  EXPECT_EQ(latency["x"]["log"], true);
  bool capacity = false;
  for (const json& m : latency["marks"])
    capacity |= m["from"] == profile.memory[0].capacity.value->v && m["to"] == m["from"];
  EXPECT_TRUE(capacity) << latency["marks"];
}

TEST(Report, HostileTextStaysText) {
  const std::string page = synthetic_report(kHostile), plain = synthetic_report();
  const auto count = [](const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  };
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_EQ(count(page, "</script"), count(plain, "</script"));
  EXPECT_EQ(count(page, "<main>"), 1U) << "inserted text is not searched for places";
  EXPECT_EQ(unbalanced(markup_of(page)), "");
  EXPECT_THAT(text_of(page), HasSubstr(kHostile));
  EXPECT_THAT(charts_in(page).dump(), HasSubstr("onerror=alert"));
}

TEST(Report, TextThatIsNoUtf8BecomesText) {
  const std::string page = synthetic_report("chip \xff\xfe \x01 end");
  EXPECT_THAT(page, HasSubstr("chip \uFFFD"));
  EXPECT_THAT(page, Not(HasSubstr("\xff")));
  EXPECT_NO_THROW(charts_in(page));
}

TEST(Report, TheSameInputGivesTheSameBytes) { EXPECT_EQ(synthetic_report(), synthetic_report()); }

// A truncated journal, or one of another kind of device, is shown as it is.
TEST(Report, MissingExperimentsAreLeftOut) {
  Observations few;
  add_blocks(few, "launch", "eager", {}, 2e-5);
  add_blocks(few, "launch", "odd", {}, 0);  // nothing a logarithm could show
  const std::string page = report_html(few, {});
  EXPECT_EQ(unbalanced(markup_of(page)), "");
  EXPECT_THAT(page, HasSubstr("Cost of launching"));
  EXPECT_THAT(page, Not(HasSubstr("Latency by footprint")));
  EXPECT_EQ(unbalanced(markup_of(report_html({}, {}))), "");
}

TEST(Report, FailedExperimentsAreNamed) {
  const std::string text = text_of(synthetic_report());
  EXPECT_THAT(text, HasSubstr("crashed"));
  EXPECT_THAT(text, HasSubstr("ended by signal 11"));
  EXPECT_THAT(text, HasSubstr("failed. Nothing is inferred from: banks."));
}

TEST(Report, CompletedAndDoubtedExperimentsAreNamed) {
  Observations all = synthetic_observations("chip");
  all.endings.insert(all.endings.begin(),
                     {"chase", Outcome::timed_out, 60, "took longer than 60 s"});
  all.facts.emplace_back("doubted.chase", "2 of 40");
  const std::string text = text_of(report_html(all, profile_of(all)));
  EXPECT_THAT(text, HasSubstr("A later run completed: chase."));
  EXPECT_THAT(text, HasSubstr("Times: 2 samples were taken again beside 40 that count"));
}

// Groups at a time are an axis of their own, also where the experiment has others.
TEST(Report, GroupsAtATimeHaveCharts) {
  Observations all = synthetic_observations("chip");
  for (const double groups : {1, 2, 4, 8}) {
    all.points.push_back({"waves",
                          "fma",
                          {{"lanes", 32}, {"chains", 8}, {"groups", groups}},
                          "s",
                          {1e-9 / groups},
                          {0},
                          0,
                          {}});
    all.points.push_back({"units", "alone", {{"groups", groups}}, "s", {1e-3}, {0}, 0, {}});
  }
  const std::vector<Chart> charts = charts_of({all, profile_of(all), known_from(all)});
  for (const char* title : {"Multiply-adds by groups at a time", "Groups that fill a unit each"}) {
    const auto it = std::find_if(charts.begin(), charts.end(),
                                 [&](const Chart& c) { return c.title == title; });
    ASSERT_NE(it, charts.end()) << title;
    EXPECT_EQ(it->section, "Arithmetic");
    EXPECT_EQ(it->series.at(0).line.size(), 4u);
  }
}

}  // namespace
}  // namespace assay::probe::test
