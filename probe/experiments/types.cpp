// Throughput and latency of operations on other element types; multiply-adds in every form that the
// dialect has.
#include "probe/kernels/types.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/dialect.h"
#include "ir/element.h"
#include "probe/experiments/experiments.h"
#include "probe/inference/forms.h"
#include "probe/kernels/code.h"
#include "probe/sampling/own_kernels.h"
#include "runtime/source.h"

namespace assay::probe {
namespace {

constexpr double kRight = 1e-5;  // of a result: compilers may fuse, and drivers' functions round

struct Point {
  std::string name;
  int chains = 1, groups = 1;
};

Job job_of(const Session& s, int lanes, const Point& p, int out) {
  Job job;
  job.kernel = typed_kernel(p.name, lanes, p.chains);
  job.arguments = {{out, 0}};
  job.groups = p.groups;
  job.work = typed_steps(p.chains) * (s.device.threads ? p.groups : 1);
  job.most = kMaxIterations;
  job.target_s = 0.8e-3;
  return job;
}

double first_of(Bench& bench, ir::DType type, int out) {
  std::array<std::byte, 8> bytes{};
  bench.module().read({out, 0}, std::span(bytes).first(static_cast<size_t>(ir::bytes_of(type))));
  const double value = ir::load_element(type, bytes.data());
  return ir::numbers_in(type) == 1
             ? value
             : ir::unpack(ir::number_type(type), static_cast<uint32_t>(value), 0);
}

// A wrong result would still have a time.
void check(const Session& s, Bench& bench, const TypedOp& op, int lanes, int chains, int out) {
  const Job job = job_of(s, lanes, {typed_name(op), chains, 1}, out);
  const runtime::Launch l = bench.launch(job, checked_iterations(op));
  bench.run({&l, 1});
  const double expected =
      typed_result(op, checked_iterations(op) * typed_steps(chains) / chains, s.device.threads);
  const double found = first_of(bench, op.dtype, out);
  if (!(std::abs(found - expected) <= kRight * std::abs(expected)))
    fail({error(fmt::format("{} computed {}, expected {}", job.kernel, found, expected))});
}

// Kernels of multiply-adds that are all written in one form.
struct InForm {
  std::string name;
  int place = 0;
  std::unique_ptr<OwnKernels> own;
  int out = -1;
};

constexpr std::array<int, 2> kFormChains = {1, 8};

// A form that does not build, or that computes something else, becomes a fact.
std::unique_ptr<InForm> built(Session& s, const TypedOp& op, const std::string& name, int place,
                              int lanes) {
  const std::string key = typed_name(op);
  try {
    std::vector<ir::Kernel> kernels;
    for (const int chains : kFormChains)
      kernels.push_back(typed_chains(op, chains, lanes, s.device.threads));
    auto form = std::make_unique<InForm>(InForm{
        name, place,
        std::make_unique<OwnKernels>(s, std::move(kernels), hwdesc::NamedText{key, name}), -1});
    form->out = form->own->bench.allocate(int64_t{kSlots} * kSlotFloats * 8);
    for (const int chains : kFormChains) check(s, form->own->bench, op, lanes, chains, form->out);
    return form;
  } catch (const std::runtime_error& e) {
    const std::string text = e.what();
    s.fact(fmt::format("{}{} {}", kRefused, key, name), text.substr(0, text.find('\n')));
    return nullptr;
  }
}

}  // namespace

void run_forms(Session& s) {
  const std::string& dialect = runtime::dialect_of(s.device);
  const auto spoken = codegen::parse_dialect(codegen::dialect_text(dialect), dialect);
  if (!spoken || !spoken->forms.contains("fma")) return;  // it has one form of everything
  const std::vector<codegen::Form>& several = spoken->forms.at("fma");
  const KernelShape shape = shape_of(s.device);
  const int lanes = s.device.threads ? s.lanes.front() : s.lanes.back();
  std::vector<std::pair<std::string, std::unique_ptr<InForm>>> forms;
  for (const ir::DType dtype : kFormTypes) {
    const TypedOp op{"fma", dtype};
    const auto type = spoken->types.find(dtype);
    if (!usable(op, shape) || type == spoken->types.end() || type->second.only_moved) continue;
    for (size_t i = 0; i < several.size() && !out_of_time(s); ++i)
      if (auto form = built(s, op, several[i].name, static_cast<int>(i), lanes))
        forms.emplace_back(typed_name(op), std::move(form));
  }
  s.rounds(forms.size() * kFormChains.size(), [&](size_t i) {
    const auto& [key, form] = forms[i / kFormChains.size()];
    const int chains = kFormChains[i % kFormChains.size()];
    s.emit(form->own->bench.measure(kForms, key + " " + form->name,
                                    {{"lanes", lanes}, {"chains", chains}, {"place", form->place}},
                                    job_of(s, lanes, {key, chains, 1}, form->out)));
  });
}

void run_types(Session& s) {
  const KernelShape shape = shape_of(s.device);
  const int deeper = deeper_groups(s.known, s.device.threads);
  const int out = s.bench.allocate(int64_t{std::max<int>(deeper, kSlots)} * kSlotFloats * 8);
  std::vector<Point> points;
  for (const TypedOp& op : kTypedOps) {
    if (!usable(op, shape)) continue;
    for (const int chains : kOpChains) {
      check(s, s.bench, op, s.known.lanes, chains, out);
      points.push_back({typed_name(op), chains,
                        chains == 1                                          ? 1
                        : is_narrow(op.dtype) || op.op == std::string("dot") ? deeper
                                                                             : s.known.groups});
    }
  }
  for (const TypedOp& op : kOverlapsFma)
    if (usable(op, shape)) points.push_back({beside_name(op), kPairChains, s.known.groups});
  s.rounds(points.size(), [&](size_t i) {
    const Point& p = points[i];
    Conditions at = {{"lanes", s.known.lanes}, {"chains", p.chains}};
    if (s.device.threads) at["groups"] = p.groups;
    s.emit(s.bench.measure("types", p.name, at, job_of(s, s.known.lanes, p, out)));
  });
}

}  // namespace assay::probe
