#include "toolkit/validate_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/page/text.h"

namespace assay::toolkit {
namespace {

constexpr double kTop = 56, kSquare = 560, kLeft = 76;
constexpr double kStripLeft = 1010, kStripWidth = 420, kRow = 17;
constexpr double kMostOff = 4;  // factor at the ends of the error strip

struct Colour {
  Drawn drawn;
  const char* fill;
  const char* label;
};
constexpr Colour kColours[] = {{Drawn::uniform, "#8a8f98", "drawn from all legal ones"},
                               {Drawn::best_tenth, "#1f6fb2", "drawn from the model's best tenth"},
                               {Drawn::neighbour, "#e0a030", "neighbours of the fastest"}};

const char* fill_of(Drawn d) {
  for (const Colour& c : kColours)
    if (c.drawn == d) return c.fill;
  return "#000";
}

std::string text_at(double x, double y, const std::string& what, const char* anchor = "start",
                    const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, page::html(what));
}

std::string line_at(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

std::string dot(double x, double y, const ProgramRow& r) {
  if (r.first)
    return fmt::format(
        "<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\" fill=\"#c0392b\" stroke=\"#fff\" "
        "stroke-width=\"0.7\"/>\n",
        x, y - 5);
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\" fill=\"{}\" fill-opacity=\"0.75\"/>\n", x, y,
      fill_of(r.drawn));
}

std::string decade_name(int power) {
  static constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  const int unit = std::clamp((power + 9) / 3, 0, 3);
  return fmt::format("{:g} {}", std::pow(10.0, power + 9 - 3 * unit), kUnits[unit]);
}

class Scatter {  // invariant: from_ and to_ are whole decades around all times
 public:
  explicit Scatter(const Validation& v) {
    double low = std::numeric_limits<double>::max(), high = 0;
    for (const OperatorRows& o : v.operators)
      for (const ProgramRow& r : o.rows) {
        low = std::min({low, r.measured, r.estimate.seconds});
        high = std::max({high, r.measured, r.estimate.seconds});
      }
    if (high <= 0) low = 1e-6, high = 1e-3;
    from_ = static_cast<int>(std::floor(std::log10(low)));
    to_ = std::max(from_ + 1, static_cast<int>(std::ceil(std::log10(high))));
  }

  std::string draw(const Validation& v) const {
    std::string out = axes();
    for (const OperatorRows& o : v.operators)
      for (const ProgramRow& r : o.rows)
        out += line_at(x(r.measured), y(r.estimate.low), x(r.measured), y(r.estimate.high),
                       "stroke=\"#1f6fb2\" stroke-opacity=\"0.13\"");
    for (const bool first : {false, true})
      for (const OperatorRows& o : v.operators)
        for (const ProgramRow& r : o.rows)
          if (r.first == first) out += dot(x(r.measured), y(r.estimate.seconds), r);
    return out;
  }

 private:
  double part(double seconds) const {
    const double at = (std::log10(std::max(seconds, 1e-12)) - from_) / (to_ - from_);
    return std::clamp(at, 0.0, 1.0) * kSquare;
  }
  double x(double seconds) const { return kLeft + part(seconds); }
  double y(double seconds) const { return kTop + kSquare - part(seconds); }

  std::string axes() const {
    std::string out;
    for (int p = from_; p <= to_; ++p) {
      const double at = std::pow(10.0, p);
      out += line_at(x(at), kTop, x(at), kTop + kSquare, "stroke=\"#e3e5e8\"");
      out += line_at(kLeft, y(at), kLeft + kSquare, y(at), "stroke=\"#e3e5e8\"");
      out += text_at(x(at), kTop + kSquare + 18, decade_name(p), "middle");
      out += text_at(kLeft - 8, y(at) + 4, decade_name(p), "end");
    }
    out += line_at(kLeft, kTop + kSquare, kLeft + kSquare, kTop,
                   "stroke=\"#333\" stroke-dasharray=\"5 4\"");
    out += text_at(kLeft + kSquare / 2, kTop + kSquare + 40, "measured", "middle");
    out += text_at(kLeft, kTop - 10, "predicted, with its interval");
    return out;
  }

  int from_ = 0, to_ = 1;
};

double strip_x(double ratio) {
  const double at = std::clamp(std::log(ratio) / std::log(kMostOff), -1.0, 1.0);
  return kStripLeft + kStripWidth * (at + 1) / 2;
}

std::string strip(const Validation& v) {
  const double bottom = kTop + kRow * static_cast<double>(v.operators.size());
  std::string out;
  for (double ratio : {0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0}) {
    out += line_at(strip_x(ratio), kTop, strip_x(ratio), bottom,
                   ratio == 1 ? "stroke=\"#333\" stroke-dasharray=\"5 4\"" : "stroke=\"#e3e5e8\"");
    out += text_at(strip_x(ratio), bottom + 18, fmt::format("{:g}", ratio), "middle");
  }
  out += text_at(kStripLeft + kStripWidth / 2, bottom + 40,
                 "predicted / measured; beyond the ends: at the ends", "middle");
  for (size_t i = 0; i < v.operators.size(); ++i) {
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    out += text_at(kStripLeft - 10, y + 4, v.operators[i].name, "end");
    for (const bool first : {false, true})
      for (const ProgramRow& r : v.operators[i].rows)
        if (r.first == first && r.drawn != Drawn::neighbour)
          out += dot(strip_x(r.estimate.seconds / r.measured), y, r);
  }
  return out;
}

std::string legend(double y) {
  double x = kLeft;
  std::string out;
  for (const Colour& c : kColours) {
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x, y - 4,
                       c.fill);
    out += text_at(x + 9, y, c.label);
    x += 20 + 6.6 * static_cast<double>(std::string_view(c.label).size());
  }
  out += fmt::format("<path d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\" fill=\"#c0392b\"/>\n", x, y - 9);
  return out + text_at(x + 9, y, "first choice");
}

}  // namespace

std::string plot_svg(const Validation& v) {
  const double rows = kRow * static_cast<double>(v.operators.size());
  const double height = kTop + std::max(kSquare, rows) + 88;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1470\" height=\"{0:.0f}\" viewBox=\"0 0 "
      "1470 {0:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n<rect width=\"1470\" "
      "height=\"{0:.0f}\" fill=\"#fff\"/>\n",
      height);
  out += text_at(kLeft, 24, fmt::format("{} on {}, profile {}", v.suite, v.device, v.profile),
                 "start", " font-size=\"15\" font-weight=\"bold\"");
  return out + Scatter(v).draw(v) + strip(v) + legend(height - 14) + "</svg>\n";
}

}  // namespace assay::toolkit
