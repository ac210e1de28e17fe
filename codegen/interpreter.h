// The state of an interpretation. Internal to codegen/.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "codegen/interpret.h"

namespace assay::codegen {

using Lanes = std::vector<double>;

inline constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

struct Fault {  // thrown by an interpreter, from any depth of an expression
  std::string what;
};

struct Interpreter {
  const ir::Kernel& kernel;
  std::span<std::vector<double>> arguments;
  ExecutedCounts counts{};
  std::vector<std::vector<double>> scratch{};  // per buffer; empty for arguments
  std::vector<Lanes> registers{};              // of the wave that runs
  std::vector<int64_t> indices{};
  std::vector<char> active{};  // lanes for which a guard's conditions hold; empty: all
  // The first wave of a group runs ahead of the others from barrier to barrier. So a missing
  // barrier shows: the wave reads what others have not stored, or overwrites what they still read.
  struct Wave {
    std::vector<Lanes> registers;
    std::vector<int64_t> indices;
  };
  struct Step {  // statements of a block, or an assignment to a loop's variable
    const ir::Block* block = nullptr;
    size_t begin = 0, end = 0;
    int var = -1;
    int64_t value = 0;
  };
  std::vector<Wave> others{};
  std::vector<Step> pending{};                       // what the other waves have yet to do
  std::map<const ir::Stmt*, bool> barriers_found{};  // per statement: does it contain one

  void run_group(int64_t group);
  void run_waves(const ir::Block& block);
  void step(const Step& s);
  void step_ahead(const Step& s) {
    step(s);
    pending.push_back(s);
  }
  void catch_up();
  bool has_barrier(const ir::Stmt& s);
  bool has_barrier(const ir::Block& b) {
    return std::any_of(b.begin(), b.end(), [&](const ir::Stmt& s) { return has_barrier(s); });
  }
  int64_t trips(const ir::For& s) const;
  void run(const ir::Block& block);
  void run(const ir::For& s);
  void run(const ir::If& s) { run(hold(s.conditions) ? s.then_body : s.else_body); }
  void run(const ir::LetIndex& s) {
    indices[static_cast<size_t>(s.var)] = ir::evaluate(s.value, indices);
  }
  void run(const ir::Locate& s);
  void run(const ir::Assign& s) { registers[static_cast<size_t>(s.reg)] = value(s.value); }
  void run(const ir::Declare& s);
  void run(const ir::Store& s);
  void run(const ir::Copy& s);
  void run(const ir::MoveRun& s);
  void run(const ir::Prefetch&) {}
  void run(const ir::Keep&) {}
  void run(const ir::Barrier&) {}
  void run(const ir::AtomicAdd& s);
  void run(const ir::DeviceBarrier& s);
  void run(const ir::MatrixMultiply& s);
  void run(const ir::MoveFragment& s);
  void run(const ir::LoadFragment& s);

  bool hold(const std::vector<ir::Condition>& conditions) const;
  bool hold_in(int lane, const std::vector<ir::Condition>& conditions);
  bool by_lane(const std::vector<ir::Condition>& conditions) const;
  int64_t place(const ir::Index& index, int lane);
  int64_t begin_of_run(const ir::Index& index, int lane, int numbers);
  bool is_active(int lane) const {
    return active.empty() || active[static_cast<size_t>(lane)] != 0;
  }
  std::vector<double>& memory(int buffer);
  double& element(int buffer, int64_t at, const char* access, const ir::Index* index);
  double found(int buffer, int64_t at, const ir::Index* index);
  Lanes value(const ir::Value& v);
  double loaded(const ir::Value& v, double element) const;
  Lanes read(const ir::Value& v);
  double found_in(const ir::Value& v, int64_t at);
  Lanes guard(const ir::Value& v);
  Lanes indirect(const ir::Value& v);
  Lanes operation(const ir::Value& v);
  Lanes insert(const ir::Value& v);
  void count(ir::ValueOp op);
};

}  // namespace assay::codegen
