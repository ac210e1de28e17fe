// One stream of operations: a unit that works through groups (vectors), or a wave that is one group
// (threads). Executes a kernel's operations, values and times, and can stop at any of them.
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

struct Machine {  // what all streams of a launch share
  const Chip& chip;
  Hierarchy& hierarchy;
  Products& products;
  double hz = 1e9;
  double near_read = 0, near_write = 0, own_read = 0, own_write = 0;  // ticks per byte
  double own_latency = 0;
  double group_start = 0;                    // ticks
  int streams = 1;                           // at work
  double atomic_turn = 1, own_conflict = 1;  // ticks that one addition has an address to itself
  double atomic_latency = 0, own_atomic_latency = 0;
  std::unordered_map<int64_t, double> taken{};  // addresses that are added to: until when
  Paths* paths = nullptr;
};

class Executor {  // invariant: pc_ is the operation that comes next
 public:
  Executor(Machine& machine, const Code& code, Unit& unit, int unit_number, int partition,
           std::span<const View> arguments);

  void start(int64_t group, double at);   // the stream is idle
  void values_only() { timed_ = false; }  // from now on: no time passes, no cache is touched
  bool idle() const { return pc_ < 0; }
  double time() const { return core_.time(); }
  double finished() const { return core_.finished(); }
  int64_t operations() const {
    return core_.operations() + apart_;
  }  // executed so far; lanes that lie apart are some each
  // Executes until its time has come to `until`, its group has ended, or an iteration of a settled
  // loop has.
  void run(double until);

  // The loop it is in has settled: iterations left after this one, and ticks of each; 0 left: it
  // has not.
  int64_t settled_iterations() const { return settled_ < 0 ? 0 : left(settled_); }
  double settled_ticks() const { return loops_[static_cast<size_t>(settled_)].steady.iteration(); }
  bool touched_shared() const {
    return settled_far_;
  }  // the last iteration reached what other units reach too
  // As if so many iterations had gone by. The ticks they took.
  double skip(int64_t iterations);

  const std::string& fault() const { return fault_; }  // an access outside a buffer; "": none

 private:
  struct LoopState {
    int64_t end = 0, far = 0, operations = 0;
    Steady steady;
  };

  bool waits();
  void step();
  int64_t index(const Address& a) const {
    return (a.place >= 0 ? places_[static_cast<size_t>(a.place)] : 0) + a.offset;
  }
  int64_t lane_index(const Address& a, int lane) const;
  void set_var(int var, int64_t value);
  void enter(const Op& op);
  void next(const Op& op);
  void look_at_loop(const Op& op);
  int64_t left(int loop) const;
  void settle(LoopState& state, const Loop& loop);
  bool holds(const Op& op, int lane) const;
  void mask(const Op& op);
  void look_at_waves();
  Mask masked() const { return masks_.empty() ? nullptr : masks_.back().active.data(); }
  bool is_active(int lane) const {
    return masks_.empty() || masks_.back().active[static_cast<size_t>(lane)] != 0;
  }

  double ready(int reg) const { return reg < 0 ? 0 : ready_[static_cast<size_t>(reg)]; }
  void get_ready(int reg, double at);
  void compute(const Op& op);
  void multiply(const Op& op);
  void load(const Op& op);
  void store(const Op& op);
  void locate(const Op& op);
  void atomic(const Op& op);
  void again(const Op& op);
  bool positions(const Op& op);  // of all lanes, into at_; false: outside the buffer
  void transfer_values(const Op& op, bool storing);
  double access(const Op& op, AccessKind kind, double start);
  double near(int64_t first, int64_t last, AccessKind kind, double start);
  double along(const Op& op, int path, double start);
  void sum_texels(const Op& op);
  bool places_of_texels(const Op& op);  // what lies outside is at its border's place in at_
  double own_memory(const Op& op, AccessKind kind, double start);
  void follow_values(const Loop& loop, int64_t iterations);

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
  std::vector<double> ready_;
  std::vector<LoopState> loops_;
  std::vector<Masked> masks_;
  std::vector<int64_t> at_;  // elements that lanes touch
  std::vector<int> zeros_;   // lanes that found nothing but 0 outside of an image
  bool together_ = false;    // they lie in a row, or are one
  int64_t stride_ = 1;       // from lane to lane, if they do
  int pc_ = -1, settled_ = -1;
  bool settled_far_ = false, news_ = false, timed_ = true;
  double index_ready_ = 0;
  int64_t apart_ = 0;  // accesses beyond the first of an operation
  std::string fault_;
};

}  // namespace assay::runtime::simulated
