#include "codegen/walked.h"

#include <algorithm>
#include <set>
#include <utility>

namespace assay::codegen {
namespace {

struct Place {
  Walked pointer;
  std::set<int64_t> constants;
};

class Finder {
 public:
  Finder(const ir::Kernel& kernel, int var) : kernel_(kernel), var_(var) {}

  // False: there is something else in the block than values computed.
  bool read(const ir::Block& block) {
    return std::all_of(block.begin(), block.end(), [&](const ir::Stmt& s) {
      if (const auto* assign = std::get_if<ir::Assign>(&s.node)) {
        add(assign->value);
        return true;
      }
      return std::holds_alternative<ir::Declare>(s.node) || std::holds_alternative<ir::Prefetch>(s.node);
    });
  }

  std::vector<Walked> found() const {
    std::vector<Walked> out;
    for (const Place& p : places_)
      if (p.constants.size() > 1) out.push_back(p.pointer);
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
    if (!has_pointer(kernel_.buffers[static_cast<size_t>(v.id)]) || !ir::depends_on(v.index, var_)) return;
    Walked pointer{v.id, v.index};
    const int64_t constant = std::exchange(pointer.place.offset, 0);
    auto at = std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.pointer == pointer; });
    if (at == places_.end()) at = places_.insert(at, {std::move(pointer), {}});
    at->constants.insert(constant);
  }

  const ir::Kernel& kernel_;
  int var_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<Walked> walked_pointers(const ir::Kernel& kernel, const ir::For& loop) {
  Finder finder(kernel, loop.var);
  if (!finder.read(loop.body)) return {};
  return finder.found();
}

}  // namespace assay::codegen
