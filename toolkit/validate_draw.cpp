#include "toolkit/validate_draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "simulator/estimate.h"

namespace assay::toolkit {
namespace {

constexpr int kPoolPerProgram = 20;  // uniform draws that the best tenth is taken from
constexpr int kMostRedraws = 20;     // per program, of kernels that were drawn before

}  // namespace

TrialDrawer::TrialDrawer(const compiler::TileGraph& tile_graph, const hwdesc::Target& target,
                         const model::Machine& machine, uint64_t seed)
    : machine_(machine),
      space_(tile_graph.problem, target, machine),
      name_(tile_graph.problem.graph.nodes[0].op),
      rng_(seed) {}

model::Estimate warm_estimate(const ir::Program& p, const model::Machine& machine,
                              const lower::Counts* counts) {
  const std::vector<simulator::Range> where = simulator::separate_ranges(p);
  const simulator::CacheState warm = simulator::after(p, machine, {}, where);
  const auto words = counts == nullptr ? simulator::TermDetail::none : simulator::TermDetail::full;
  return simulator::estimate(p, machine, warm, where, counts, words);
}

bool TrialDrawer::add(ir::Program program, Drawn drawn, std::vector<Trial>& to) {
  program.name = name_;
  std::optional<ir::Kernel> kernel = space_.lowered(program);
  if (!kernel) return false;
  Trial t;
  t.row.id = ir::hash_of(*kernel);
  if (!seen_.insert(t.row.id).second) return false;
  t.row.drawn = drawn;
  t.row.parameters = parameters_of(program);
  t.row.program = ir::print_program(program);
  const lower::Counts counts = lower::count(*kernel);
  t.row.estimate = warm_estimate(program, machine_, &counts);
  t.program = std::move(program);
  t.kernel = std::move(*kernel);
  to.push_back(std::move(t));
  return true;
}

void TrialDrawer::add_uniform(int count, std::vector<Trial>& to) {
  for (int i = 0, tries = kMostRedraws * count; i < count && tries > 0; --tries) {
    std::optional<ir::Program> p = space_.draw(rng_);
    if (!p) return;
    i += add(std::move(*p), Drawn::uniform, to) ? 1 : 0;
  }
}

std::vector<ir::Program> TrialDrawer::best_tenth(int pool) {
  std::vector<ir::Program> programs = space_.constructed();
  for (int i = 0; i < pool; ++i)
    if (std::optional<ir::Program> p = space_.draw(rng_)) programs.push_back(std::move(*p));
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < programs.size(); ++i)
    order.emplace_back(warm_estimate(programs[i], machine_, nullptr).seconds, i);
  std::sort(order.begin(), order.end());
  order.resize((order.size() + 9) / 10);
  std::vector<ir::Program> best;
  for (const auto& [seconds, i] : order) best.push_back(std::move(programs[i]));
  return best;
}

void TrialDrawer::add_best(int count, std::vector<Trial>& to) {
  std::vector<ir::Program> best = best_tenth(kPoolPerProgram * count);
  for (int i = 0; i < count && !best.empty();) {
    std::swap(best[rng_() % best.size()], best.back());
    i += add(std::move(best.back()), Drawn::best_tenth, to) ? 1 : 0;
    best.pop_back();
  }
}

std::vector<Trial> TrialDrawer::draw(const ir::Program& first_choice, int count) {
  std::vector<Trial> out;
  add(first_choice, Drawn::best_tenth, out);
  if (!out.empty()) out[0].row.first = true;
  add_best(count - count / 2 - static_cast<int>(out.size()), out);
  add_uniform(count - static_cast<int>(out.size()), out);
  return out;
}

std::vector<Trial> TrialDrawer::neighbours(const ir::Program& of) {
  std::vector<Trial> out;
  for (ir::Program& p : space_.neighbours(of)) add(std::move(p), Drawn::neighbour, out);
  return out;
}

std::string parameters_of(const ir::Program& p) {
  const std::vector<ir::Axis>& axes = p.graph.nodes[0].axes;
  const auto name = [&](int a) { return axes[static_cast<size_t>(a)].name; };
  std::string out = p.vector_axis < 0
                        ? "scalar"
                        : fmt::format("vector {}:{}", name(p.vector_axis), p.vector_width);
  for (const ir::TileLevel& tile : p.tiles) {
    std::string extents, order;
    for (size_t a = 0; a < axes.size(); ++a)
      if (axes[a].extent > 1) extents += fmt::format(" {}{}", axes[a].name, tile.extent[a]);
    for (int a : tile.order)
      if (axes[static_cast<size_t>(a)].extent > 1) order += (order.empty() ? "" : " ") + name(a);
    out += fmt::format(" |{} ({})", extents, order);
  }
  for (const ir::Staging& s : p.staging)
    out += fmt::format(" | copy of read {} at {}", s.read, s.level);
  for (size_t t = 0; t < p.layouts.size(); ++t)
    if (p.layouts[t].dims.size() > p.graph.tensors[t].shape.size())
      out += fmt::format(" | {} {}", p.graph.tensors[t].name, ir::print(p.layouts[t]));
  if (p.prefetch > 0) out += fmt::format(" | prefetch {}", p.prefetch);
  return out;
}

}  // namespace assay::toolkit
