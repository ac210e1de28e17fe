// What caches hold of a nest's streams: the working set inside each depth, and the bytes that come
// again where it fits or not. Internal to model/.
#pragma once

#include <cstddef>
#include <vector>

#include "model/constants.h"
#include "model/machine.h"
#include "model/streams.h"

namespace assay::model {

inline constexpr double kNegligible = 1e-6;  // a fraction that does not count

class ReuseModel {  // invariant: refers to a program, its streams and a machine that outlive it
 public:
  // Bytes per stream and depth, as one unit or as the whole device sees them.
  struct View {
    std::vector<std::vector<double>> footprint;  // [stream][depth]
    // [stream][depth]: bytes fetched in all, where only what lies inside the depth stays.
    std::vector<std::vector<double>> refetched;
    double shrink = 1;             // part of streams that move with the outermost loop, at depth 0
    double at_once = 1;            // groups that run concurrently
    std::vector<Footprint> whole;  // [stream]: depth 0
  };

  // `most`: bytes per stream that its accesses can fetch; empty: not known. `line`: bytes of a
  // line, or of a page. `at_once`: groups that run concurrently on a unit.
  ReuseModel(const ir::Program& p, const Streams& s, const Machine& m,
             const std::vector<double>& most, double line, double at_once);

  const View& device() const { return device_; }
  const View& unit() const { return unit_; }
  const std::vector<std::vector<Footprint>>& shapes() const { return shapes_; }
  double concurrent_groups() const { return concurrent_groups_; }  // of all units

  // Copies in a scratchpad take no room in caches.
  bool in_scratchpad(size_t i) const;

  // Bytes that everything inside a depth touches, of all concurrent groups.
  double working_set(const View& v, size_t depth) const;

  // Capacity that stream `i` needs in a cache beside the others inside a depth. Its rows that map
  // to a few sets evict each other. Other arrays begin elsewhere in their pages and map to other
  // sets, but what passes through these takes a way.
  double capacity_needed(const View& v, size_t i, size_t depth, const Level& cache) const;

  // Bytes at which nothing is held any more. Rows that conflict in a cache with room elsewhere are
  // lost gradually, up to kConflictMissEnd times the capacity.
  double conflict_end(const View& v, size_t depth, const Level& cache, double instances) const;

  // Bytes of stream `i` where everything inside depth `j` is held, and where nothing is.
  double bytes_when_held(const View& v, size_t i, size_t j) const;
  double bytes_when_lost(const View& v, size_t i) const { return v.refetched[i].back(); }

  // Bytes of stream `i` where concurrent groups read what they share at about the same time. Rounds
  // of groups leave nothing to each other.
  double bytes_read_together(size_t i) const;

 private:
  // One unit works on 1/share of the outermost group loop. Of cores this is the average one: the
  // estimate accounts for the busiest.
  View view(double share, double at_once) const;
  // Never less than what a larger cache would fetch, never more than the accesses there are.
  std::vector<double> refetched(const View& v, size_t i,
                                const std::vector<double>& footprint) const;
  // How often the loops outside a depth run what is inside, in footprints of a stream. The last
  // tile of an axis may be partial, so a stream that moves with the axis touches less there.
  double passes(const View& v, const Stream& st, size_t depth) const;
  double part(const View& v, const Stream& st, size_t depth) const;
  // Different tiles of a stream that concurrent groups touch. Groups of all units follow each other
  // in the order of the nest, so loops that do not move the stream share its tiles. Those of one
  // unit may each touch another.
  double concurrent_tiles(const View& v, size_t i, size_t depth) const;
  const Footprint& rows_at(const View& v, size_t i, size_t depth) const;

  const ir::Program& p_;
  const Streams& s_;
  const Machine& m_;
  const std::vector<double>& most_;
  const double line_;
  double concurrent_groups_ = 1;
  std::vector<std::vector<Footprint>> shapes_;  // [stream][depth]
  View device_, unit_;
};

}  // namespace assay::model
