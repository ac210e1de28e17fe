// What simulating a plan does for each step, whatever runs beside it. Internal to simulator/.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/producers.h"
#include "simulator/cache_lookup.h"
#include "simulator/estimate.h"

namespace assay::simulator {

constexpr int kPassesBefore = 12;  // of a plan, after which hits and misses are stationary

// Storage of each tensor of the step's program.
std::vector<Range> where_of(const ir::Plan& plan, const ir::Step& step);

// The steps of a plan, on the whole chip or on a part of its units. Those of one program that find
// the same in the caches are estimated once.
class PlanSteps {  // invariant: refers to a plan that outlives it; all machines are parts of one
                   // chip
 public:
  explicit PlanSteps(const ir::Plan& plan);

  // On the units of `m`, with the code that was evicted since the step's program ran.
  model::Estimate estimate(const ir::Step& s, const model::Machine& m, const CacheState& state,
                           TermDetail detail);
  // The caches after a step that took so long.
  CacheState leave(const ir::Step& s, const model::Machine& m, CacheState state, double seconds);

 private:
  struct Place {  // a program, or one of several that share groups, on some units
    int program = 0, first = 0, units = 0, member = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Found {  // and what it finds, or each program that shares its groups
    Place place;
    TermDetail detail = TermDetail::none;
    std::vector<model::CachedFractions> held;
    RemoteLines remote;
    auto operator<=>(const Found&) const = default;
  };
  const Operands& operands_of(const Place& at, const ir::Program& p, const model::Machine& m);
  const std::vector<ir::Member>& members_of(int program);
  model::Estimate of_program(const ir::Step& s, const model::Machine& m, const CacheState& state,
                             TermDetail detail);

  const ir::Plan& plan_;
  std::map<int, std::vector<ir::Member>> members_;  // per program that has producers
  std::map<Place, Operands> operands_;
  std::map<Found, model::Estimate> known_;
  std::vector<int> uses_;  // steps of each program
};

// Do two passes leave the same caches? Then all further ones do.
bool alike(const CacheState& a, const CacheState& b);

// Steps that a run leaves out: of each condition those of the side that takes less. `seconds`: per
// step. None where the kernels of the machine do not look at conditions.
std::vector<bool> left_out(const ir::Plan& plan, const model::Machine& m,
                           std::span<const double> seconds);

// Adds a step's estimate to the plan's. `low`, `high`: distances to the ends of the interval.
void add(model::Estimate& total, const model::Estimate& e, double& low, double& high);

// The interval and the bound of a plan's estimate.
void finish(model::Estimate& total, double low, double high);

// A plan with a schedule.
PlanEstimate simulate_schedule(const ir::Plan& plan, const model::Machine& m, TermDetail detail);

// A plan with phases. Pre: m.merges, or m.beside_launch is known; lanes are threads.
PlanEstimate simulate_phases(const ir::Plan& plan, const model::Machine& m, TermDetail detail);

}  // namespace assay::simulator
