#include "codegen/opaque_pointers.h"

#include <algorithm>

namespace assay::codegen {
namespace {

struct Place {
  OpaquePointer first;
  int64_t last = 0;  // the highest constant offset
};

class Finder {
 public:
  Finder(const ir::Kernel& kernel, int var) : kernel_(kernel), var_(var) {}

  // False: the block does more than compute values, so it has no opaque pointers.
  bool read(const ir::Block& block) {
    return std::all_of(block.begin(), block.end(), [&](const ir::Stmt& s) {
      if (const auto* assign = std::get_if<ir::Assign>(&s.node)) {
        add(assign->value);
        return true;
      }
      return std::holds_alternative<ir::Declare>(s.node) ||
             std::holds_alternative<ir::Prefetch>(s.node);
    });
  }

  std::vector<OpaquePointer> found() const {
    std::vector<OpaquePointer> out;
    for (const Place& p : places_)
      if (p.last > p.first.place.offset) out.push_back(p.first);
    return out;
  }

 private:
  bool has_pointer(const ir::Buffer& b) const {
    return b.space == ir::Space::plain && (b.scope == ir::Scope::scratch || !b.written);
  }

  void add(const ir::Value& v) {
    using V = ir::ValueOp;
    if (v.op == V::guard) return;
    for (const ir::Value& a : v.args) add(a);
    if ((v.op != V::load && v.op != V::splat) || v.lanes == 1) return;
    if (!has_pointer(kernel_.buffers[static_cast<size_t>(v.id)]) || !ir::depends_on(v.index, var_))
      return;
    const auto at = std::find_if(places_.begin(), places_.end(), [&](const Place& p) {
      return p.first.buffer == v.id && p.first.place.terms == v.index.terms;
    });
    if (at == places_.end()) {
      places_.push_back({{v.id, v.index}, v.index.offset});
      return;
    }
    at->first.place.offset = std::min(at->first.place.offset, v.index.offset);
    at->last = std::max(at->last, v.index.offset);
  }

  const ir::Kernel& kernel_;
  int var_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<OpaquePointer> opaque_pointers(const ir::Kernel& kernel, const ir::For& loop) {
  Finder finder(kernel, loop.var);
  if (!finder.read(loop.body)) return {};
  return finder.found();
}

}  // namespace assay::codegen
