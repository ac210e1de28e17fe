// Copies between the host's memory and the device's, by size, timed by the host.
#include <algorithm>
#include <array>
#include <span>

#include "probe/experiments/experiments.h"

namespace assay::probe {
namespace {

constexpr std::array<int64_t, 6> kSizes = {4 << 10, 64 << 10, 512 << 10,
                                           4 << 20, 16 << 20, 64 << 20};
constexpr int kTimes = 5;
constexpr double kLongest = 0.02;  // s of one sample

}  // namespace

namespace {

void measure_map(Session& s, int buffer, int64_t bytes) {
  if (!s.bench.module().map({buffer, 0}, bytes)) return;  // the first call may take longer
  Observation o{"host", "map", {{"bytes", double(bytes)}}, "s", {}, {}, 0, {}};
  for (int n = 0; n < kTimes; ++n)
    s.bench.sample(o, [&] { return s.bench.module().map({buffer, 0}, bytes).value_or(0); });
  s.emit(o);
}

}  // namespace

// Simulated chips have no copy times. Where units are the host's threads there is one memory.
void run_host(Session& s) {
  if (s.device.simulated || s.device.fact("threads") == "own") return;
  std::vector<int64_t> sizes;
  for (const int64_t bytes : kSizes)
    if (bytes <= s.max_bytes) sizes.push_back(bytes);
  if (sizes.empty()) return;
  std::vector<std::byte> here(static_cast<size_t>(sizes.back()));
  for (std::byte& b : here)
    b = static_cast<std::byte>(s.random());  // constant data may be compressed
  const int there = s.bench.allocate(sizes.back());
  s.rounds(3 * sizes.size(), [&](size_t i) {
    const int64_t bytes = sizes[i / 3];
    if (i % 3 == 2) return measure_map(s, there, bytes);
    const bool reads = i % 3 == 1;
    const std::span part(here.data(), static_cast<size_t>(bytes));
    Observation o{
        "host", reads ? "from_device" : "to_device", {{"bytes", double(bytes)}}, "s", {}, {}, 0,
        {}};
    const double begun = now_seconds();
    for (int n = 0; n < kTimes && (n < 2 || now_seconds() - begun < kTimes * kLongest); ++n)
      s.bench.sample(o, [&] {
        const double start = now_seconds();
        if (reads)
          s.bench.module().read({there, 0}, part);
        else
          s.bench.module().write({there, 0}, part);
        return now_seconds() - start;
      });
    s.emit(o);
  });
}

}  // namespace assay::probe
