// The page of a compiled model in a headless Chromium, wide and narrow. Skipped without Chromium or
// Graphviz.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/page/browser.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/report.h"

namespace assay::test {
namespace {

// A layer normalisation whose name a browser would take for more than text, were it not escaped.
std::string page() {
  auto graph = toolkit::operator_model("layer_norm rows=4096 columns=1024");
  const auto profile = toolkit::load_profile("generic/x86-avx512-2core");
  EXPECT_TRUE(graph.ok() && profile.ok());
  graph->name = "<img src=x onerror=console.error(1)>";
  for (ir::Tensor& t : graph->tensors) t.name = "<img src=x>" + t.name;
  toolkit::CompileOptions options;
  options.fuse = compiler::Fuse::always;
  options.build = false;
  const auto bundle = toolkit::compile_bundle(*graph, *profile, options);
  EXPECT_TRUE(bundle) << render(bundle.diags());
  toolkit::ReportOptions report;
  report.graphviz = *toolkit::find_graphviz();
  const auto made = toolkit::report_of(*bundle, report);
  EXPECT_TRUE(made) << render(made.diags());
  EXPECT_EQ(made->steps_before, 5U);
  EXPECT_EQ(made->steps, 1U);
  return made->page;
}

// Of each picture: boxes and arrows inside of it, and whether labels are as wide as it.
constexpr const char* kPictures = R"js(<script>
addEventListener('load', () => {
  const seen = [...document.querySelectorAll('.picture svg:not(.gantt)')].map(svg => {
    const frame = svg.getBoundingClientRect();
    const inside = e => {
      const r = e.getBoundingClientRect();
      return r.width > 2 && r.left >= frame.left - 1 && r.right <= frame.right + 1 &&
          r.top >= frame.top - 1 && r.bottom <= frame.bottom + 1;
    };
    const count = what => [...svg.querySelectorAll(what)].filter(inside).length;
    const fill = e => getComputedStyle(e).fill;
    return {
      steps: count('.cluster[id]'), nodes: count('.node'), labels: count('.labels text'),
      edges: svg.querySelectorAll('.edge').length,
      text: fill(svg.querySelector('.node text')), box: fill(svg.querySelector('.cluster path'))
    };
  });
  document.body.dataset.seen = encodeURIComponent(JSON.stringify(
      {seen, images: document.images.length,
       bars: [...document.querySelectorAll('.gantt .run rect')].filter(
           r => r.getBoundingClientRect().width > 2 && getComputedStyle(r).fill != 'none').length,
       linked: [...document.querySelectorAll('a[href^="#before_"], a[href^="#after_"]')].every(
           a => document.querySelector(a.getAttribute('href')))}));
});
</script>
)js";

json pictures_of(std::string html, const View& v) {
  html.insert(html.rfind("</body>"), kPictures);
  const ScratchDirectory dir;
  std::ofstream(dir.at("page.html")) << html;
  return seen_in(
      output_of(command(*browser(), dir.at("page.html"), v, "--dump-dom", dir.at("home"))));
}

class ReportPage : public testing::TestWithParam<View> {};

TEST_P(ReportPage, BothGraphsAreDrawn) {
  if (!toolkit::find_graphviz()) GTEST_SKIP() << "no Graphviz here";
  const std::string html = page();
  look_at(html, GetParam(), 1);  // the chart of traffic
  if (testing::Test::IsSkipped()) return;
  const json seen = pictures_of(html, GetParam());
  ASSERT_TRUE(seen.is_object());
  EXPECT_EQ(seen["images"], 0) << "names are text";
  EXPECT_EQ(seen["bars"], 1) << "one step, on units that do alike";
  EXPECT_EQ(seen["linked"], true) << "the table leads to boxes";
  ASSERT_EQ(seen["seen"].size(), 2U);
  const json &before = seen["seen"][0], &after = seen["seen"][1];
  EXPECT_EQ(before["steps"], 5);
  EXPECT_EQ(before["labels"], 5);
  EXPECT_EQ(after["steps"], 1);
  EXPECT_EQ(before["nodes"], after["nodes"]) << "the same graph, in other boxes";
  EXPECT_EQ(before["edges"], after["edges"]);
  for (const json& picture : seen["seen"]) {
    EXPECT_EQ(picture["text"], GetParam().dark ? "rgb(230, 234, 240)" : "rgb(28, 36, 48)");
    EXPECT_NE(picture["box"], "none");
  }
}

INSTANTIATE_TEST_SUITE_P(Views, ReportPage,
                         testing::Values(View{"report_desktop", 1200, 3000, false},
                                         View{"report_phone", 400, 5000, true}),
                         [](const auto& v) { return std::string(v.param.name); });

}  // namespace
}  // namespace assay::test
