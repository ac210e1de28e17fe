#include "toolkit/schedule_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/page/text.h"

namespace assay::toolkit {

namespace {

constexpr double kWidth = 1100, kRow = 30, kLeft = 84, kTop = 26, kBottom = 26;
constexpr size_t kMostRows = 48;
constexpr double kLetter = 6.6;   // points, of the bars' text
constexpr double kTextFrom = 34;  // points of a bar that has room for a name

struct Row {
  int first = 0, last = 0;  // units
  std::span<const TraceSlice> slices;
};

bool alike(std::span<const TraceSlice> a, std::span<const TraceSlice> b) {
  return std::ranges::equal(a, b, [](const TraceSlice& x, const TraceSlice& y) {
    return x.name == y.name && x.step == y.step && x.begin == y.begin && x.end == y.end;
  });
}

std::vector<Row> rows_of(std::span<const TraceSlice> slices) {
  std::vector<Row> out;
  for (size_t from = 0; from < slices.size();) {
    size_t to = from;
    while (to < slices.size() && slices[to].unit == slices[from].unit) ++to;
    const auto own = slices.subspan(from, to - from);
    if (!out.empty() && out.back().last == own[0].unit && alike(out.back().slices, own))
      ++out.back().last;
    else
      out.push_back({own[0].unit, own[0].unit + 1, own});
    from = to;
  }
  return out;
}

std::string bar(const TraceSlice& s, const ScheduleChart& c, double y) {
  const double scale = kWidth / c.seconds, x = kLeft + s.begin * scale,
               width = (s.end - s.begin) * scale;
  const std::string colour =
      s.step >= 0        ? fmt::format("run step-colour-{}", c.colours[static_cast<size_t>(s.step)])
      : s.name == "idle" ? "idle"
                         : "waits";
  const std::string groups =
      s.step >= 0 ? fmt::format(", groups {} to {}", s.first_group, s.last_group - 1) : "";
  std::string out = fmt::format(
      "<g class=\"{}\"><title>{}{}: {}, from {} on</title><rect x=\"{:.2f}\" y=\"{:.1f}\" "
      "width=\"{:.2f}\" height=\"{:.1f}\"/>",
      colour, page::html(s.name), groups, page::human(s.end - s.begin, page::Kind::seconds),
      page::human(s.begin, page::Kind::seconds), x, y + 3, std::max(width, 0.2), kRow - 6);
  const auto letters = static_cast<size_t>(std::max(0.0, width - 8) / kLetter);
  if (s.step >= 0 && width >= kTextFrom) {
    const std::string shown =
        s.name.size() <= letters ? s.name : s.name.substr(0, letters > 2 ? letters - 1 : 1) + "…";
    out += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\">{}</text>", x + 4, y + kRow / 2 + 4,
                       page::html(shown));
  }
  return out + "</g>\n";
}

// The name stands before the line, or behind it where another line's stands before.
std::string bound(const char* name, double seconds, const ScheduleChart& c, double bottom,
                  bool behind) {
  if (seconds <= 0 || seconds > c.seconds) return "";
  const double x = kLeft + seconds / c.seconds * kWidth;
  return fmt::format(
      "<g class=\"bound\"><title>{0}: {1}</title><line x1=\"{2:.2f}\" x2=\"{2:.2f}\" y1=\"{3}\" "
      "y2=\"{4:.1f}\"/><text x=\"{2:.2f}\" y=\"{5}\" text-anchor=\"{6}\">{0}</text></g>\n",
      name, page::human(seconds, page::Kind::seconds), x, kTop - 4, bottom, kTop - 10,
      behind ? "start" : "end");
}

// 1, 2 or 5 times a power of ten: about eight of them.
double tick_of(double seconds) {
  const double power = std::pow(10, std::floor(std::log10(seconds / 8)));
  for (const double of : {1.0, 2.0, 5.0})
    if (seconds / (of * power) <= 10) return of * power;
  return 10 * power;
}

}  // namespace

std::string schedule_svg(const ScheduleChart& c) {
  if (c.slices.empty() || c.seconds <= 0) return "";
  std::vector<Row> rows = rows_of(c.slices);
  const size_t hidden = rows.size() > kMostRows ? rows.size() - kMostRows : 0;
  rows.resize(rows.size() - hidden);
  const double bottom = kTop + kRow * static_cast<double>(rows.size());
  std::string out = fmt::format(
      "<svg class=\"gantt\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\">\n",
      kLeft + kWidth + 20, bottom + kBottom + (hidden > 0 ? 20 : 0));
  const double tick = tick_of(c.seconds);
  for (double t = 0; t <= c.seconds * 1.0001; t += tick) {
    const double x = kLeft + t / c.seconds * kWidth;
    out += fmt::format(
        "<g class=\"tick\"><line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2:.1f}\"/><text "
        "x=\"{0:.2f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text></g>\n",
        x, kTop, bottom, bottom + 16, t > 0 ? page::human(t, page::Kind::seconds) : "0");
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const double y = kTop + kRow * static_cast<double>(r);
    const std::string name = rows[r].last - rows[r].first == 1
                                 ? fmt::format("unit {}", rows[r].first)
                                 : fmt::format("{} to {}", rows[r].first, rows[r].last - 1);
    out += fmt::format("<text class=\"unit\" x=\"4\" y=\"{:.1f}\">{}</text>\n", y + kRow / 2 + 4,
                       name);
    for (const TraceSlice& s : rows[r].slices) out += bar(s, c, y);
  }
  const bool path_last = c.critical_path > c.work;
  out += bound("longest path", c.critical_path, c, bottom, path_last) +
         bound("work", c.work, c, bottom, !path_last);
  if (hidden > 0)
    out += fmt::format("<text class=\"unit\" x=\"4\" y=\"{:.1f}\">and {} more rows</text>\n",
                       bottom + kBottom + 10, hidden);
  return out + "</svg>\n";
}

}  // namespace assay::toolkit
