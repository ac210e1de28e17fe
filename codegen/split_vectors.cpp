#include "codegen/split_vectors.h"

#include <fmt/format.h>

#include <utility>

namespace assay::codegen {

ir::Kernel SplitVectors::run() {
  split_registers();
  out_.body = block(kernel_.body);
  return std::move(out_);
}

void SplitVectors::split_registers() {
  out_.registers.clear();
  for (const ir::Register& r : kernel_.registers) {
    if (r.fragment.instruction >= 0) {  // it stays whole
      pieces_of_.push_back({static_cast<int>(out_.registers.size())});
      out_.registers.push_back(r);
      continue;
    }
    const Shape shape = shape_of(r.lanes, r.dtype);
    std::vector<int> ids;
    for (int p = 0; p < shape.pieces; ++p) {
      ids.push_back(static_cast<int>(out_.registers.size()));
      out_.registers.push_back(
          {shape.pieces == 1 ? r.name : fmt::format("{}_{}", r.name, p * shape.lanes),
           r.dtype,
           shape.lanes,
           {}});
    }
    pieces_of_.push_back(std::move(ids));
  }
}

ir::Block SplitVectors::block(const ir::Block& b) {
  ir::Block to;
  for (const ir::Stmt& s : b) add(to, s);
  return to;
}

void SplitVectors::add(ir::Block& to, const ir::Stmt& s) {
  std::visit([&](const auto& node) { add(to, node); }, s.node);
}

void SplitVectors::add(ir::Block& to, const ir::For& s) {
  to.push_back({ir::For{s.var, s.limit, s.bounds, s.unroll, block(s.body)}});
}

void SplitVectors::add(ir::Block& to, const ir::If& s) {
  to.push_back({ir::If{s.conditions, block(s.then_body), block(s.else_body), s.own_function}});
}

void SplitVectors::add(ir::Block& to, const ir::Assign& s) {
  const auto& pieces = pieces_of_[static_cast<size_t>(s.reg)];
  if (kernel_.registers[static_cast<size_t>(s.reg)].fragment.instruction >= 0) {
    to.push_back({ir::Assign{pieces[0], s.value}});
    return;
  }
  for (size_t p = 0; p < pieces.size(); ++p)
    to.push_back({ir::Assign{pieces[p], value(s.value, static_cast<int>(p))}});
}

void SplitVectors::add(ir::Block& to, const ir::Declare& s) {
  ir::Declare d;
  for (const int id : s.regs) {
    const auto& pieces = pieces_of_[static_cast<size_t>(id)];
    d.regs.insert(d.regs.end(), pieces.begin(), pieces.end());
  }
  to.push_back({std::move(d)});
}

void SplitVectors::add_atomic(ir::Block& to, const ir::AtomicAdd& s) {
  const Shape shape = shape_of(s.value.lanes, s.value.dtype);
  for (int p = 0; p < shape.pieces; ++p)
    to.push_back(
        {ir::AtomicAdd{s.reg < 0 ? -1 : piece_of(s.reg, p), s.id,
                       s.index + p * shape.lanes * s.stride, s.stride, value(s.value, p)}});
}

// One register for each lane that is a thread; vectors of other lanes have no runs.
void SplitVectors::add_run(ir::Block& to, const ir::MoveRun& s) {
  ir::MoveRun own = s;
  for (int& r : own.regs) r = piece_of(r, 0);
  to.push_back({std::move(own)});
}

void SplitVectors::add_device_barrier(ir::Block& to, const ir::DeviceBarrier& s) {
  to.push_back({ir::DeviceBarrier{s.id, s.index, value(s.all, 0), piece_of(s.looks, 0)}});
}

// Its registers must stay whole: check_matrix() has recorded those that would be split.
void SplitVectors::add(ir::Block& to, const ir::MatrixMultiply& s) {
  const ir::MatrixInstruction& i = kernel_.instructions[static_cast<size_t>(s.instruction)];
  if (!i.opaque()) check_matrix(i);
  ir::MatrixMultiply out{s.instruction, s.d, s.a, s.b, s.c};
  for (std::vector<int>* regs : {&out.d, &out.a, &out.b, &out.c})
    for (int& r : *regs) r = piece_of(r, 0);
  to.push_back({std::move(out)});
}

void SplitVectors::add(ir::Block& to, const ir::MoveFragment& s) {
  to.push_back({ir::MoveFragment{s.store, piece_of(s.reg, 0), s.id, s.index, s.stride}});
}

void SplitVectors::add(ir::Block& to, const ir::LoadFragment& s) {
  check_matrix(kernel_.instructions[static_cast<size_t>(s.instruction)]);
  ir::LoadFragment out = s;
  for (int& r : out.regs) r = piece_of(r, 0);
  to.push_back({std::move(out)});
}

void SplitVectors::add(ir::Block& to, const ir::Keep& s) {
  for (const int id : pieces_of_[static_cast<size_t>(s.reg)]) to.push_back({ir::Keep{id}});
}

}  // namespace assay::codegen
