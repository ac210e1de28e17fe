#include "hwdesc/check_memory.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "hwdesc/kinds.h"

namespace assay::hwdesc {

namespace {

bool is_far(const MemoryLevel& m) {
  return m.managed == Managed::explicit_ && (m.per == "device" || m.per == "host");
}

// Points are fractions of the whole; bandwidth may not fall as units join.
void check_shape(Findings& out, const std::string& path, std::vector<ShapePoint> shape) {
  std::erase_if(shape, [](const ShapePoint& s) { return !s.units.known() || !s.reaches.known(); });
  std::sort(shape.begin(), shape.end(), [](const ShapePoint& a, const ShapePoint& b) {
    return a.units.value->v < b.units.value->v;
  });
  double reaches = 0;
  for (const ShapePoint& s : shape) {
    const std::string here = path + "." + key_of(s);
    for (const double v : {s.units.value->v, s.reaches.value->v})
      if (v > 1)
        fault(out, here, print_number(v) + " is more than the whole", "fractions from 0 to 1");
    if (s.reaches.value->v < reaches)
      fault(out, here, "more units reach less", "bandwidth does not fall as units join");
    reaches = s.reaches.value->v;
  }
}

// On-chip memories have binary sizes: 40 MB of cache is usually 40 MiB. Measured sizes are exempt.
void check_binary(Findings& out, const std::string& path, const MemoryLevel& m, Origin otherwise) {
  if (!m.capacity.known() || m.capacity.source.value_or(otherwise) == Origin::measured || is_far(m))
    return;
  const double bytes = m.capacity.value->v;
  const std::string text = print_quantity(bytes, "", Dimension::bytes);
  const std::pair<const char*, double> units[] = {
      {"kB", 1024.0}, {"MB", 1048576.0}, {"GB", 1073741824.0}};
  const char* const binary[] = {"KiB", "MiB", "GiB"};
  for (size_t i = 0; i < std::size(units); ++i) {
    const auto& [unit, step] = units[i];
    if (!text.ends_with(std::string(" ") + unit) || std::fmod(bytes, step) == 0) continue;
    warn(out, path + ".capacity", text + " of on-chip memory is a decimal size",
         "is " + text.substr(0, text.find(' ') + 1) + binary[i] +
             " meant? kB is 1000 B, KiB is 1024 B");
  }
}

void check_hit_curve(Findings& out, const std::string& path, const HitCurve& s) {
  double last = 0;
  for (const Value<Bytes>* v : {&s.from, &s.middle, &s.to}) {
    if (!v->known()) continue;
    if (v->value->v < last) fault(out, path, "does not rise from `from` over `middle` to `to`");
    last = v->value->v;
  }
}

void check_level(Findings& out, const MemoryLevel& m, Origin otherwise) {
  const std::string path = "memory." + m.name;
  if (m.backed_by == m.name && !m.name.empty())
    fault(out, path + ".backed_by", "a memory can not lie in itself");
  if (is_far(m) && m.latency.known() && !m.latency.value->clock.empty())
    fault(out, path + ".latency", "far memory does not tick with '" + m.latency.value->clock + "'",
          "give its latency in ns");
  if (m.overlap.known() && m.overlap.value->v > 1)
    fault(out, path + ".overlap", print_number(m.overlap.value->v) + " is more than the whole",
          "a fraction from 0 to 1");
  if (m.knee.from.known() && m.knee.to.known() && m.knee.from.value->v > m.knee.to.value->v)
    fault(out, path + ".knee", "from is above to");
  check_hit_curve(out, path + ".cyclic_scan", m.cyclic_scan);
  check_hit_curve(out, path + ".single_use_retention", m.single_use_retention);
  check_hit_curve(out, path + ".reuse_retention", m.reuse_retention);
  if (m.line.known() && m.transaction.known() && m.transaction.value->v > m.line.value->v)
    warn(out, path + ".transaction", "a transaction larger than a line");
  for (const auto& [key, size] : {std::pair{".line", &m.line}, {".transaction", &m.transaction}})
    if (size->known() && std::exp2(std::round(std::log2(size->value->v))) != size->value->v)
      warn(out, path + key,
           print_quantity(size->value->v, "", Dimension::bytes) + " is no power of two");
  check_shape(out, path + ".bandwidth.shape", m.bandwidth.shape);
  check_binary(out, path, m, otherwise);
}

}  // namespace

void check_memory(Findings& out, const Profile& p) {
  for (const MemoryLevel& m : p.memory) check_level(out, m, p.source);
}

}  // namespace assay::hwdesc
