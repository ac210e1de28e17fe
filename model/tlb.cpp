#include "model/tlb.h"

#include <algorithm>

#include "model/retention.h"
#include "model/reuse.h"

namespace assay::model {

namespace {

// Pages that one unit touches after their entry was evicted, of `held` entries. Pre: these do not
// hold all that it touches.
double misses(const Streams& s, const ReuseModel& r, double page, double held) {
  const size_t depths = s.nest.loops.size() + 1;
  double once = 0;
  for (size_t i = 0; i < s.streams.size(); ++i) once += r.unit().footprint[i][0];
  for (size_t j = 1; j < depths; ++j) {
    double size = 0, bytes = 0;
    for (size_t i = 0; i < s.streams.size(); ++i) {
      if (j <= s.streams[i].end_depth) size += r.shapes()[i][j].bytes(page);
      bytes += r.bytes_when_held(r.unit(), i, j);
    }
    if (size <= held * page) return bytes / page;
  }
  double bytes = 0;
  for (size_t i = 0; i < s.streams.size(); ++i) bytes += r.bytes_when_lost(r.unit(), i);
  return std::max(once, bytes) / page;
}

// The same where the TLB holds a part of them (retention.h). Rows at a stride of 2^j pages share
// 2^-j of its sets.
double misses(const Streams& s, const ReuseModel& r, double page, const Level& buffer) {
  double bytes = 0, left = 1;
  for (size_t j = 0; j <= s.nest.loops.size() && left > kNegligible; ++j) {
    double size = 0, again = 0;
    for (size_t i = 0; i < s.streams.size(); ++i) {
      if (j <= s.streams[i].end_depth)
        size += (j == 0 ? r.unit().whole[i] : r.shapes()[i][j]).occupied_any_sets(page);
      again += j == 0 ? 0 : r.bytes_when_held(r.unit(), i, j);
    }
    const double h = hit_fraction(buffer, size, buffer.end);
    bytes += left * h * again;
    left *= 1 - h;
  }
  double all = 0;
  for (size_t i = 0; i < s.streams.size(); ++i) all += r.bytes_when_lost(r.unit(), i);
  return (bytes + left * all) / page;
}

// Do all pages that one unit touches stay? Then they were there before.
bool holds_all(const std::vector<Footprint>& whole, double page, double entries) {
  double size = 0;
  for (const Footprint& f : whole) size += f.bytes(page);
  return size <= entries * page;
}

bool holds_all(const std::vector<Footprint>& whole, double page, const Level& buffer) {
  double size = 0;
  for (const Footprint& f : whole) size += f.occupied_any_sets(page);
  return 1 - hit_fraction(buffer, size, buffer.end) <= kNegligible;
}

// Of all units; `held`: what one of them has room for.
template <class Held>
double misses_of_units(const ir::Program& p, const Streams& s, const Machine& m, double page,
                       const Held& held) {
  const double units = std::min(m.units, static_cast<double>(ir::group_count(p)));
  std::vector<Footprint> whole;
  for (const Stream& stream : s.streams) whole.push_back(unit_footprint(p, s, stream, units, page));
  if (holds_all(whole, page, held)) return 0;
  const std::vector<double> any;
  return misses(s, ReuseModel(p, s, m, any, page, 1), page, held) * units;
}

}  // namespace

double tlb_misses(const ir::Program& p, const Streams& s, const Machine& m) {
  return m.tlb_entries > 0 ? misses_of_units(p, s, m, m.page, m.tlb_entries) : 0;
}

double page_walks(const ir::Program& p, const Streams& s, const Machine& m) {
  return m.second_tlb.capacity.value > 0 ? misses_of_units(p, s, m, m.second_tlb.line, m.second_tlb)
                                         : 0;
}

}  // namespace assay::model
