// Translates a loop kernel into Code. Internal to code.cpp and translate_*.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "runtime/virtual/code.h"

namespace assay::runtime::simulated {

class Translator {
 public:
  Translator(const ir::Kernel& kernel, int width) : k_(kernel) {
    code_.name = kernel.name;
    code_.width = width;
    code_.lane = kernel.lane;
    code_.vars = static_cast<int>(kernel.index_names.size());
    code_.buffers = kernel.buffers;
    code_.places_of.resize(kernel.index_names.size());
    for (const ir::Register& r : kernel.registers)
      code_.regs.push_back({r.dtype, lanes_of(r.lanes), true});
    meaning_.resize(kernel.index_names.size());
  }

  Result<Code> run();

 private:
  int lanes_of(int lanes) const { return code_.width > 1 ? code_.width : lanes; }
  void fail(const std::string& what) {
    diags_.push_back(error(fmt::format("kernel '{}': {}", k_.name, what)));
  }
  void check_types();
  Op& emit(OpKind kind) {
    code_.ops.emplace_back();
    code_.ops.back().kind = kind;
    return code_.ops.back();
  }
  int here() const { return static_cast<int>(code_.ops.size()); }

  Address address(const ir::Index& index);
  bool split_lane(ir::Index& index, Address& a);
  static bool by_lane(const Address& a) {
    return a.lane_step != 0 || a.slow >= 0 || a.offsets >= 0;
  }
  int place_of(const ir::Index& index);
  int tests_of(const std::vector<ir::Condition>& conditions);
  bool on_lane(const std::vector<ir::Condition>& conditions) const;

  // Op::stride of threads whose runs of `numbers` elements begin at this distance: 1 where they lie
  // one after the other.
  static int64_t step_in_runs(int64_t step, int numbers) {
    return step == numbers ? 1 : numbers > 1 && step == 1 ? 2 : step;
  }
  int run_register(int buffer, int numbers) {
    code_.regs.push_back(
        {k_.buffers[static_cast<size_t>(buffer)].dtype, code_.width * numbers, true});
    return static_cast<int>(code_.regs.size()) - 1;
  }
  int temporary(const ir::Value& v) {
    code_.regs.push_back({v.dtype, lanes_of(v.lanes), true});
    return static_cast<int>(code_.regs.size()) - 1;
  }
  // The i32 value of a register.
  static ir::Value register_of(int reg) {
    ir::Value v;
    v.op = ir::ValueOp::reg;
    v.dtype = ir::DType::i32;
    v.id = reg;
    return v;
  }
  int operand(const ir::Value& v);
  void value(const ir::Value& v, int dst);
  void read(const ir::Value& v, int dst);
  void guard(const ir::Value& v, int dst);

  void add(const ir::Block& block) {
    const int declared = declared_;
    for (const ir::Stmt& s : block) std::visit([&](const auto& node) { add(node); }, s.node);
    declared_ = declared;
  }
  void add(const ir::For& s);
  void add(const ir::If& s);
  void add(const ir::LetIndex& s);
  void add(const ir::Locate& s);
  void add(const ir::Assign& s) { value(s.value, s.reg); }
  void add(const ir::Declare& s) {
    declared_ += static_cast<int>(s.regs.size());
    code_.most_registers = std::max(code_.most_registers, declared_);
  }
  void add(const ir::Store& s);
  void add(const ir::Copy& s);
  void add(const ir::MoveRun& s);
  void access_run(OpKind kind, int buffer, const ir::Index& index, int reg, int numbers);
  void add(const ir::Prefetch&) {}
  void add(const ir::Keep&) {}
  void add(const ir::Barrier&) { emit(OpKind::barrier); }
  void add(const ir::AtomicAdd& s);
  void add(const ir::DeviceBarrier& s);
  void add(const ir::MatrixMultiply& s);
  void add(const ir::MoveFragment& s);
  void add(const ir::LoadFragment& s);
  // `then` where the conditions hold, else `otherwise`; by masks if they differ between threads.
  template <class Then, class Else>
  void branch(const std::vector<ir::Condition>& conditions, const Then& then,
              const Else& otherwise) {
    const bool threads = on_lane(conditions);
    const int tests = tests_of(conditions), begin = here();
    emit(threads ? OpKind::mask : OpKind::unless).tests = tests;
    then();
    const int middle = here();
    emit(threads ? OpKind::unmask_else : OpKind::jump);
    otherwise();
    const auto at = [&](int op) -> Op& { return code_.ops[static_cast<size_t>(op)]; };
    at(begin).target = threads ? middle : middle + 1;
    if (threads) emit(OpKind::unmask);
    at(middle).target = threads ? here() - 1 : here();
  }

  const ir::Kernel& k_;
  Code code_;
  Diags diags_;
  // Per index variable that differs between threads: its expression. Empty: the variable itself.
  std::vector<ir::Index> meaning_;
  std::map<std::string, int> places_;
  std::vector<std::string> names_;  // of the variables, unique unlike the kernel's
  int declared_ = 0;
};

}  // namespace assay::runtime::simulated
