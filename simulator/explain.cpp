#include <fmt/format.h>

#include <algorithm>

#include "simulator/estimate.h"

namespace assay::simulator {

namespace {

std::string duration(double s) {
  if (s >= 1) return fmt::format("{:.3f} s", s);
  if (s >= 1e-3) return fmt::format("{:.3f} ms", s * 1e3);
  return fmt::format("{:.3f} us", s * 1e6);
}

const char* words_of(model::Part::Joins how) {
  switch (how) {
    case model::Part::Joins::leaf:
      return "";
    case model::Part::Joins::sum:
      return "sum of";
    case model::Part::Joins::longest:
      return "longest of";
    case model::Part::Joins::overlap:
      return "overlap of";
  }
  return "";
}

std::string signed_duration(double s) { return s < 0 ? "-" + duration(-s) : duration(s); }

void print(const model::Part& p, int depth, std::string& out) {
  out += fmt::format("  {:>12}  {:{}}{}", signed_duration(p.seconds), "", 2 * depth, p.name);
  if (p.times != 1) out += fmt::format(", {:.0f} times the", p.times);
  if (p.joins != model::Part::Joins::leaf)
    out += fmt::format("{} {}", p.times == 1 ? ":" : "", words_of(p.joins));
  if (!p.detail.empty()) out += ": " + p.detail;
  std::string by;
  for (const model::Basis& b : p.basis)
    by += fmt::format("{}{} {}{}", by.empty() ? "" : ", ", b.path, b.value,
                      b.assumed ? " (assumed)" : "");
  out += by.empty() ? "\n" : fmt::format("  [{}]\n", by);
  for (const model::Part& child : p.parts) print(child, depth + 1, out);
}

void print_terms(const model::Estimate& e, std::string& out) {
  out += fmt::format("  {:<14} {:>12} {:>7}  {}\n", "term", "time", "share", "what");
  for (const model::Term& t : e.terms)
    out += fmt::format("  {:<14} {:>12} {:>6.1f}%  {}\n", t.name, duration(t.seconds),
                       e.seconds > 0 ? 100 * t.seconds / e.seconds : 0.0, t.detail);
}

}  // namespace

std::string explain(const model::Estimate& e) {
  std::string out = fmt::format("estimate {}  (90 % interval {} .. {}), bound by {}",
                                duration(e.seconds), duration(e.low), duration(e.high), e.bound);
  if (e.bound_margin > 1) out += fmt::format(", {:.2f} x the next term", e.bound_margin);
  out += "\n";
  if (e.seconds > 0 && e.flops > 0)
    out += fmt::format(
        "  {:.2f} GFLOP/s of useful work; the chip could do it in {:.0f} % of the time at best\n",
        e.flops / e.seconds / 1e9, 100 * e.efficiency);
  out += fmt::format(
      "  groups {:.0f}, rounds {:.0f}, balance {:.2f}, resident groups per unit {:.0f}\n", e.groups,
      e.rounds, e.balance, e.occupancy);
  if (e.tree.parts.empty())
    print_terms(e, out);
  else
    print(e.tree, 0, out);
  if (!e.assumed.empty()) {
    out += "  assumed, because the profile does not know it:";
    for (const std::string& a : e.assumed) out += " " + a;
    out += "\n";
  }
  return out;
}

}  // namespace assay::simulator
