#include "lower/join_kernels.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/producers.h"
#include "lower/build.h"
#include "lower/group_scratch.h"
#include "lower/nest.h"

namespace assay::lower {

namespace {

// A kernel's statements with the numbers of another kernel.
class Renumbered {
 public:
  std::vector<int> vars, regs, buffers;
  std::vector<int64_t> places;  // of buffers, in elements of the one that holds them
  int instructions = 0;         // of the other kernel, before these

  ir::Block block(const ir::Block& from) const {
    ir::Block out;
    for (const ir::Stmt& s : from)
      out.push_back(
          std::visit([&](const auto& node) { return ir::Stmt{statement(node)}; }, s.node));
    return out;
  }

 private:
  int var(int v) const { return v < 0 ? v : vars[static_cast<size_t>(v)]; }
  int reg(int r) const { return r < 0 ? r : regs[static_cast<size_t>(r)]; }
  int buffer(int b) const { return b < 0 ? b : buffers[static_cast<size_t>(b)]; }
  int instruction(int i) const { return i < 0 ? i : i + instructions; }

  ir::Index index(const ir::Index& i) const {
    return ir::substitute(i, [&](int v) { return ir::variable(var(v)); });
  }
  ir::Index index_in(int buffer, const ir::Index& i) const {
    const int64_t place = buffer < 0 ? 0 : places[static_cast<size_t>(buffer)];
    return place == 0 ? index(i) : index(i) + place;
  }
  std::vector<int> all_regs(std::vector<int> some) const {
    for (int& r : some) r = reg(r);
    return some;
  }
  std::vector<ir::Condition> conditions(std::vector<ir::Condition> some) const {
    for (ir::Condition& c : some) c.index = index(c.index);
    return some;
  }
  ir::Value value(ir::Value v) const {
    const bool accesses =
        v.op == ir::ValueOp::load || v.op == ir::ValueOp::splat || v.op == ir::ValueOp::gather;
    v.index = accesses ? index_in(v.id, v.index) : index(v.index);
    v.id = v.op == ir::ValueOp::reg ? reg(v.id) : buffer(v.id);
    v.conditions = conditions(std::move(v.conditions));
    for (ir::Value& a : v.args) a = value(std::move(a));
    return v;
  }

  ir::For statement(ir::For s) const {
    s.var = var(s.var);
    for (ir::Index& b : s.bounds) b = index(b);
    s.body = block(s.body);
    return s;
  }
  ir::If statement(ir::If s) const {
    s.conditions = conditions(std::move(s.conditions));
    s.then_body = block(s.then_body);
    s.else_body = block(s.else_body);
    return s;
  }
  ir::LetIndex statement(const ir::LetIndex& s) const { return {var(s.var), index(s.value)}; }
  ir::Locate statement(ir::Locate s) const {
    s.var = var(s.var);
    s.index = index_in(s.id, s.index);
    s.id = buffer(s.id);
    return s;
  }
  ir::Assign statement(const ir::Assign& s) const { return {reg(s.reg), value(s.value)}; }
  ir::Declare statement(const ir::Declare& s) const { return {all_regs(s.regs)}; }
  ir::Store statement(ir::Store s) const {
    s.index = index_in(s.id, s.index);
    s.id = buffer(s.id);
    s.value = value(std::move(s.value));
    s.conditions = conditions(std::move(s.conditions));
    return s;
  }
  ir::Copy statement(ir::Copy s) const {
    for (ir::Run& r : s.runs)
      r = {index_in(s.from, r.from), index_in(s.to, r.to), conditions(std::move(r.conditions))};
    s.from = buffer(s.from);
    s.to = buffer(s.to);
    return s;
  }
  ir::MoveRun statement(ir::MoveRun s) const {
    s.regs = all_regs(std::move(s.regs));
    s.index = index_in(s.id, s.index);
    s.id = buffer(s.id);
    s.conditions = conditions(std::move(s.conditions));
    return s;
  }
  ir::Prefetch statement(const ir::Prefetch& s) const {
    return {buffer(s.id), index_in(s.id, s.index)};
  }
  ir::Keep statement(const ir::Keep& s) const { return {reg(s.reg)}; }
  ir::Barrier statement(const ir::Barrier& s) const { return s; }
  ir::AtomicAdd statement(ir::AtomicAdd s) const {
    s.reg = reg(s.reg);
    s.index = index_in(s.id, s.index);
    s.id = buffer(s.id);
    s.value = value(std::move(s.value));
    return s;
  }
  ir::DeviceBarrier statement(ir::DeviceBarrier s) const {
    s.index = index_in(s.id, s.index);
    s.id = buffer(s.id);
    s.all = value(std::move(s.all));
    s.looks = reg(s.looks);
    return s;
  }
  ir::MatrixMultiply statement(const ir::MatrixMultiply& s) const {
    return {instruction(s.instruction), all_regs(s.d), all_regs(s.a), all_regs(s.b), all_regs(s.c)};
  }
  ir::MoveFragment statement(ir::MoveFragment s) const {
    s.reg = reg(s.reg);
    s.index = index_in(s.id, s.index);
    s.id = buffer(s.id);
    return s;
  }
  ir::LoadFragment statement(ir::LoadFragment s) const {
    s.instruction = instruction(s.instruction);
    s.regs = all_regs(std::move(s.regs));
    s.index = index_in(s.id, s.index);
    s.id = buffer(s.id);
    return s;
  }
};

// The number of each axis' group tile, by a program's group loops.
std::map<int, ir::Index> tiles_of_group(const ir::Program& p, ir::Ranges ranges) {
  std::map<int, ir::Index> out;
  int64_t stride = 1;
  const Nest nest = nest_of(p);
  for (size_t i = nest.loops.size(); i-- > 0;) {
    const Loop& l = nest.loops[i];
    if (!l.group) continue;
    out[l.axis] = ir::modulo(ir::divide(ir::variable(0), stride, ranges), l.trips, ranges);
    stride *= l.trips;
  }
  return out;
}

// The number of a member's group, in that of the whole.
ir::Index group_of(const ir::Program& member, const std::vector<int>& axes,
                   const std::map<int, ir::Index>& tiles, ir::Ranges ranges) {
  ir::Index out = ir::constant(0);
  for (const Loop& l : nest_of(member).loops) {
    if (!l.group) continue;
    const auto tile = tiles.find(axes[static_cast<size_t>(l.axis)]);
    out = std::move(out) * l.trips;
    if (tile != tiles.end()) out = std::move(out) + tile->second;
  }
  return ir::simplify(out, ranges);
}

class Joiner {
 public:
  Joiner(const ir::Program& p, std::span<const ir::Kernel> kernels) : p_(p) {
    out_.name = p.name;
    out_.groups = ir::group_count(p);
    out_.index_names = {"group"};
    for (int t : ir::arguments_of(p)) add_argument(t);
    place_scratch(kernels);
  }

  // Of member `number`.
  void add(size_t number, const ir::Kernel& kernel, const ir::Member& member,
           const ir::Index& group) {
    const std::string prefix =
        number < p_.producers.size() ? "p" + std::to_string(number) + "_" : std::string();
    Renumbered names;
    names.instructions = static_cast<int>(out_.instructions.size());
    out_.instructions.insert(out_.instructions.end(), kernel.instructions.begin(),
                             kernel.instructions.end());
    for (size_t v = 0; v < kernel.index_names.size(); ++v) {
      const int var = static_cast<int>(v);
      int* shared = var == kernel.wave          ? &out_.wave
                    : var == kernel.lane        ? &out_.lane
                    : var == kernel.vector_lane ? &out_.vector_lane
                                                : nullptr;
      const bool is_group = v == 0 && group == ir::variable(0);
      if (is_group)
        names.vars.push_back(0);
      else if (shared != nullptr && *shared >= 0)
        names.vars.push_back(*shared);
      else
        names.vars.push_back(new_index(prefix + kernel.index_names[v]));
      if (shared != nullptr) *shared = names.vars.back();
    }
    for (ir::Register r : kernel.registers) {
      r.name = prefix + r.name;
      if (r.fragment.instruction >= 0) r.fragment.instruction += names.instructions;
      names.regs.push_back(static_cast<int>(out_.registers.size()));
      out_.registers.push_back(std::move(r));
    }
    name_buffers(number, kernel, member, names);
    out_.waves = std::max(out_.waves, kernel.waves);
    // Constants of one program's functions must not take registers from another's products.
    ir::If part{{}, {}, {}, true};
    if (names.vars[0] != 0) append(part.then_body, ir::LetIndex{names.vars[0], group});
    ir::Block body = names.block(kernel.body);
    std::move(body.begin(), body.end(), std::back_inserter(part.then_body));
    append(out_.body, std::move(part));
  }

  // Threads that have run member `number`, whose results others of the group read.
  void meet(size_t number) {
    append(out_.body, ir::Barrier{ir::is_stored(p_, ir::passed_tensor(p_.producers[number]))});
  }

  ir::Kernel take() { return std::move(out_); }

 private:
  int new_index(std::string name) {
    out_.index_names.push_back(std::move(name));
    return static_cast<int>(out_.index_names.size()) - 1;
  }

  void add_argument(int tensor) {
    const ir::Tensor& t = p_.graph.tensors[static_cast<size_t>(tensor)];
    ir::Buffer b;
    b.name = t.name;
    b.dtype = t.dtype;
    b.elements = ir::physical_elements(p_.layouts[static_cast<size_t>(tensor)], t.shape);
    b.written = tensor == p_.graph.outputs[0] || ir::is_stored(p_, tensor);
    b.read_back = ir::is_stored(p_, tensor);
    argument_of_[tensor] = static_cast<int>(out_.buffers.size());
    out_.buffers.push_back(std::move(b));
  }

  static bool is_scratch(const ir::Buffer& b) { return b.scope == ir::Scope::scratch; }

  // One buffer for all scratch of a type.
  void place_scratch(std::span<const ir::Kernel> kernels) {
    std::vector<std::vector<ScratchArray>> own;
    for (const ir::Kernel& k : kernels) {
      own.emplace_back();
      for (const ir::Buffer& b : k.buffers)
        if (is_scratch(b)) own.back().push_back({b.dtype, b.elements * ir::bytes_of(b.dtype)});
    }
    scratch_ = lower::place_scratch(p_, own);
    first_region_ = static_cast<int>(out_.buffers.size());
    for (const ScratchArray& r : scratch_.regions) {
      ir::Buffer b;
      b.name = scratch_.regions.size() == 1 ? "tiles" : "tiles_" + std::string(ir::name_of(r.type));
      b.dtype = r.type;
      b.elements = r.bytes / ir::bytes_of(r.type);
      b.scope = ir::Scope::scratch;
      out_.buffers.push_back(std::move(b));
    }
  }

  void name_buffers(size_t number, const ir::Kernel& kernel, const ir::Member& member,
                    Renumbered& names) const {
    const std::vector<int> arguments = ir::arguments_of(member.program);
    size_t own = 0;
    const auto in_scratch = [&](const ScratchPlace& place, ir::DType type) {
      names.buffers.push_back(first_region_ + place.region);
      names.places.push_back(place.offset / ir::bytes_of(type));
    };
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const ir::DType type = kernel.buffers[b].dtype;
      if (b >= arguments.size()) {
        in_scratch(scratch_.own[number][own++], type);
        continue;
      }
      const int tensor = member.tensors[static_cast<size_t>(arguments[b])];
      if (ir::is_passed(p_, tensor)) {
        const auto made =
            std::find_if(p_.producers.begin(), p_.producers.end(),
                         [&](const ir::Producer& r) { return ir::passed_tensor(r) == tensor; });
        in_scratch(scratch_.tiles[static_cast<size_t>(made - p_.producers.begin())], type);
        continue;
      }
      names.buffers.push_back(tensor < 0 ? -1 : argument_of_.at(tensor));
      names.places.push_back(0);
    }
  }

  const ir::Program& p_;
  ir::Kernel out_;
  std::map<int, int> argument_of_;  // of tensors of the whole
  GroupScratch scratch_;
  int first_region_ = 0;  // buffer
};

}  // namespace

ir::Kernel join_kernels(const ir::Program& p, std::span<const ir::Kernel> kernels, bool threads) {
  const std::vector<ir::Member> members = ir::members_of(p);
  const std::vector<std::vector<int>> axes = *ir::group_axes(p);
  const std::vector<ir::Range> ranges = {{0, ir::group_count(p) - 1}};
  const std::map<int, ir::Index> tiles = tiles_of_group(p, ranges);
  Joiner joined(p, kernels);
  for (size_t i = 0; i < members.size(); ++i) {
    const bool last = i + 1 == members.size();
    joined.add(i, kernels[i], members[i],
               last ? ir::variable(0) : group_of(members[i].program, axes[i], tiles, ranges));
    if (threads && !last) joined.meet(i);
  }
  return joined.take();
}

}  // namespace assay::lower
