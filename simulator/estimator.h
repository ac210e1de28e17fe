// The parts of one program's estimate, each in a file of its own (estimate_*.cpp). Internal to
// simulator/.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/bandwidth.h"
#include "model/streams.h"
#include "model/traffic.h"
#include "simulator/cache_lookup.h"
#include "simulator/core_tree.h"
#include "simulator/estimate.h"
#include "simulator/pipes.h"
#include "simulator/unit_cost.h"

namespace assay::simulator {

class Estimator {  // invariant: refers to a program and a machine that outlive it
 public:
  Estimator(const ir::Program& p, const model::Machine& m, const lower::Counts* counts,
            TermDetail detail);

  model::Estimate run(const CacheState& before, std::span<const Range> where);

  // Were its data in the nearest cache. All else only adds to it.
  double at_least();

 private:
  // `detail`: a function that says what the term is made of.
  template <class Detail>
  void add_term(const std::string& name, double seconds, const Detail& detail, double spread) {
    out_.terms.push_back({name, seconds, detail_ == TermDetail::full ? detail() : std::string()});
    spreads_.push_back(spread);
  }
  // The term just added, as a leaf of the tree.
  model::Part last_leaf(std::vector<model::Basis> basis) const {
    const model::Term& t = out_.terms.back();
    return model::leaf(t.name, t.seconds, t.detail, std::move(basis));
  }
  bool in_full() const { return detail_ == TermDetail::full; }
  void note_assumed(const model::Quantity& q, double seconds);

  // Pipes, load and store ports, issue slots, dependence chains.
  void in_core_time();
  // Second accesses of vectors that straddle a line: loads, stores.
  std::pair<double, double> straddling_accesses() const;
  // Where an argument is touched: its read's index, or the output's own axes.
  std::vector<ir::Index> index_of(int tensor) const;

  // Lines between the levels of memory.
  void transfer_time();
  // Bytes between levels l and l+1 that come from l+1 and no further.
  std::pair<double, double> bytes_from(size_t l) const;
  // Seconds that unprefetched lines and the begin of written runs take beyond streaming. A core has
  // so many misses outstanding (Little's law). At most what short runs showed, since some cores
  // fetch lines in pairs or know strides. `read`, `written`: bytes counted here, not at a level
  // behind.
  double unprefetched_wait(size_t l, double read, double written) const;
  struct Streamed {
    double in = 0, out = 0;  // bytes
    // Seconds: of all, beyond the loads and stores of the same lines, and without overlap.
    double all = 0, beyond = 0, waited = 0;
  };
  Streamed streamed_from(size_t l) const;
  // Lines of rows that share sets of the nearest cache, whose fills are serialised. A core works on
  // other things meanwhile.
  void set_conflict_time();
  // TLB misses, for which a core waits, though not with its arithmetic; page walks, for which its
  // loads wait unless lines from far memory are under way.
  void tlb_time();

  // A prefetcher that runs past the end of a run takes lines that another unit is about to write.
  // Where that was not measured, such lines go by way of the last cache, as other misses do. Lines
  // in no cache come from far memory anyway.
  void false_sharing_time();
  // Bytes that an instance of the level is to hold of all arguments.
  double held_bytes(const model::Level& level) const;
  // Dirty remote reads, dirty remote RFOs and upgrades, beyond the streaming of the same lines.
  void coherence_time();
  void add_coherence(const char* name, double bytes, const model::Quantity& rate, bool writes,
                     const char* what);

  // The energy of multiply-adds and bytes, at the power that the chip may draw for them; 0: not
  // known.
  double power_time();
  double wakeup_time(double body);
  void launch_time();

  const ir::Program& p_;
  const model::Machine& m_;
  const TermDetail detail_;
  const model::Streams streams_;
  const int slp_lanes_;  // scalar operations that are one instruction
  const int width_;      // of the vectors that are executed
  const lower::Counts counts_;
  const double share_;  // of the work, that the busiest unit has
  const Pipes pipes_;
  std::vector<model::LevelTraffic> traffic_;
  RemoteLines others_;
  double exposed_copies_ = 0;  // the part of copies that overlaps with no arithmetic
  double groups_ = 1, active_ = 1, fixed_ = 0;
  double moved_ = 1;            // of what memories move, the busiest unit's part
  double moved_by_others_ = 0;  // and each other unit's while it lasts
  UnitCost cost_;
  CoreLeaves leaves_;            // of the tree, as
  std::vector<LineTime> lines_;  // these: only where text is asked for
  std::vector<double> spreads_;
  model::Estimate out_;
};

}  // namespace assay::simulator
