#include "probe/inference/host_memory.h"

#include <fmt/format.h>

#include "probe/inference/values.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kCopies = 1e-12;  // s per byte: no memory is as fast

std::optional<Summary> copy_time(const Observations& all, const char* way, double bytes) {
  return summarize(select(all, "host", way, {{"bytes", bytes}}), Estimator::throughput);
}

Value<Bandwidth> bandwidth(const Observations& all, const char* way, double bytes,
                           const char* what) {
  const auto s = copy_time(all, way, bytes);
  if (!s) return unknown_value<Bandwidth>("not measured");
  return bandwidth_value(
      inverse(*s, bytes), "",
      fmt::format("{}, {:.0f} MiB at once, seen from the host", what, bytes / (1 << 20)));
}

}  // namespace

Value<Seconds> map_time(const Observations& all) {
  const std::vector<Observation> blocks = select(all, "host", "map");
  if (blocks.empty()) return {};
  const std::vector<double> sizes = values_of(blocks, "bytes");
  const auto time = [&](double bytes) {
    return summarize(select(all, "host", "map", {{"bytes", bytes}}), Estimator::latency);
  };
  const auto small = time(sizes.front()), large = time(sizes.back());
  if (!small || !large) return {};
  auto v = seconds_value(
      scaled(*small, 1),
      fmt::format("{:.0f} KiB mapped to read and write, and unmapped, seen from the host",
                  sizes.front() / 1024));
  v.note = fmt::format(
      "{:.0f} MiB: {:.3g} us, {}", sizes.back() / (1 << 20), large->value * 1e6,
      large->value < kCopies * sizes.back() ? "nothing is copied" : "as long as a copy takes");
  return v;
}

std::optional<MemoryLevel> host_memory(const Observations& all) {
  const std::vector<double> sizes = values_of(select(all, "host", "to_device"), "bytes");
  if (sizes.empty()) return std::nullopt;
  MemoryLevel l;
  l.name = l.per = "host";
  l.managed = Managed::explicit_;
  l.bandwidth.read = bandwidth(all, "to_device", sizes.back(), "copies to the device");
  l.bandwidth.write = bandwidth(all, "from_device", sizes.back(), "copies from the device");
  if (const auto s = copy_time(all, "to_device", sizes.front()))
    l.latency = latency_value(scaled(*s, 1), "",
                              fmt::format("a copy of {:.0f} KiB to the device, seen from the host",
                                          sizes.front() / 1024));
  return l;
}

}  // namespace assay::probe
