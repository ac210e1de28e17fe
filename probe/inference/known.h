// What later experiments need of earlier ones, inferred from the observations so far. Everything
// has a usable default, so that one failed experiment does not stop the others.
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
  double clock_hz = 0;   // 0: not known
  bool threads = false;  // lanes are threads
  double units = 1;      // among which totals are divided; 1 where units have queues
  // As many of a GPU, if groups that ran at once were one to a unit (units_that_ran).
  double most_units = 1;
  int groups = 1;         // concurrent ones that reach the highest multiply-add rate
  int memory_groups = 1;  // more of them, for experiments that wait for memory
  // The fewest of these that read far memory as fast as any; 0: not measured.
  int streaming_groups = 0;
  // Groups of one wave that are resident on all units; 0: not known, or more than were asked for.
  int resident = 0;
  int64_t most_iterations = int64_t{1} << 40;  // of a loop that the device runs to its end
  int lanes = 4;                 // f32 lanes of the vectors with the highest multiply-add rate
  int chains = 8;                // independent chains that reach it
  double line = 64;              // bytes
  Levels levels;                 // from the chase; empty before it
  std::vector<Sharing> sharing;  // per cache of `levels`
  // Bytes of a cyclic scan by all units that the last cache held; 0: no sweep.
  double held = 0;
  // Bytes that the last cache may hold, by whatever says most: co-tenants hide some of it.
  double cached = 0;

  // The largest cache that is private wherever the host places the units; nullopt: none.
  std::optional<size_t> own_cache() const;

  // At most so many groups, the same number on all units, in full rounds of resident ones: a last
  // round of a few groups takes as long as a full one.
  int even(int n) const;
  // At most so many, where each unit has a divisor of the number that keeps it busy, so that its
  // partitions have as many each, too.
  int level(int n) const;
};

// The clock of a core that only adds, Hz: of the clock experiment, or of the sentinels of all other
// experiments if these mostly ran faster. Then co-tenants disturbed the clock experiment, or the
// clock had not risen yet. nullopt: none ran.
std::optional<Measured> free_clock(const Observations& all);

// Summary of what scales with the core's clock: blocks at different clocks as if they had run at
// one. Threads' sentinels are as noisy as the load they run with, so their blocks stay unscaled.
std::optional<Summary> summarize_at_clock(const Known& known, std::span<const Observation> blocks,
                                          Estimator estimator);

// What the system says of its i-th cache, where the device is the system's processor; else "".
std::string declared_cache(const Observations& all, size_t i);
double declared_bytes(const Observations& all, size_t i);  // of it; 0: not declared

size_t declared_caches(const Observations& all);

// The line size of the first cache, by the best looks at two touches at a distance. The declared
// one where no distance shows a clear step, as where prefetchers fetch neighbours. 0: unknown.
struct LineSize {
  double bytes = 0;
  bool declared = false;
  double shown = 0;  // the distance of an unclear step; 0: there is none
};
LineSize line_by_pairs(const Observations& all);

// "48K, shared by CPUs 0", "1024K", "40 MiB": what systems write; nullopt: no size.
std::optional<double> size_in(const std::string& text);

// Multiply-add rate of all units over that of one; nullopt: not measured.
std::optional<double> units_speedup(const Observations& all);
// False: all of them together do clearly less than each alone would.
bool units_are_real(const Observations& all);
// Least speedup per unit; below, units share a core or were kept waiting.
inline constexpr double kRealUnits = 0.75;

Known known_from(const Observations& all);

// Concurrent groups that each fill a unit, or as much of it as a group may; 0: unknown. The second:
// the declared units, if groups are a multiple of them.
int units_that_ran(const Observations& all);
int units_from(const Observations& all);

// The core's clock while vectors of `lanes` execute `load` (kTickLoads), when the sentinel beside
// it shows `beside` (0: any). 0: not measured.
double clock_under(const Observations& all, const std::string& load, double lanes, double beside);

// Rates by lanes, best over the number of chains: elements per second.
struct LaneRate {
  int lanes = 0, chains = 0;
  double elements_per_second = 0;
};
std::vector<LaneRate> lane_rates(const Observations& all);

// Of these, ascending, the widths that pay: each faster than the one before. The instruction set's
// whole registers are the last if they are as fast, since they take half as many instructions. What
// the first rounds decided stays (kVectorLanes), since later experiments use that width alone.
inline constexpr const char* kVectorLanes = "vector_lanes";  // a fact of the journal
inline constexpr const char* kUnrecorded = "unrecorded";  // another: why no launches are recorded
std::vector<LaneRate> lane_modes(const Observations& all);

// Architectural vector registers of the widest extension.
struct Isa {
  const char* name;
  int registers, bytes;  // of each; 0: the implementation's choice
};
std::optional<Isa> isa_of(const Observations& all);

// The curve of the chase: one node per line, a random single cycle. Without strides other than the
// line, and without blocks at another clock than most where it changed.
std::vector<Observation> chase_blocks(const Observations& all);
bool is_chase(const Observation& o);  // of that curve, at any clock

// select() of an experiment, and the same of its later looks.
std::vector<Observation> all_looks(const Observations& all, const std::string& experiment,
                                   const std::string& what, const Conditions& at = {});

// The curve of the best look (block) at each footprint, since disturbance only slows down. Of
// threads the curve of all samples: a device's timestamps deviate both ways.
std::vector<CurvePoint> latency_curve(const Observations& all);

}  // namespace assay::probe
