// How much straight-line code runs at full speed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "probe/inference/infer.h"
#include "probe/inference/values.h"

namespace assay::probe {

using namespace hwdesc;

namespace {
constexpr double kSlower = 1.15;  // of each size, than the fastest smaller one
}

void infer_code(const Observations& all, Profile& to) {
  Knee& code = to.execution.code;
  const auto unknown = [&](const std::string& why) {
    code.from = code.to = unknown_value<Bytes>(why);
  };
  const std::vector<Observation> blocks = select(all, "code", "straight");
  const std::vector<double> sizes = values_of(blocks, "steps");
  if (sizes.empty()) return unknown("straight-line code did not run");
  const auto bytes_of = [&](double steps) {
    return select(all, "code", "straight", {{"steps", steps}}).back().value_at("bytes");
  };
  std::vector<double> times;
  for (const double n : sizes)
    times.push_back(
        summarize(select(all, "code", "straight", {{"steps", n}}), Estimator::throughput)->value);
  // From the first size on at which it, and all that are larger, take longer.
  size_t slow = 0;
  for (size_t i = sizes.size(); i-- > 1;) {
    const double least =
        *std::min_element(times.begin() + static_cast<std::ptrdiff_t>(i), times.end());
    const double before =
        *std::min_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(i));
    if (least > kSlower * before) slow = i;
  }
  const double most = bytes_of(sizes.back());
  if (slow == 0)
    return unknown(
        fmt::format("no sign of a limit up to {:.0f} steps{}", sizes.back(),
                    most > sizes.back() ? fmt::format(", {:.0f} KiB", most / 1024) : ""));
  if (bytes_of(sizes[slow]) < sizes[slow])  // unknown, or only the kernel's entry
    return unknown(
        fmt::format("between {:.0f} and {:.0f} steps; how many bytes they have is not told",
                    sizes[slow - 1], sizes[slow]));
  const std::string method = "time of a step in loops of ever more of them";
  code.from = known_value(Bytes{bytes_of(sizes[slow - 1])}, Origin::measured, method);
  code.to = known_value(Bytes{bytes_of(sizes[slow])}, Origin::measured, method);
}

}  // namespace assay::probe
