#include "probe/inference/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "probe/inference/border.h"
#include "probe/inference/infer.h"
#include "probe/inference/stats.h"
#include "probe/inference/values.h"
#include "runtime/device.h"

namespace assay::probe {
namespace {

using namespace hwdesc;

constexpr double kAsPlain =
    1.15;  // ratio; most footprints differ by less where a path uses the plain caches
constexpr double kMost = 0.75;  // of the footprints
constexpr double kSameSize =
    1.35;  // ratio of sizes: a path may be slower to the same cache, not faster
constexpr double kOneLine = 1.15;  // least ratio of a second touch in another line

struct Named {
  const char* experiment;
  const char* name;  // of the path
  const char* fact;  // of the journal, where a device has it
  const char* things;
};

std::optional<double> number_in(const Observations& all, const std::string& fact) {
  const std::string text = all.fact(fact);
  return text.empty() || text.find_first_not_of("0123456789") != std::string::npos
             ? std::nullopt
             : std::optional(std::stod(text));
}

template <class Q>
Value<Q> said(const Observations& all, const std::string& fact) {
  const auto n = number_in(all, fact);
  return n ? known_value(Q{*n}, Origin::driver, "what the driver says") : Value<Q>{};
}

// Blocks of the chase on a plateau, its edges left out where it is wide enough.
std::optional<Summary> on(const Observations& all, const char* experiment, const Plateau& p) {
  std::vector<Observation> inside;
  for (Observation& o : select(all, experiment, "chase"))
    if (o.value_at("bytes") >= p.first && o.value_at("bytes") <= p.last)
      inside.push_back(std::move(o));
  return summarize(inside, Estimator::latency);
}

Value<Latency> latency_of(const Observations& all, const char* experiment, const Plateau& p) {
  const auto s = on(all, experiment, p);
  if (!s) return {};
  const bool ticks = s->clock_hz > 0;
  return latency_value(scaled(*s, ticks ? s->clock_hz : 1), ticks ? kCore : "",
                       "random single-cycle chase through the path, on its plateau");
}

MemoryLevel own_level(const Observations& all, const Named& n, const Levels& levels, size_t i) {
  MemoryLevel l;
  l.name = fmt::format("{}_l{}", n.name, i + 1);
  l.per = "unit";
  l.managed = Managed::automatic;
  l.path = n.name;
  l.latency = latency_of(all, n.experiment, levels.plateaus[i]);
  if (i >= levels.knees.size()) {
    l.capacity =
        unknown_value<Bytes>(fmt::format("all of the {:.0f} KiB that were chased through lie in it",
                                         levels.plateaus[i].last / 1024));
    return l;
  }
  const KneePoint& k = levels.knees[i];
  l.capacity = bytes_value(
      {k.capacity, std::min(k.from, k.capacity), std::max(k.to, k.capacity), 0,
       "how many units share one was not measured"},
      "knee of the latency through the path: where it crosses the geometric middle of two levels");
  l.knee.from = known_value(Bytes{std::round(k.from)}, Origin::measured,
                            "largest footprint within 12 % of the level");
  l.knee.to = known_value(Bytes{std::round(k.to)}, Origin::measured,
                          "smallest footprint within 12 % of the next level");
  return l;
}

// The plain cache that a path's plateau shows: as large, and no faster.
std::optional<size_t> plain_cache(const Known& known, const Levels& path, size_t i) {
  for (size_t j = 0; i < path.knees.size() && j < known.levels.knees.size(); ++j) {
    const auto within = [](double a, double b, double times) {
      return a <= b * times && b <= a * times;
    };
    if (within(path.knees[i].capacity, known.levels.knees[j].capacity, kSameSize) &&
        path.plateaus[i].seconds > known.levels.plateaus[j].seconds / kSameSize)
      return j;
  }
  return std::nullopt;
}

// The plain levels behind a path's own caches: from the one that is closest in latency.
size_t nearest(const Known& known, double seconds) {
  const std::vector<Plateau>& plain = known.levels.plateaus;
  size_t first = plain.size();
  double least = 0;
  for (size_t i = 0; i < plain.size(); ++i)
    if (const double off = std::abs(std::log(plain[i].seconds / seconds));
        first == plain.size() || off < least)
      first = i, least = off;
  return first;
}

std::vector<std::string> from_level(const Known& known, const Profile& p, size_t first) {
  const std::vector<Plateau>& plain = known.levels.plateaus;
  std::vector<std::string> out;
  for (size_t i = first; i < plain.size(); ++i) {
    const std::string name = level_name(i, plain.size());
    if (std::any_of(p.memory.begin(), p.memory.end(),
                    [&](const MemoryLevel& m) { return m.name == name; }))
      out.push_back(name);
  }
  return out;
}

// All levels of plain loads.
std::vector<std::string> plain_levels(const Profile& p) {
  std::vector<std::string> out;
  for (const MemoryLevel& m : p.memory)
    if (m.path.empty() && m.per != "host" && m.name != "local") out.push_back(m.name);
  return out;
}

// Where plain memory ends and the host's begins.
void insert_levels(Profile& to, std::vector<MemoryLevel> own) {
  const auto first = std::find_if(to.memory.begin(), to.memory.end(), [](const MemoryLevel& m) {
    return m.managed == Managed::automatic || m.per == "device";
  });
  to.memory.insert(first, std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
}

// A path's own levels, the plain ones behind them, its latency; or why they are unknown.
AccessPath path_of(const Observations& all, const Known& known, const Named& n, Profile& to) {
  AccessPath path;
  path.name = n.name;
  const PathCurves curves = path_curves(all, n.experiment);
  if (curves.path.empty()) {
    path.latency = unknown_value<Latency>(
        all.fact(n.fact).empty() ? fmt::format("its kernels have no {} here", n.things)
                                 : fmt::format("no chase through {} was measured", n.things));
    return path;
  }
  const double differs = path_contrast(curves);
  if (differs > 0 && differs < kAsPlain) {
    path.latency = unknown_value<Latency>(
        fmt::format("{} are read as plain memory is: at most footprints within {:.0f} %", n.things,
                    std::ceil(100 * (differs - 1))));
    path.through = plain_levels(to);
    return path;
  }
  if (const auto longer = extra_path_latency(curves, known.levels)) {
    path.latency = latency_of(all, n.experiment, {0, known.levels.plateaus.front().last, 0});
    std::string& note = path.latency.note;
    note += (note.empty() ? "" : "; ") +
            fmt::format(
                "{} go through the caches of plain memory and have none of their own: in each of "
                "them a hop takes {:.3g} ns longer",
                n.things, 1e9 * *longer);
    path.through = plain_levels(to);
    return path;
  }
  const Levels levels = find_levels(curves.path);
  std::vector<MemoryLevel> own;
  size_t next = levels.knees.empty() ? known.levels.plateaus.size()
                                     : nearest(known, levels.plateaus.back().seconds);
  for (size_t i = 0; i < std::max<size_t>(1, levels.knees.size()); ++i) {
    if (const auto same = plain_cache(known, levels, i)) {
      next = *same;
      break;
    }
    own.push_back(own_level(all, n, levels, i));
  }
  path.latency = latency_of(all, n.experiment, levels.plateaus.front());
  for (const MemoryLevel& m : own) path.through.push_back(m.name);
  for (std::string& name : from_level(known, to, next)) path.through.push_back(std::move(name));
  insert_levels(to, std::move(own));
  return path;
}

bool tried(const Observations& all, const char* experiment) {
  return all.finished(experiment) ||
         std::any_of(all.points.begin(), all.points.end(),
                     [&](const Observation& o) { return o.experiment == experiment; });
}

void add_constants(const Observations& all, const Known& known, Profile& to) {
  constexpr Named kConstants{"constant", "constant", "constant_memory", "constants"};
  if (!tried(all, kConstants.experiment)) return;
  AccessPath path = path_of(all, known, kConstants, to);
  path.max_bytes = said<Bytes>(all, "constant_memory");
  const auto same =
      summarize(select(all, "constant", "lanes", {{"divergent", 0}}), Estimator::latency);
  const auto divergent_time =
      summarize(select(all, "constant", "lanes", {{"divergent", 1}}), Estimator::latency);
  if (same && divergent_time && path.latency.known())
    path.divergent = ratio_value(
        {divergent_time->value / same->value, divergent_time->low / same->high,
         divergent_time->high / same->low, divergent_time->n, ""},
        "lanes of a wave that chase each from a line of their own, over all of them in one");
  to.paths.push_back(std::move(path));
}

std::vector<CurvePoint> curve_of_distances(const Observations& all, const char* what) {
  std::vector<CurvePoint> out;
  for (const double d : values_of(select(all, "image", what), "distance"))
    if (const auto s = summarize(select(all, "image", what, {{"distance", d}}), Estimator::latency))
      out.push_back({d, s->value});
  return out;
}

void add_block(const Observations& all, AccessPath& path, Profile& to) {
  const auto block = block_of(curve_of_distances(all, "across"), curve_of_distances(all, "down"));
  const auto value = [&](double TexelBlock::*side) {
    return block ? known_value(Count{(*block).*side}, Origin::measured,
                               "two touches a distance divergent_time: the second costs nothing "
                               "within a block")
                 : unknown_value<Count>("no distance distinguishes two touches of texels");
  };
  path.block = {value(&TexelBlock::width), value(&TexelBlock::height)};
  for (MemoryLevel& m : to.memory)
    if (block && m.path == path.name)
      m.line = known_value(Bytes{block->width * block->height * 4}, Origin::measured,
                           "texels of 4 bytes that are fetched together");
}

// The bandwidth of the fastest texel format.
void add_reads(const Observations& all, AccessPath& path) {
  std::optional<Summary> best;
  for (const double texel : values_of(select(all, "image", "read"), "texel")) {
    const auto s =
        summarize(select(all, "image", "read", {{"texel", texel}}), Estimator::throughput);
    if (!s || (best && s->value >= best->value)) continue;
    best = s;
    path.texel = known_value(Count{texel}, Origin::measured,
                             "the fastest of texels of 1, 2 and 4 numbers of f32");
  }
  if (!best) return;
  path.bandwidth =
      bandwidth_value(inverse(*best, 1), "", "all users reading the same 16 KiB of texels");
  if (const auto plain = summarize(select(all, "image", "read_plain"), Estimator::throughput))
    path.bandwidth.note =
        fmt::format("plain memory of the same size: {:.3g} GB/s", 1e-9 / plain->value);
}

// A texel's format, as the observations' conditions name it.
std::string format_at(const Observation& o) {
  const auto number = static_cast<int>(o.value_at("number"));
  return runtime::format_name({ir::DType::f32, static_cast<int>(o.value_at("texel")), 1, 1,
                               number == 2   ? runtime::Stored::f16
                               : number == 1 ? runtime::Stored::unorm8
                                             : runtime::Stored::as_type});
}

// By texel format. A format that the driver lacks is unknown, with the driver's reason.
void add_formats(const Observations& all, AccessPath& path) {
  std::map<std::string, std::vector<Observation>> by_format;
  for (const char* what : {"read", "read_small"})
    for (Observation& o : select(all, "image", what))
      by_format[format_at(o)].push_back(std::move(o));
  for (const auto& [format, blocks] : by_format)
    if (const auto s = summarize(blocks, Estimator::throughput))
      path.formats.emplace_back(
          format,
          bandwidth_value(inverse(*s, 1), "", "all users reading the same 16 KiB of texels"));
  constexpr std::string_view kNone = "no_image.";
  for (const auto& [name, why] : all.facts)
    if (name.starts_with(kNone))
      path.formats.emplace_back(name.substr(kNone.size()), unknown_value<Bandwidth>(why));
}

void add_images(const Observations& all, const Known& known, Profile& to) {
  constexpr Named kImages{"image", "texture", "image_width", "images"};
  if (!tried(all, kImages.experiment) && !tried(all, "border")) return;
  AccessPath path = path_of(all, known, kImages, to);
  path.border = border_of(all);
  if (path_curves(all, kImages.experiment).path.empty()) {
    to.paths.push_back(std::move(path));
    return;
  }
  path.form = "image2d";
  path.max_width = said<Count>(all, "image_width");
  path.max_height = said<Count>(all, "image_height");
  add_block(all, path, to);
  add_reads(all, path);
  add_formats(all, path);
  to.paths.push_back(std::move(path));
}

}  // namespace

PathCurves path_curves(const Observations& all, const std::string& experiment) {
  return {curve_of(select(all, experiment, "chase"), Estimator::latency),
          curve_of(select(all, experiment, "plain"), Estimator::latency)};
}

double path_contrast(const PathCurves& curves) {
  std::vector<double> ratios;
  for (const CurvePoint& a : curves.path)
    for (const CurvePoint& b : curves.plain)
      if (a.bytes == b.bytes)
        ratios.push_back(std::max(a.seconds / b.seconds, b.seconds / a.seconds));
  return ratios.empty() ? 0 : quantile(std::move(ratios), kMost);
}

std::optional<double> fetched_texels(const std::vector<CurvePoint>& by_distance) {
  if (by_distance.size() < 3) return std::nullopt;
  const auto [low, high] = std::minmax_element(
      by_distance.begin(), by_distance.end(),
      [](const CurvePoint& a, const CurvePoint& b) { return a.seconds < b.seconds; });
  if (high->seconds < kOneLine * low->seconds) return std::nullopt;
  const double middle = std::sqrt(low->seconds * high->seconds);
  size_t near = 0;
  while (near < by_distance.size() && by_distance[near].seconds < middle) ++near;
  const bool mixed =
      std::any_of(by_distance.begin() + static_cast<std::ptrdiff_t>(near), by_distance.end(),
                  [&](const CurvePoint& p) { return p.seconds < middle; });
  if (mixed || near == by_distance.size()) return std::nullopt;
  return by_distance[near].bytes;  // the first distance that costs: blocks are aligned, and touches
                                   // begin at their edges
}

std::optional<TexelBlock> block_of(const std::vector<CurvePoint>& across,
                                   const std::vector<CurvePoint>& down) {
  const auto width = fetched_texels(across), height = fetched_texels(down);
  const auto one_row = [](const std::vector<CurvePoint>& along,
                          const std::vector<CurvePoint>& other) {
    const auto seconds = [](const CurvePoint& a, const CurvePoint& b) {
      return a.seconds < b.seconds;
    };
    const double dear = std::max_element(along.begin(), along.end(), seconds)->seconds;
    return !other.empty() &&
           std::min_element(other.begin(), other.end(), seconds)->seconds * kOneLine > dear;
  };
  if (width && height) return TexelBlock{*width, *height};
  if (width && one_row(across, down)) return TexelBlock{*width, 1};
  if (height && one_row(down, across)) return TexelBlock{1, *height};
  return std::nullopt;
}

void infer_paths(const Observations& all, const Known& known, Profile& to) {
  add_constants(all, known, to);
  add_images(all, known, to);
}

}  // namespace assay::probe
