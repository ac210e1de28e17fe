// Rates and latencies of matrix instructions.
#include "probe/kernels/matrix.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "ir/element.h"
#include "probe/experiments/experiments.h"
#include "probe/kernels/code.h"
#include "probe/kernels/types.h"

namespace assay::probe {
namespace {

struct Point {
  const ir::MatrixInstruction* instruction;
  int chains = 1, groups = 1;
};

Job job_of(const Session& s, const Point& p, int out) {
  Job job;
  job.kernel = matrix_kernel(p.instruction->name, p.chains);
  job.arguments = {{out, 0}};
  job.groups = p.groups;
  job.work = matrix_steps(p.chains) * (s.device.threads ? p.groups : 1);
  job.most = kMaxIterations;
  job.target_s = 0.8e-3;
  return job;
}

// A wrong result would still have a time.
void check(Session& s, const Point& p, int out) {
  const runtime::Launch l = s.bench.launch(job_of(s, p, out), kMatrixChecked);
  s.bench.run({&l, 1});
  const ir::Fragment& c = p.instruction->c;
  std::array<std::byte, 4> bytes{};
  s.bench.module().read({out, 0}, bytes);
  double found = ir::load_element(c.element, bytes.data());
  if (!p.instruction->opaque() && c.per_register() > 1)
    found = ir::unpack(c.number, static_cast<uint32_t>(found), 0);
  const double expected =
      matrix_result(*p.instruction, kMatrixChecked * matrix_steps(p.chains) / p.chains);
  if (found != expected)
    fail({error(fmt::format("{} computed {}, expected {}", p.instruction->name, found, expected))});
}

}  // namespace

void run_matrix(Session& s) {
  const KernelShape shape = shape_of(s.device);
  // A simulator interprets every group; there the chains alone hide latency.
  const int groups = s.device.simulated ? s.known.groups : deeper_groups(s.known, s.device.threads);
  const int out = s.bench.allocate(int64_t{std::max<int>(groups, kSlots)} * kSlotFloats * 4);
  std::vector<Point> points;
  for (const ir::MatrixInstruction& i : shape.matrix)
    for (const int chains : matrix_chains(i)) {
      points.push_back({&i, chains, chains == 1 ? 1 : groups});
      check(s, {&i, chains, 1}, out);
    }
  s.fact("matrix_tried", std::to_string(shape.matrix.size()));
  if (points.empty()) return;
  s.rounds(points.size(), [&](size_t n) {
    const Point& p = points[n];
    Conditions at = {{"chains", p.chains}};
    if (s.device.threads) at["groups"] = p.groups;
    s.emit(s.bench.measure("matrix", p.instruction->name, at, job_of(s, p, out)));
  });
}

}  // namespace assay::probe
