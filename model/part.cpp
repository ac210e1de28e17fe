#include "model/part.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "model/machine.h"
#include "model/overlap.h"

namespace assay::model {
namespace {

std::string with_prefix(double value, const char* unit) {
  constexpr std::array<const char*, 9> kPrefixes = {"p", "n", "u", "m", "", "k", "M", "G", "T"};
  constexpr int kNone = 4;
  const int thousands = value > 0
                            ? std::clamp(static_cast<int>(std::floor(std::log10(value) / 3 + 1e-9)),
                                         -kNone, static_cast<int>(kPrefixes.size()) - 1 - kNone)
                            : 0;
  return fmt::format("{:.4g} {}{}", value / std::pow(1e3, thousands),
                     kPrefixes[static_cast<size_t>(thousands + kNone)], unit);
}

Basis basis_of(const Quantity& q, const char* unit) {
  return {q.path, with_prefix(q.value, unit), q.assumed};
}

double joined(Part::Joins how, const std::vector<double>& times) {
  double sum = 0;
  for (const double t : times) sum += t;
  switch (how) {
    case Part::Joins::leaf:
    case Part::Joins::sum:
      return sum;
    case Part::Joins::longest:
      return times.empty() ? 0 : std::ranges::max(times);
    case Part::Joins::overlap:
      return times.empty() ? 0 : overlapped(times);
  }
  return 0;
}

template <class Time>
double joined(const Part& p, const Time& time) {
  std::vector<double> times;
  for (const Part& child : p.parts) times.push_back(time(child));
  return p.times * joined(p.joins, times);
}

}  // namespace

Part leaf(std::string name, double seconds, std::string detail, std::vector<Basis> basis) {
  std::erase_if(basis, [](const Basis& b) { return b.path.empty(); });
  return {std::move(name), Part::Joins::leaf, seconds, 1, std::move(detail), std::move(basis), {}};
}

Part join(std::string name, Part::Joins how, std::vector<Part> parts, double times) {
  std::erase_if(parts, [](const Part& p) { return p.seconds == 0; });
  if (parts.size() == 1 && times == 1) return std::move(parts.front());
  Part out{std::move(name), how, 0, times, "", {}, std::move(parts)};
  out.seconds = joined(out, [](const Part& p) { return p.seconds; });
  return out;
}

double time_of(const Part& part) {
  return part.joins == Part::Joins::leaf ? part.seconds : joined(part, time_of);
}

Basis rate_of(const Quantity& q) { return basis_of(q, "/s"); }
Basis bandwidth_of(const Quantity& q) { return basis_of(q, "B/s"); }
Basis duration_of(const Quantity& q) { return basis_of(q, "s"); }
Basis power_of(const Quantity& q) { return basis_of(q, "W"); }

}  // namespace assay::model
