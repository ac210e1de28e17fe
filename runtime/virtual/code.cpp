#include "runtime/virtual/code.h"

#include <fmt/format.h>

#include "codegen/one_lane.h"
#include "runtime/virtual/loops.h"
#include "runtime/virtual/translator.h"

namespace assay::runtime::simulated {

Result<Code> Translator::run() {
  check_types();
  add(k_.body);
  emit(OpKind::end);
  if (has_error(diags_)) return std::move(diags_);
  for (const ir::Buffer& b : k_.buffers)
    if (b.scope == ir::Scope::scratch)
      code_.scratch_bytes += (b.elements * ir::bytes_of(b.dtype) + 63) / 64 * 64;
  describe_loops(code_);
  return std::move(code_);
}

void Translator::check_types() {
  const auto check = [&](const std::string& name, ir::DType t) {
    if (t == ir::DType::boolean)
      fail(fmt::format("'{}' has elements of type {}, which are not simulated", name,
                       ir::name_of(t)));
  };
  for (const ir::Buffer& b : k_.buffers) check(b.name, b.dtype);
  for (const ir::Register& r : k_.registers) check(r.name, r.dtype);
}

int Translator::place_of(const ir::Index& index) {
  while (names_.size() < static_cast<size_t>(code_.vars))
    names_.push_back(fmt::format("v{}", names_.size()));
  const std::string text = ir::print(index, names_);
  if (const auto known = places_.find(text); known != places_.end()) return known->second;
  Place p;
  std::vector<bool> uses(static_cast<size_t>(code_.vars), false);
  for (const ir::Term& t : index.terms)
    if (t.var >= 0 && t.div == 1 && t.mod == 0)
      p.linear.push_back({t.var, t.coeff});
    else
      p.rest.terms.push_back(t);
  for (int v = 0; v < code_.vars; ++v)
    if (ir::depends_on(index, v))
      code_.places_of[static_cast<size_t>(v)].push_back(static_cast<int>(code_.places.size()));
  code_.places.push_back(std::move(p));
  return places_[text] = static_cast<int>(code_.places.size()) - 1;
}

// Moves the terms that depend on nothing but the thread's number to a table.
bool Translator::split_lane(ir::Index& index, Address& a) {
  ir::Index own, others;
  for (const ir::Term& t : index.terms)
    (ir::depends_on(ir::Index{{t}, 0}, code_.lane) ? own : others).terms.push_back(t);
  for (int v = 0; v < code_.vars; ++v)
    if (v != code_.lane && ir::depends_on(own, v)) return false;
  std::vector<int64_t> vars(static_cast<size_t>(code_.vars), 0), offsets;
  for (int lane = 0; lane < code_.width; ++lane) {
    vars[static_cast<size_t>(code_.lane)] = lane;
    offsets.push_back(ir::evaluate(own, vars));
  }
  a.offsets = static_cast<int>(code_.lane_offsets.size());
  code_.lane_offsets.push_back({std::move(offsets), std::move(own)});
  index = std::move(others);
  return true;
}

Address Translator::address(const ir::Index& written) {
  ir::Index index = ir::substitute(written, [&](int var) {
    const ir::Index& m = meaning_[static_cast<size_t>(var)];
    return m.terms.empty() && m.offset == 0 ? ir::variable(var) : m;
  });
  Address a;
  a.offset = index.offset;
  index.offset = 0;
  if (code_.lane >= 0 && ir::depends_on(index, code_.lane)) {
    const auto step = ir::stride_of(index, code_.lane);
    if (!step && split_lane(index, a)) {
      if (!index.terms.empty()) a.place = place_of(index);
      return a;
    }
    if (!step) {
      a.slow = static_cast<int>(code_.indices.size());
      code_.indices.push_back(index);
      return a;
    }
    a.lane_step = *step;
    std::erase_if(index.terms, [&](const ir::Term& t) {
      return t.var == code_.lane && t.div == 1 && t.mod == 0;
    });
  }
  if (!index.terms.empty()) a.place = place_of(index);
  return a;
}

bool Translator::on_lane(const std::vector<ir::Condition>& conditions) const {
  return std::any_of(conditions.begin(), conditions.end(), [&](const ir::Condition& c) {
    if (code_.lane < 0) return false;
    if (ir::depends_on(c.index, code_.lane)) return true;
    for (size_t v = 0; v < meaning_.size(); ++v)
      if (ir::depends_on(c.index, static_cast<int>(v)) && ir::depends_on(meaning_[v], code_.lane))
        return true;
    return false;
  });
}

int Translator::tests_of(const std::vector<ir::Condition>& conditions) {
  std::vector<Test> tests;
  for (const ir::Condition& c : conditions) tests.push_back({address(c.index), c.low, c.high});
  code_.tests.push_back(std::move(tests));
  return static_cast<int>(code_.tests.size()) - 1;
}

Result<Code> make_code(const ir::Kernel& kernel, int width) {
  if (Diags faults = ir::verify(kernel); has_error(faults)) return faults;
  if (width <= 1 && kernel.vector_lane >= 0)
    return error(
        fmt::format("kernel '{}': lanes of vectors at addresses of their own, which are "
                    "simulated where lanes are threads",
                    kernel.name));
  if (width <= 1) return Translator(kernel, 1).run();
  if (kernel.lane >= 0) return Translator(kernel, width).run();
  const auto threads = codegen::one_lane(kernel, width);
  if (!threads) return threads.diags();
  return Translator(*threads, width * kernel.waves).run();
}

}  // namespace assay::runtime::simulated
