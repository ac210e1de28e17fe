#include "codegen/register_pinning.h"

namespace assay::codegen {
namespace {

// What the statements of a kernel do with each register.
class Reader {  // invariant: each vector has an element per register
 public:
  explicit Reader(size_t registers) : assigned_(registers), uses_(registers), loaded_(registers) {}

  void read(const ir::Block& block, int loop) {
    for (const ir::Stmt& s : block) std::visit([&](const auto& node) { read(node, loop); }, s.node);
  }

  std::vector<bool> pinned() const {
    std::vector<bool> out(uses_.size());
    for (size_t r = 0; r < out.size(); ++r)
      out[r] = loaded_[r] && assigned_[r] == 1 && uses_[r] > 1;
    return out;
  }

 private:
  static bool is_load(const ir::Value& v) {
    using enum ir::ValueOp;
    return v.op == load || v.op == splat || v.op == gather;
  }

  static bool varies_with(const ir::Value& v, int loop) {
    return loop >= 0 && ir::depends_on(v.index, loop);
  }

  void read(const ir::For& s, int) { read(s.body, s.var); }

  void read(const ir::If& s, int loop) {
    read(s.then_body, loop);
    read(s.else_body, loop);
  }

  void read(const ir::Assign& s, int loop) {
    const auto r = static_cast<size_t>(s.reg);
    ++assigned_[r];
    const ir::Value& from = s.value.op == ir::ValueOp::guard ? s.value.args[0] : s.value;
    loaded_[r] = is_load(from) && varies_with(from, loop);
    use(s.value);
  }

  void read(const ir::Store& s, int) { use(s.value); }

  void read(const ir::AtomicAdd& s, int) {
    if (s.reg >= 0) ++assigned_[static_cast<size_t>(s.reg)];
    use(s.value);
  }

  void read(const ir::MatrixMultiply& s, int) {
    for (const std::vector<int>* regs : {&s.a, &s.b, &s.c})
      for (const int r : *regs) ++uses_[static_cast<size_t>(r)];
    for (const int r : s.d) ++assigned_[static_cast<size_t>(r)];
  }

  void read(const ir::LoadFragment& s, int) {
    for (const int r : s.regs) ++assigned_[static_cast<size_t>(r)];
  }

  void read(const ir::MoveRun& s, int) {
    for (const int r : s.regs) ++(s.store ? uses_ : assigned_)[static_cast<size_t>(r)];
  }

  template <class Other>
  void read(const Other&, int) {}

  void use(const ir::Value& v) {
    if (v.op == ir::ValueOp::reg) ++uses_[static_cast<size_t>(v.id)];
    for (const ir::Value& a : v.args) use(a);
  }

  std::vector<int> assigned_, uses_;
  std::vector<bool> loaded_;
};

}  // namespace

std::vector<bool> pinned_registers(const ir::Kernel& kernel) {
  Reader reader(kernel.registers.size());
  reader.read(kernel.body, -1);
  return reader.pinned();
}

}  // namespace assay::codegen
