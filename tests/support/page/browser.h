// A page in a headless Chromium: no errors, every chart drawn, no wider than the screen.
// ASSAY_SCREENSHOTS=<directory> keeps the pictures.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/toolkit/scratch_directory.h"

namespace assay::test {

namespace fs = std::filesystem;
using nlohmann::json;

inline std::optional<std::string> browser() {
  for (const char* path :
       {"/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/google-chrome"})
    if (fs::exists(path)) return path;
  return std::nullopt;
}

// Collects errors from before the first script of the page on.
inline constexpr const char* kWatch =
    "<script>window.faults = [];\n"
    "addEventListener('error', e => faults.push(String(e.message)));\n"
    "for (const level of ['error', 'warn']) { const say = console[level]; console[level] = (...a) "
    "=> { faults.push(a.join(' ')); say(...a); }; }\n"
    "</script>\n";

// For every canvas: pixels in a colour of its data inside the plot, elements inside it, and whether
// the page is wider than the screen.
inline constexpr const char* kLook = R"js(<script>
addEventListener('load', () => {
  const near = (data, i, c) =>
      Math.abs(data[i] - c[0]) + Math.abs(data[i + 1] - c[1]) + Math.abs(data[i + 2] - c[2]) < 90;
  const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
  const seen = [...document.querySelectorAll('canvas')].map(canvas => {
    const chart = Chart.getChart(canvas);
    if (!chart) return {title: canvas.getAttribute('aria-label'), coloured: 0, inside: 0};
    const area = chart.chartArea, ratio = canvas.width / canvas.clientWidth;
    const image = canvas.getContext('2d').getImageData(
        area.left * ratio, area.top * ratio, area.width * ratio, area.height * ratio).data;
    const colour = d => d.pointBackgroundColor || d.borderColor || d.pointBorderColor ||
        d.backgroundColor;
    const colours = chart.data.datasets.map(colour).map(rgb);
    let coloured = 0, inside = 0;
    for (let i = 0; i < image.length; i += 4)
      if (image[i + 3] > 40 && colours.some(c => near(image, i, c))) ++coloured;
    chart.data.datasets.forEach((d, k) => chart.getDatasetMeta(k).data.forEach(e => {
      if (e.x >= area.left - 1 && e.x <= area.right + 1 && e.y >= area.top - 1 &&
          e.y <= area.bottom + 1)
        ++inside;
    }));
    return {title: canvas.getAttribute('aria-label'), coloured, inside};
  });
  const boxes = [...document.querySelectorAll('input[data-intervals]')].filter(box => {
    const chart =
        Chart.getChart(document.querySelector(`canvas[data-chart="${box.dataset.intervals}"]`));
    const shown = () => chart.data.datasets.some(
        (d, i) => d.role === 'intervals' && chart.isDatasetVisible(i));
    const before = shown();
    box.click();
    const asked = shown();
    box.click();
    return !before && asked && !shown();
  }).length;
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  const ground = getComputedStyle(document.body).backgroundColor;
  const all = {seen, faults, boxes, wide, ground};
  document.body.dataset.seen = encodeURIComponent(JSON.stringify(all));
});
</script>
)js";

inline std::string with_watch(std::string page) {
  page.insert(page.find("<meta charset"), kWatch);
  page.insert(page.rfind("</body>"), kLook);
  return page;
}

struct View {
  const char* name;
  int width, height;
  bool dark;
};

inline std::string command(const std::string& chromium, const std::string& file, const View& v,
                           const std::string& action, const std::string& home) {
  return fmt::format(
      "HOME={4} timeout 100 {0} --headless --no-sandbox --disable-gpu --hide-scrollbars "
      "--virtual-time-budget=10000 --user-data-dir={4}/profile "
      "--blink-settings=preferredColorScheme={1} --window-size={2} {3} file://{5} 2>/dev/null",
      chromium, v.dark ? 0 : 1, fmt::format("{},{}", v.width, v.height), action, home, file);
}

inline std::string output_of(const std::string& line) {
  std::string out;
  FILE* pipe = ::popen(line.c_str(), "r");
  std::array<char, 65536> buffer;
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  EXPECT_EQ(WEXITSTATUS(status), 0) << line;
  return out;
}

inline std::string decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%')
      out += text[i];
    else
      out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)), i += 2;
  }
  return out;
}

inline json seen_in(const std::string& dom) {
  constexpr std::string_view kSeen = "data-seen=\"";
  const size_t at = dom.find(kSeen);
  if (at == std::string::npos) return nullptr;
  const size_t begin = at + kSeen.size();
  return json::parse(decoded(dom.substr(begin, dom.find('"', begin) - begin)));
}

// `charts`: how many there are, counted otherwise than by the page. `boxes`: how many of them draw
// their intervals while the reader asks for them.
inline void expect_drawn(const json& page, const View& v, size_t charts, int boxes) {
  ASSERT_TRUE(page.is_object()) << "the page's scripts did not come to their end";
  EXPECT_EQ(page["faults"], json::array());
  EXPECT_LE(page["wide"].get<int>(), 0) << "wider than the screen";
  EXPECT_EQ(page["ground"] == "rgb(255, 255, 255)", !v.dark) << page["ground"];
  EXPECT_EQ(page["boxes"], boxes);
  EXPECT_EQ(page["seen"].size(), charts);
  for (const json& chart : page["seen"]) {
    EXPECT_GT(chart["coloured"].get<int>(), 5) << chart;
    EXPECT_GT(chart["inside"].get<int>(), 0) << chart;
  }
}

inline void look_at(const std::string& html, const View& v, size_t charts, int boxes = 0) {
  const auto chromium = browser();
  if (!chromium) GTEST_SKIP() << "no Chromium here: scripts/bootstrap.sh --browser installs one";
  const ScratchDirectory dir;
  const std::string file = dir.at("page.html"), picture = dir.at("page.png");
  std::ofstream(file) << with_watch(html);
  expect_drawn(seen_in(output_of(command(*chromium, file, v, "--dump-dom", dir.at("home")))), v,
               charts, boxes);
  output_of(command(*chromium, file, v, "--screenshot=" + picture, dir.at("home")));
  ASSERT_TRUE(fs::exists(picture));
  EXPECT_GT(fs::file_size(picture), 20'000U);
  if (const char* keep = std::getenv("ASSAY_SCREENSHOTS"))
    fs::copy_file(picture, fmt::format("{}/{}.png", keep, v.name),
                  fs::copy_options::overwrite_existing);
}

}  // namespace assay::test
