// One stream of operations: a unit that executes groups one after the other (vectors), or a group
// (threads). Computes values and times, and can stop after any operation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/virtual/code.h"
#include "runtime/virtual/core.h"
#include "runtime/virtual/hierarchy.h"
#include "runtime/virtual/paths.h"
#include "runtime/virtual/steady.h"
#include "runtime/virtual/values.h"

namespace assay::runtime::simulated {

// A buffer as a kernel sees it.
struct View {
  std::byte* data = nullptr;
  int64_t elements = 0;
  int64_t address = 0;
};

struct Machine {  // shared by all streams of a launch
  const Chip& chip;
  Hierarchy& hierarchy;
  Products& products;
  double hz = 1e9;
  double near_read = 0, near_write = 0, own_read = 0, own_write = 0;  // ticks per byte
  double own_latency = 0;
  double group_start = 0;                               // ticks
  int streams = 1;                                      // active
  double atomic_interval = 1, own_atomic_interval = 1;  // ticks between additions to one address
  double atomic_latency = 0, own_atomic_latency = 0;
  std::unordered_map<int64_t, double> atomics_free{};  // per address: when the next may begin
  Paths* paths = nullptr;
};

class Executor {  // invariant: pc_ is the next operation, -1: idle
 public:
  Executor(Machine& machine, const Code& code, Unit& unit, int unit_number, int partition,
           std::span<const View> arguments);

  void start(int64_t group, double at);   // pre: idle()
  void values_only() { timed_ = false; }  // from now on: no times, no cache accesses
  bool idle() const { return pc_ < 0; }
  int port() const { return port_; }  // of its unit's partition, to memory
  double time() const { return core_.time(); }
  double finished() const { return core_.finished(); }
  int64_t operations() const {
    return core_.operations() + extra_accesses_;
  }  // executed so far; a gather counts its accesses
  // Executes until its time reaches `until`, its group ends, or an iteration of a settled loop
  // ends.
  void run(double until);

  // If the current loop has settled: iterations left after this one, and ticks of each. 0 left: it
  // has not settled.
  int64_t settled_iterations() const { return settled_ < 0 ? 0 : left(settled_); }
  double settled_ticks() const { return loops_[static_cast<size_t>(settled_)].steady.iteration(); }
  bool touched_shared() const {
    return settled_far_;
  }  // the last iteration accessed levels that units share
  // Skips this many iterations of the settled loop. Returns their ticks.
  double skip(int64_t iterations);

  const std::string& fault() const { return fault_; }  // an access outside a buffer; "": none

 private:
  struct LoopState {
    int64_t end = 0, far = 0, operations = 0;
    std::vector<Hierarchy::Bytes> moved_before, moved;  // at the last iteration's begin and end
    Steady steady;
  };

  bool waits();
  void step();
  int64_t index(const Address& a) const {
    return (a.place >= 0 ? places_[static_cast<size_t>(a.place)] : 0) + a.offset;
  }
  int64_t lane_index(const Address& a, int lane) const;
  std::span<const int64_t> lane_numbers(const Op& op);
  void set_var(int var, int64_t value);
  void enter(const Op& op);
  void next(const Op& op);
  void check_settled(const Op& op);
  int64_t left(int loop) const;
  void settle(LoopState& state, const Loop& loop);
  bool holds(const Op& op, int lane) const;
  void mask(const Op& op);
  void update_active_waves();
  Mask masked() const { return masks_.empty() ? nullptr : masks_.back().active.data(); }
  bool is_active(int lane) const {
    return masks_.empty() || masks_.back().active[static_cast<size_t>(lane)] != 0;
  }

  double ready(int reg) const { return reg < 0 ? 0 : ready_[static_cast<size_t>(reg)]; }
  void set_ready(int reg, double at);
  void compute(const Op& op);
  void multiply(const Op& op);
  void load(const Op& op);
  void store(const Op& op);
  void locate(const Op& op);
  void atomic(const Op& op);
  void poll(const Op& op);
  bool positions(const Op& op);  // elements of all lanes, into at_; false: out of bounds
  void transfer_values(const Op& op, bool storing);
  void convert_values(const Op& op, bool storing);
  void load_packed(const Op& op);
  void store_runs(const Op& op);
  double access(const Op& op, AccessKind kind, double start);
  double through_first_level(int64_t first, int64_t last, AccessKind kind, double start);
  double through_path(const Op& op, int path, double start);
  void sum_texels(const Op& op);
  bool positions_of_texels(const Op& op);  // outside of the image: by its border mode
  double own_memory(const Op& op, AccessKind kind, double start);
  void extrapolate_values(const Loop& loop, int64_t iterations);

  struct Masked {
    std::vector<uint8_t> outer, active;
  };

  Machine& machine_;
  const Code& code_;
  Core core_;
  int port_;
  Registers registers_;
  std::vector<View> views_;
  std::vector<std::byte> scratch_;
  std::vector<int64_t> vars_, places_;
  std::vector<int64_t> numbers_;  // of lanes
  std::vector<double> ready_;
  std::vector<LoopState> loops_;
  std::vector<Masked> masks_;
  std::vector<int64_t> at_;   // element of each lane
  std::vector<int> zeros_;    // lanes outside of an image that read 0
  bool consecutive_ = false;  // elements are consecutive, or all the same
  int64_t stride_ = 1;        // of consecutive_: 1 or 0
  int pc_ = -1, settled_ = -1;
  bool settled_far_ = false, settled_now_ = false, timed_ = true;
  double index_ready_ = 0;
  int64_t extra_accesses_ = 0;  // beyond the first of each operation
  std::string fault_;
};

}  // namespace assay::runtime::simulated
