#include "codegen/computed_types.h"

#include <variant>

namespace assay::codegen {
namespace {

struct Finder {
  const ir::Kernel& kernel;
  std::set<ir::DType> found{};

  void read(const ir::Value& v) {
    if (is_computed(v.op)) found.insert(v.dtype);
    for (const ir::Value& a : v.args) read(a);
  }
  void read(const ir::Block& block) {
    for (const ir::Stmt& s : block) std::visit([&](const auto& node) { read(node); }, s.node);
  }
  void read(const ir::For& s) { read(s.body); }
  void read(const ir::If& s) {
    read(s.then_body);
    read(s.else_body);
  }
  void read(const ir::Assign& s) { read(s.value); }
  void read(const ir::Store& s) { read(s.value); }
  void read(const ir::AtomicAdd& s) {
    found.insert(s.value.dtype);
    read(s.value);
  }
  void read(const ir::DeviceBarrier& s) { read(s.all); }
  void read(const ir::MatrixMultiply& s) {
    for (const auto* regs : {&s.a, &s.b, &s.c, &s.d})
      for (const int r : *regs) found.insert(kernel.registers[static_cast<size_t>(r)].dtype);
  }
  template <class Other>
  void read(const Other&) {}
};

}  // namespace

bool is_computed(ir::ValueOp op) {
  using enum ir::ValueOp;
  switch (op) {
    case constant:
    case reg:
    case load:
    case splat:
    case gather:
    case indirect:
    case guard:
    case insert:
    case opaque:
    case convert:
      return false;
    default:
      return true;
  }
}

std::set<ir::DType> computed_types(const ir::Kernel& kernel) {
  Finder finder{kernel};
  finder.read(kernel.body);
  return std::move(finder.found);
}

}  // namespace assay::codegen
