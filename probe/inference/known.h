// What later experiments need of earlier ones, inferred from the observations at hand. Everything
// has a usable default, so that one failed experiment does not take the others with it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probe/inference/knee.h"
#include "probe/inference/sharing.h"
#include "probe/inference/values.h"
#include "probe/observation.h"

namespace assay::probe {

struct Known {
  double clock_hz = 0;    // 0: not known
  bool threads = false;   // lanes are threads
  double units = 1;       // that share what is measured of all: 1 where units have queues
  int groups = 1;         // at a time that reach the highest multiply-add rate
  int memory_groups = 1;  // more of them where they wait for memory
  int streaming_groups =
      0;  // the fewest of those that were seen to read far memory as fast as any; 0: not measured
  int resident = 0;  // groups of one wave under way at once on all units; 0: not known, or more
                     // than anyone asks for
  int64_t most_iterations = int64_t{1} << 40;  // of a loop that the device runs to its end
  int lanes = 4;                 // f32 lanes of the vectors with the highest multiply-add rate
  int chains = 8;                // independent chains that reach it
  double line = 64;              // bytes
  Levels levels;                 // from the chase; empty before it
  std::vector<Sharing> sharing;  // per cache of `levels`
  double held =
      0;  // bytes of what all units stream that the last cache was seen to hold; 0: no sweep
  double cached = 0;  // bytes that the last cache may hold, by whatever tells most: others that use
                      // it hide some

  // The largest cache that is a unit's own whatever the host does; none: nullopt.
  std::optional<size_t> own_cache() const;

  // At most so many groups that all units have the same number of, in rounds of as many as are
  // under way at once: a last round of a few groups takes as long as a full one.
  int even(int n) const;
  // At most so many of which every unit has a divisor of those that keep it busy: the parts of a
  // unit have as many each, too.
  int level(int n) const;
};

// The clock of a core that adds and does nothing else, Hz: of the clock experiment, or of the
// additions beside all the others where those mostly ran faster, since others held that one up or
// the clock had not risen yet. nullopt: none ran.
std::optional<Measured> free_clock(const Observations& all);

// Of what goes by the core's clock: blocks of different clocks as if they had run at one. Threads'
// sentinels are as noisy as what they stand beside: those blocks are taken as they are.
std::optional<Summary> by_the_clock(const Known& known, std::span<const Observation> blocks,
                                    Estimator estimator);

// What the system says of its i-th cache, where the device is the processor it speaks of; else "".
std::string declared_cache(const Observations& all, size_t i);
double declared_bytes(const Observations& all, size_t i);  // of it; 0: not declared

size_t declared_caches(const Observations& all);

// The line of the first cache, by two touches a distance apart; the system's word where no distance
// sets them apart clearly, as where neighbours crowd the cache. 0: not told.
struct LineTold {
  double bytes = 0;
  bool declared = false;
};
LineTold line_told_by_pairs(const Observations& all);

// "48K, shared by CPUs 0", "1024K", "40 MiB": what systems write; nullopt: no size.
std::optional<double> size_in(const std::string& text);

// How many times the multiply-adds of one unit all of them reach; nullopt: not measured.
std::optional<double> units_reach(const Observations& all);
// False: all of them together were seen to do clearly less than each alone would.
bool units_are_real(const Observations& all);
inline constexpr double kRealUnits =
    0.75;  // of as many as there are: fewer share a core, or were kept waiting

Known known_from(const Observations& all);

// How many groups run side by side that each fill a unit, or as much of it as a group may; 0: not
// told.
int units_from(const Observations& all);

// The core's clock while vectors of `lanes` do `load` (kTickLoads), at a time when the sentinel
// beside it shows `beside` (0: any). 0: not measured.
double clock_under(const Observations& all, const std::string& load, double lanes, double beside);

// Rates by lanes, best over the number of chains: elements per second.
struct LaneRate {
  int lanes = 0, chains = 0;
  double elements_per_second = 0;
};
std::vector<LaneRate> lane_rates(const Observations& all);

// Of these, ascending, the widths that pay: each faster than the one before, and last the
// instruction set's whole registers, if they are as fast: they take half as many instructions. What
// the first rounds decided stays (kVectorLanes): later experiments measure at that width alone.
inline constexpr const char* kVectorLanes = "vector_lanes";  // a fact of the journal
inline constexpr const char* kUnrecorded = "unrecorded";  // another: why no launches are recorded
std::vector<LaneRate> lane_modes(const Observations& all);

// Architectural vector registers of the widest extension.
struct Isa {
  const char* name;
  int registers, bytes;  // of each; 0: the implementation's choice
};
std::optional<Isa> isa_of(const Observations& all);

// The curve of the chase: every node a line, random single cycle. All strides but the line's left
// out, and where the clock changed on the way, the blocks at another one than most.
std::vector<Observation> chase_blocks(const Observations& all);

}  // namespace assay::probe
