// Rates and latencies of operations on other element types.
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "ir/element.h"
#include "probe/code.h"
#include "probe/experiments.h"
#include "probe/types.h"

namespace assay::probe {
namespace {

constexpr double kRight = 1e-5;  // of a result: compilers may fuse, and drivers' functions round

struct Point {
  std::string name;
  int chains = 1, groups = 1;
};

Job job_of(const Session& s, const Point& p, int out) {
  Job job;
  job.kernel = typed_kernel(p.name, s.known.lanes, p.chains);
  job.arguments = {{out, 0}};
  job.groups = p.groups;
  job.work = typed_steps(p.chains) * (s.device.threads ? p.groups : 1);
  job.most = kMaxIterations;
  job.target_s = 0.8e-3;
  return job;
}

double first_of(const Session& s, ir::DType type, int out) {
  std::array<std::byte, 8> bytes{};
  s.bench.module().read({out, 0}, std::span(bytes).first(static_cast<size_t>(ir::bytes_of(type))));
  const double value = ir::load_element(type, bytes.data());
  return ir::numbers_in(type) == 1 ? value : ir::unpack(ir::number_type(type), static_cast<uint32_t>(value), 0);
}

// A kernel that did not do what it was asked to would be measured all the same.
void check(Session& s, const TypedOp& op, int chains, int out) {
  const Job job = job_of(s, {typed_name(op), chains, 1}, out);
  const runtime::Launch l = s.bench.launch(job, checked_iterations(op));
  s.bench.run({&l, 1});
  const double expected = typed_result(op, checked_iterations(op) * typed_steps(chains) / chains, s.device.threads);
  const double found = first_of(s, op.dtype, out);
  if (!(std::abs(found - expected) <= kRight * std::abs(expected)))
    fail({error(fmt::format("{} computed {}, expected {}", job.kernel, found, expected))});
}

}  // namespace

void run_types(Session& s) {
  const KernelShape shape = shape_of(s.device);
  const int deeper = deeper_groups(s.known, s.device.threads);
  const int out = s.bench.allocate(int64_t{std::max<int>(deeper, kSlots)} * kSlotFloats * 8);
  std::vector<Point> points;
  for (const TypedOp& op : kTypedOps) {
    if (!usable(op, shape)) continue;
    for (const int chains : kOpChains) {
      check(s, op, chains, out);
      points.push_back({typed_name(op), chains, chains == 1 ? 1 : is_narrow(op.dtype) || op.op == std::string("dot") ? deeper : s.known.groups});
    }
  }
  for (const TypedOp& op : kBesideFma)
    if (usable(op, shape)) points.push_back({beside_name(op), kPairChains, s.known.groups});
  s.rounds(points.size(), [&](size_t i) {
    const Point& p = points[i];
    Conditions at = {{"lanes", s.known.lanes}, {"chains", p.chains}};
    if (s.device.threads) at["groups"] = p.groups;
    s.emit(s.bench.measure("types", p.name, at, job_of(s, p, out)));
  });
}

}  // namespace assay::probe
