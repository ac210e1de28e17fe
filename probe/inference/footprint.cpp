#include "probe/inference/footprint.h"

#include <algorithm>
#include <cmath>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

constexpr double kMissesAll = 1.5;  // times the previous capacity: a cyclic scan misses it always

int64_t in_blocks(double bytes) {
  return std::max<int64_t>(1, static_cast<int64_t>(bytes / static_cast<double>(kBlockBytes))) *
         kBlockBytes;
}

constexpr double kFarIn = 0.7;       // of what still hits
constexpr double kPastHalf = 0.65;   // of a unit's own cache: AMD's Zen 5 reads its L2 a quarter
                                     // faster where more than half of it is walked through
constexpr double kLeastRatio = 1.4;  // least ratio of two footprints that are both worth measuring
constexpr double kSweepStep = 1.189207115002721;            // a quarter of an octave
constexpr double kSweepEnd = 4, kLeastSweepEnd = 64 << 20;  // times the last knee, bytes in total
constexpr double kBeyond = 8, kLeastBeyond = 128 << 20;  // the same, of what lies beyond all caches
constexpr double kLeavesPrivate = 2.5;  // the same, where the capacity itself is only roughly known

}  // namespace

std::optional<int64_t> footprint_within(const Levels& levels, size_t i, int sharers) {
  if (i >= levels.knees.size()) return std::nullopt;
  const double own = levels.knees[i].from / sharers;
  if (i == 0) return in_blocks(0.5 * own);
  const double previous = kMissesAll * levels.knees[i - 1].capacity;
  if (previous > 0.8 * own) return std::nullopt;
  return in_blocks(std::sqrt(previous * 0.7 * own) < previous ? 0.75 * own
                                                              : std::sqrt(previous * 0.7 * own));
}

std::vector<int64_t> footprints_within(const Levels& levels, size_t i, int sharers) {
  const auto middle = footprint_within(levels, i, sharers);
  if (!middle) return {};
  const double still_hits = kFarIn * levels.knees[i].from / sharers;
  const int64_t far = in_blocks(
      sharers == 1 ? std::max(still_hits, kPastHalf * levels.knees[i].capacity) : still_hits);
  if (i == 0 || static_cast<double>(far) < kLeastRatio * static_cast<double>(*middle))
    return {*middle};
  return {*middle, far};
}

int64_t footprint_of_latency(const Known& known, size_t i) {
  const Plateau& p = known.levels.plateaus[i];
  const bool shared = i < known.sharing.size() && known.sharing[i].shared;
  const double middle = p.first * std::pow(p.last / p.first, shared ? 0.25 : 0.5);
  if (!shared || known.threads || i == 0) return in_blocks(middle);
  return in_blocks(std::min(
      middle,
      std::max(
          p.first,
          kLeavesPrivate *
              known.levels.knees[i - 1].capacity)));  // it is quickly filled, and hardly evicted
}

std::optional<int64_t> footprint_past_private(const Known& known, int units) {
  const std::optional<size_t> own = known.own_cache();
  if (!own) return std::nullopt;
  const double each = kLeavesPrivate * known.levels.knees[*own].capacity;
  if (each * units > 0.8 * known.levels.knees.back().to) return std::nullopt;
  return in_blocks(each);
}

std::optional<int64_t> footprint_of_streams(const Known& known, int units) {
  const size_t last = known.levels.knees.size();
  const double least = last < 2 ? 0 : kLeavesPrivate * known.levels.knees[last - 2].capacity,
               most = 0.5 * known.held / units;
  return least > 0 && least < most ? std::optional(in_blocks(std::sqrt(least * most)))
                                   : std::nullopt;
}

std::vector<int64_t> evicting_blocks(const Known& known, int units, int64_t part, int64_t room) {
  constexpr double kLeast = 1.0 / 32,
                   kMost = 2;  // of what caches may hold, to a power of two: estimates of it
                               // change between rounds, sizes do not
  const double held = std::exp2(std::round(std::log2(known.cached)));
  std::vector<int64_t> out;
  for (double times = kLeast; times <= kMost; times *= 2)
    if (const int64_t blocks =
            std::max<int64_t>(1, static_cast<int64_t>(times * held / units) / kBlockBytes);
        units * (part + blocks) <= room && (out.empty() || blocks > out.back()))
      out.push_back(blocks);
  return out;
}

std::vector<int64_t> scan_footprints(const Known& known, int units, int64_t most) {
  if (known.levels.knees.empty()) return {};
  const double last = std::max(
      known.levels.knees.back().to * (known.sharing.back().shared ? 1 : units), known.cached);
  const double beyond =
      std::min(static_cast<double>(most), std::max(kBeyond * last, kLeastBeyond)) / units;
  const double end =
      std::min(beyond / kSweepStep, std::max(kSweepEnd * last, kLeastSweepEnd) / units);
  std::vector<int64_t> out;
  const double least =
      std::exp2(std::round(std::log2(known.levels.knees.front().capacity /
                                     4)));  // the same in every sweep, so that sweeps can be joined
  for (double bytes = least; bytes <= end; bytes *= kSweepStep)
    if (const int64_t whole = in_blocks(bytes); out.empty() || whole > out.back())
      out.push_back(whole);
  if (const int64_t whole = in_blocks(beyond); out.empty() || whole > out.back())
    out.push_back(whole);
  return out;
}

namespace {

constexpr int64_t kMostChunks = 64 << 20,
                  kChunksOfAll = 4;  // bytes; or such a part of the buffer, if larger

}  // namespace

int64_t far_bytes_of_a_sample(int64_t buffer) {
  return std::min(buffer, std::max(kMostChunks, buffer / kChunksOfAll));
}

int64_t far_bytes_of_a_sample(const Observation& far) {
  const double groups = far.value_at("units", 1);
  return std::min(far_bytes_of_a_sample(static_cast<int64_t>(far.value_at("bytes") * groups)),
                  static_cast<int64_t>(groups) * kFarChunk);
}

int64_t buffer_for_far_bytes(int64_t bytes) {
  return bytes <= kMostChunks ? bytes : bytes * kChunksOfAll;
}

int64_t window_of_group(int64_t g, int units, int64_t windows) {
  return (g % units + g / units) % windows;
}

int64_t footprint_beyond(const Known& known, int64_t most) {
  return std::min<int64_t>(most, std::max<int64_t>(in_blocks(8 * known.cached), int64_t{64} << 20));
}

}  // namespace assay::probe
