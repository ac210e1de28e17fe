// The error table's page as text: it has every device, group and bar, and asks nothing from
// anywhere.
#include "toolkit/accuracy_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tests/toolkit/published_folder.h"

namespace assay::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string page() {
  const auto r = PublishedFolder().read();
  EXPECT_TRUE(r) << render(r.diags());
  const auto a = toolkit::accuracy(*r, {});
  EXPECT_TRUE(a) << render(a.diags());
  return toolkit::accuracy_page(*a);
}

constexpr std::string_view kData = "<script type=\"application/json\" id=\"charts\">";

json charts_in(const std::string& page) {
  const size_t begin = page.find(kData) + kData.size();
  return json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

// What a reader without scripts sees.
std::string before_scripts(const std::string& page) {
  return page.substr(page.find("<body>"), page.find("<!--") - page.find("<body>"));
}

// The table's rows below the heading, each as its cells.
std::vector<std::vector<std::string>> table_under(const std::string& page,
                                                  const std::string& heading) {
  const size_t from = page.find("<h2>" + heading + "</h2>"), to = page.find("</table>", from);
  const std::string table = page.substr(from, to - from);
  const std::regex row("<tr>(.*?)</tr>"), cell("<t[hd][^>]*>(.*?)</t[hd]>"), tag("<[^>]*>");
  std::vector<std::vector<std::string>> out;
  for (auto r = std::sregex_iterator(table.begin(), table.end(), row); r != std::sregex_iterator();
       ++r) {
    const std::string text = (*r)[1];
    out.emplace_back();
    for (auto c = std::sregex_iterator(text.begin(), text.end(), cell); c != std::sregex_iterator();
         ++c)
      out.back().push_back(std::regex_replace((*c)[1].str(), tag, ""));
  }
  return out;
}

TEST(AccuracyPage, HasEveryBar) {
  std::set<std::string> names;
  for (const auto& cells : table_under(before_scripts(page()), "Bars")) {
    EXPECT_EQ(cells.size(), 4u);
    names.insert(cells[0]);
  }
  const std::vector<std::string> groups = {"nvidia/v100-pcie-16gb copies", "nvidia/t4 copies",
                                           "nvidia/t4 sums &lt;b&gt;"};
  for (const std::string& g : groups) {
    EXPECT_TRUE(names.contains(g + ": near")) << g;
    EXPECT_TRUE(names.contains(g + ": beside the roofline with three constants")) << g;
  }
  EXPECT_TRUE(names.contains("nvidia/rtx-3090 tiles: order"));
  for (const char* device : {"nvidia/v100-pcie-16gb", "nvidia/t4", "all devices"})
    EXPECT_TRUE(names.contains(std::string(device) + ": coverage of 90 % intervals, held out"));
  EXPECT_TRUE(names.contains("class pointwise: median half-width / mean error"));
  EXPECT_EQ(names.size(), 3 + 3 + 1 + 3 + 1 + 1u) << "and the table's head";
}

TEST(AccuracyPage, TablesHaveEveryGroup) {
  const std::string text = before_scripts(page());
  std::map<std::string, int> rows;  // of all times
  for (const auto& cells : table_under(text, "Errors"))
    if (cells.at(1) == "all") rows[cells[0]] = std::stoi(cells.at(10));
  const std::map<std::string, int> wanted = {{"nvidia/v100-pcie-16gb copies", kManyRows},
                                             {"nvidia/t4 copies", 40},
                                             {"nvidia/t4 sums &lt;b&gt;", 30}};
  EXPECT_EQ(rows, wanted);
  const auto programs = table_under(text, "Programs");
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_EQ(programs[1].at(0), "nvidia/rtx-3090 tiles");
  EXPECT_THAT(text, HasSubstr("<code>left.csv</code>: not estimated: a drawing"));
}

TEST(AccuracyPage, ChartsHaveEveryRowOrSayHowMany) {
  const std::string text = page();
  const json charts = charts_in(text);
  std::map<std::string, std::map<std::string, size_t>> seen;
  for (const json& c : charts)
    for (const json& s : c["series"])
      if (!s["reference"]) seen[c["title"]][s["name"]] = s["samples"].size();
  const std::map<std::string, std::map<std::string, size_t>> wanted = {
      {"nvidia/v100-pcie-16gb", {{"copies (600 of 1500)", 600}}},
      {"nvidia/t4", {{"copies", 40}, {"sums <b>", 30}}},
      {"nvidia/rtx-3090", {{"tiles", 2}}},
      {"copies", {{"nvidia/v100-pcie-16gb (600 of 1500)", 600}, {"nvidia/t4", 40}}},
      {"sums <b>", {{"nvidia/t4", 30}}},
      {"tiles", {{"nvidia/rtx-3090", 2}}}};
  EXPECT_EQ(seen, wanted);
  EXPECT_THAT(text, HasSubstr("more than 600 rows"));
}

// The first time of the T4's table is of 300,000 elements, and stands in both charts.
TEST(AccuracyPage, ARowIsWhereItsTimesAre) {
  const double measured = 300'000 * 3.2e-11 * 0.95;
  for (const json& c : charts_in(page())) {
    if (c["title"] != "nvidia/t4") continue;
    const json& first = c["series"][0]["samples"][0];
    EXPECT_NEAR(first[0].get<double>() / measured, 1, 1e-4);
    EXPECT_GT(first[1].get<double>(), 8 * 300'000 / 320e9) << "no faster than the memory";
    const json& interval = c["series"][0]["intervals"][0];
    EXPECT_EQ(interval[0], first[0]);
    EXPECT_LT(interval[1].get<double>(), interval[2].get<double>());
  }
}

TEST(AccuracyPage, AsksNothingFromAnywhere) {
  const std::string text = page(), visible = before_scripts(text);
  EXPECT_FALSE(std::regex_search(visible, std::regex("(src|srcset|action)=\"|href=\"[^#]|http")));
  EXPECT_THAT(text.substr(0, text.find("<body>")), Not(HasSubstr("http")));
  EXPECT_THAT(text, Not(testing::ContainsRegex("<(link|iframe|object|embed|base|img)")));
  EXPECT_THAT(text, Not(HasSubstr("sums <b>:"))) << "foreign text is no markup";
}

TEST(AccuracyPage, IsTheSameEachTime) { EXPECT_EQ(page(), page()); }

}  // namespace
}  // namespace assay::test
