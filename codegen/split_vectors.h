// The traversal that legalise and one_lane share: every vector becomes pieces, and each statement
// about a vector becomes one statement per piece. Internal to codegen.
#pragma once

#include <vector>

#include "ir/kernel.h"

namespace assay::codegen {

class SplitVectors {  // invariant: pieces_of_[r] are registers of out_
 public:
  explicit SplitVectors(const ir::Kernel& kernel) : kernel_(kernel), out_(kernel) {}
  virtual ~SplitVectors() = default;
  SplitVectors(const SplitVectors&) = delete;
  SplitVectors& operator=(const SplitVectors&) = delete;

  ir::Kernel run();

 protected:
  struct Shape {
    int pieces = 1;  // of a vector
    int lanes = 1;   // of a piece
  };
  virtual Shape shape_of(int lanes, ir::DType dtype) = 0;
  // Piece number `piece` of a value.
  virtual ir::Value value(const ir::Value& v, int piece) = 0;
  virtual void add_store(ir::Block& to, const ir::Store& s) = 0;
  virtual void add_atomic(ir::Block& to, const ir::AtomicAdd& s);
  virtual void add_device_barrier(ir::Block& to, const ir::DeviceBarrier& s);
  virtual void add_run(ir::Block& to, const ir::MoveRun& s);
  virtual void add_copy(ir::Block& to, const ir::Copy& s) { to.push_back({s}); }
  // Records a matrix instruction whose registers would be split.
  virtual void check_matrix(const ir::MatrixInstruction& i) = 0;
  virtual ir::Block block(const ir::Block& b);

  // Appends the statements that replace one.
  void add(ir::Block& to, const ir::Stmt& s);
  int piece_of(int reg, int piece) const {
    return pieces_of_[static_cast<size_t>(reg)][static_cast<size_t>(piece)];
  }

  const ir::Kernel& kernel_;
  ir::Kernel out_;

 private:
  void split_registers();
  void add(ir::Block& to, const ir::For& s);
  void add(ir::Block& to, const ir::If& s);
  void add(ir::Block& to, const ir::LetIndex& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Locate& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Assign& s);
  void add(ir::Block& to, const ir::Declare& s);
  void add(ir::Block& to, const ir::Store& s) { add_store(to, s); }
  void add(ir::Block& to, const ir::Copy& s) { add_copy(to, s); }
  void add(ir::Block& to, const ir::MoveRun& s) { add_run(to, s); }
  void add(ir::Block& to, const ir::Prefetch& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::Keep& s);
  void add(ir::Block& to, const ir::Barrier& s) { to.push_back({s}); }
  void add(ir::Block& to, const ir::AtomicAdd& s) { add_atomic(to, s); }
  void add(ir::Block& to, const ir::DeviceBarrier& s) { add_device_barrier(to, s); }
  void add(ir::Block& to, const ir::MatrixMultiply& s);
  void add(ir::Block& to, const ir::MoveFragment& s);
  void add(ir::Block& to, const ir::LoadFragment& s);

  std::vector<std::vector<int>> pieces_of_;  // per register of kernel_
};

}  // namespace assay::codegen
