// The state of verify(Kernel), whose parts are statements and values. Internal to ir/.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ir/kernel.h"

namespace assay::ir {

struct Checker {
  const Kernel& k;
  Diags diags;
  std::vector<bool> var_bound, var_visible, reg_visible;
  std::vector<bool>
      var_own;        // per variable: its value may differ between waves or lanes of a group
  int divergent = 0;  // enclosing conditions and loops that may differ between them

  explicit Checker(const Kernel& kernel)
      : k(kernel),
        var_bound(k.index_names.size(), false),
        var_visible(k.index_names.size(), false),
        reg_visible(k.registers.size(), false),
        var_own(k.index_names.size(), false) {}

  void fail(const std::string& what) {
    diags.push_back(error(fmt::format("kernel '{}': {}", k.name, what)));
  }
  bool in_range(int id, size_t size) const { return id >= 0 && static_cast<size_t>(id) < size; }

  bool buffer_ok(int id) {
    if (in_range(id, k.buffers.size())) return true;
    fail(fmt::format("there is no buffer {}", id));
    return false;
  }
  bool register_ok(int id) {
    if (!in_range(id, k.registers.size())) {
      fail(fmt::format("there is no register {}", id));
      return false;
    }
    if (reg_visible[static_cast<size_t>(id)]) return true;
    fail(fmt::format("register '{}' is used where it is not declared",
                     k.registers[static_cast<size_t>(id)].name));
    return false;
  }

  bool is_own(const Index& index) const;
  void check_index(const Index& index);
  void check_conditions(const std::vector<Condition>& conditions);
  void check_value(const Value& v);
  void check_leaf(const Value& v);
  void check_moved(const char* access, int id, DType value);
  void check_lanes(const Index& index);
  void check_lanes(const std::vector<Condition>& conditions);
  void check_numbers(const Value& v);
  void check_insert(const Value& v);
  void check_block(const Block& block);
  void bind(int var);
  void check_space(const Buffer& b);

  void check(const For& s);
  void check(const If& s);
  void check(const LetIndex& s);
  void check(const Locate& s);
  void check(const Assign& s);
  void check(const Declare& s);
  void check(const Store& s);
  void check(const Copy& s);
  void check(const MoveRun& s);
  void check_run(const Buffer& b, int numbers);
  void check(const Prefetch& s);
  void check(const Keep& s) { register_ok(s.reg); }
  void check(const Barrier&) {
    if (divergent > 0) fail("a barrier in divergent control flow");
  }
  void check(const AtomicAdd& s);
  void check(const DeviceBarrier& s);
  void check_added_to(int id, DType added);
  void check(const MatrixMultiply& s);
  void check(const MoveFragment& s);
  void check(const LoadFragment& s);
  const Fragment* opaque(int reg, const char* what);
  void check_fragment(const MatrixInstruction& i, const char* operand, const std::vector<int>& regs,
                      const Fragment& f);
};

}  // namespace assay::ir
