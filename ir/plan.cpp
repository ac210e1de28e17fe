#include "ir/plan.h"

#include <algorithm>

#include "ir/phases.h"

namespace assay::ir {

const std::string& display_name(const Step& s) { return s.label.empty() ? s.name : s.label; }

namespace {

struct PlanVerifier {
  const Plan& p;
  Diags diags;

  void fail(const std::string& message) {
    diags.push_back(error("plan " + p.name + ": " + message));
  }

  void check_tensor(const PlanTensor& t) {
    if (t.offset < 0 || t.bytes < 0) {
      fail("tensor " + t.name + " has a negative offset or size");
      return;
    }
    const int64_t room = t.kind == TensorKind::constant
                             ? (t.host ? p.host_weights_bytes : p.weights_bytes)
                             : (t.host ? p.host_bytes : p.arena_bytes);
    if (t.bytes > room || t.offset > room - t.bytes)
      fail("tensor " + t.name + " does not lie inside its storage");
    if (t.bytes < physical_elements(t.layout, t.shape) * bytes_of(t.dtype))
      fail("tensor " + t.name + " has less storage than its layout needs");
  }

  // The same elements in the same order: both are stored row-major.
  static bool reshaped(const PlanTensor& t, const Program& program, size_t w) {
    const Tensor& wanted = program.graph.tensors[w];
    const auto plain = [](const Layout& l, const std::vector<int64_t>& shape) {
      return l == row_major(static_cast<int>(shape.size()));
    };
    return plain(t.layout, t.shape) && plain(program.layouts[w], wanted.shape) &&
           physical_elements(t.layout, t.shape) == elements(wanted);
  }

  // What the program lays out lies inside the tensor's storage. What padding holds is no part's.
  static bool is_part(const PlanTensor& t, int64_t begin, const Program& program, size_t w) {
    const Layout& wanted = program.layouts[w];
    const int64_t all = physical_elements(t.layout, t.shape),
                  part = physical_elements(wanted, program.graph.tensors[w].shape);
    return !is_padded(t.layout) && !is_padded(wanted) && begin >= 0 && part <= all &&
           begin <= all - part && begin * bytes_of(t.dtype) % kPartAlignment == 0;
  }

  void check_arguments(const Step& s, const Program& program) {
    const std::vector<int> wanted = arguments_of(program);
    if (wanted.size() != s.arguments.size()) {
      fail("step " + s.name + " has " + std::to_string(s.arguments.size()) +
           " arguments, its program takes " + std::to_string(wanted.size()));
      return;
    }
    if (!s.begins.empty() && s.begins.size() != wanted.size()) {
      fail("step " + s.name + " has " + std::to_string(s.begins.size()) + " begins for its " +
           std::to_string(wanted.size()) + " arguments");
      return;
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (s.arguments[i] < 0 || s.arguments[i] >= static_cast<int>(p.tensors.size())) {
        fail("step " + s.name + " names a tensor that does not exist");
        continue;
      }
      const PlanTensor& t = p.tensors[static_cast<size_t>(s.arguments[i])];
      if (t.host) fail("step " + s.name + ": tensor " + t.name + " lies in host memory");
      const auto w = static_cast<size_t>(wanted[i]);
      const bool same = t.shape == program.graph.tensors[w].shape && t.layout == program.layouts[w];
      const int64_t begin = s.begins.empty() ? 0 : s.begins[i];
      const bool whole = begin == 0 && (same || reshaped(t, program, w));
      if (t.dtype == program.graph.tensors[w].dtype && whole) continue;
      if (!s.begins.empty() && t.dtype == program.graph.tensors[w].dtype) {
        if (!is_part(t, begin, program, w))
          fail("step " + s.name + ": what its program expects is no part of tensor " + t.name +
               " from element " + std::to_string(begin) +
               ": it must lie inside, begin at a multiple of " + std::to_string(kPartAlignment) +
               " bytes, and neither may have padding");
      } else {
        fail("step " + s.name + ": tensor " + t.name +
             " does not have the shape and layout its program expects");
      }
    }
  }

  void check_condition(const Step& s) {
    if (!s.needed_if) return;
    const int t = s.needed_if->tensor;
    if (t < 0 || t >= static_cast<int>(p.tensors.size()))
      fail("step " + s.name + " is needed by a tensor that does not exist");
    else if (p.tensors[static_cast<size_t>(t)].host)
      fail("step " + s.name + " is needed by tensor " + p.tensors[static_cast<size_t>(t)].name +
           ", which lies in host memory");
  }
};

}  // namespace

std::span<const int> written_by(const Plan& p, const Step& s) {
  const size_t n = p.programs[static_cast<size_t>(s.program)].graph.outputs.size();
  return std::span(s.arguments).last(n);
}

std::span<const int> read_by(const Plan& p, const Step& s) {
  return std::span(s.arguments).first(s.arguments.size() - written_by(p, s).size());
}

std::pair<int64_t, int64_t> bytes_of_argument(const Plan& p, const Step& s, size_t argument) {
  const PlanTensor& t = p.tensors[static_cast<size_t>(s.arguments[argument])];
  if (s.begins.empty()) return {t.offset, t.offset + t.bytes};
  const Program& program = p.programs[static_cast<size_t>(s.program)];
  const auto w = static_cast<size_t>(arguments_of(program)[argument]);
  const int64_t width = bytes_of(t.dtype), begin = t.offset + s.begins[argument] * width;
  return {begin,
          begin + width * physical_elements(program.layouts[w], program.graph.tensors[w].shape)};
}

Diags verify(const Plan& p) {
  PlanVerifier v{p, {}};
  for (const Program& program : p.programs) {
    const Diags diags = verify(program);
    v.diags.insert(v.diags.end(), diags.begin(), diags.end());
  }
  if (!v.diags.empty()) return v.diags;
  for (const PlanTensor& t : p.tensors) v.check_tensor(t);
  for (const Step& s : p.steps) {
    if (s.program < 0 || s.program >= static_cast<int>(p.programs.size())) {
      v.fail("step " + s.name + " names a program that does not exist");
      continue;
    }
    v.check_arguments(s, p.programs[static_cast<size_t>(s.program)]);
    v.check_condition(s);
  }
  const Diags transfers = verify_transfers(p);
  v.diags.insert(v.diags.end(), transfers.begin(), transfers.end());
  if (!p.schedule.empty() && !p.transfers.empty())
    v.fail("it has a schedule and transfers; steps between transfers run one after the other");
  if (!p.phases.empty() && !p.transfers.empty())
    v.fail("it has phases and transfers; steps between transfers run one after the other");
  if (!p.phases.empty() && !p.schedule.empty())
    v.fail("it has phases and a schedule; a plan has one of them");
  if (v.diags.empty() && !p.phases.empty())
    for (const PhaseFault& f : phase_faults(p)) v.diags.push_back(f.diag);
  if (v.diags.empty() && !p.schedule.empty())
    for (const ScheduleFault& f : schedule_faults(p)) v.diags.push_back(f.diag);
  return v.diags;
}

}  // namespace assay::ir
