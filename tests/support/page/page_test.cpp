// Pages as text: numbers for people, foreign text made harmless, charts as the script reads them.
#include "support/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay::page::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(PageText, NumbersForPeople) {
  EXPECT_EQ(human(49911, Kind::bytes), "48.7 KiB");
  EXPECT_EQ(human(1048576, Kind::bytes), "1 MiB");
  EXPECT_EQ(human(64, Kind::bytes), "64 B");
  EXPECT_EQ(human(1.23456e-8, Kind::seconds), "12.3 ns");
  EXPECT_EQ(human(3.6e9, Kind::hertz), "3.6 GHz");
  EXPECT_EQ(human(4.529e10, Kind::bytes_per_second), "45.3 GB/s");
  EXPECT_EQ(human(0.041, Kind::share), "4.1 %");
  EXPECT_EQ(human(16384, Kind::count), "16384");
  EXPECT_EQ(human(0, Kind::seconds), "0 s");
}

TEST(PageText, WhatCouldEndAScriptIsEscaped) {
  const std::string json_text = script_safe(json("</script><!-- &").dump());
  EXPECT_THAT(json_text, Not(testing::ContainsRegex("[<>&]")));
  EXPECT_EQ(json::parse(json_text), "</script><!-- &");
}

TEST(PageText, MarkupInTextStaysText) {
  EXPECT_EQ(html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(html("\x01"), "\uFFFD");
}

Chart chart() {
  Chart c;
  c.title = "a < b";
  c.x = {"x", Kind::seconds, true};
  c.y = {"y", Kind::count, false};
  c.series.push_back({"s", {}, {{1, 2}}, {}, true, {{1, 1.5, 2.5}}, false});
  return c;
}

TEST(Page, AChartIsDataForTheScript) {
  const json data = json::parse(json_of({chart()})).at(0);
  EXPECT_EQ(data["title"], "a < b");
  EXPECT_EQ(data["x"], json({{"title", "x"}, {"kind", "seconds"}, {"log", true}}));
  EXPECT_EQ(data["series"][0]["samples"], json({{1, 2}}));
  EXPECT_EQ(data["series"][0]["intervals"], json({{1, 1.5, 2.5}}));
}

TEST(Page, IntervalsAreAnOptionOfChartsThatHaveThem) {
  Chart c = chart();
  EXPECT_THAT(figure(c, 3), HasSubstr("data-intervals=\"3\""));
  EXPECT_THAT(figure(c, 3), HasSubstr("<h3>a &lt; b</h3>"));
  c.series[0].intervals.clear();
  EXPECT_THAT(figure(c, 3), Not(HasSubstr("data-intervals")));
}

TEST(Page, PlacesInForeignTextAreNotFilled) {
  const std::string page =
      page_html({"{{body}}", "kind", "heading", "", {{"One, two", "<p>{{data}}</p>"}}, {}, ""});
  EXPECT_THAT(page, HasSubstr("<title>{{body}}</title>"));
  EXPECT_THAT(page, HasSubstr("<section id=\"One--two\"><h2>One, two</h2>\n<p>{{data}}</p>"));
  EXPECT_THAT(page, HasSubstr("<a href=\"#One--two\">"));
}

}  // namespace
}  // namespace assay::page::test
