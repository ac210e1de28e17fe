#include "toolkit/passed_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ir/producers.h"
#include "ir/windows.h"

namespace assay::toolkit {
namespace {

int64_t readers_of(const ir::Program& p, int tensor) {
  int64_t n = 0;
  for (const ir::Member& m : ir::members_of(p))
    for (size_t t = 0; t < m.tensors.size(); ++t)
      if (m.tensors[t] == tensor && !ir::consumers_of(m.program.graph, static_cast<int>(t)).empty())
        ++n;
  return n;
}

}  // namespace

std::vector<std::string> passed_tiles(const ir::Program& p) {
  std::vector<std::string> out;
  for (const ir::Producer& r : p.producers) {
    const int t = ir::passed_tensor(r);
    const ir::Tensor& tensor = p.graph.tensors[static_cast<size_t>(t)];
    if (ir::is_stored(p, t)) {
      out.push_back(fmt::format(
          "{} {} ({}): {} B are written, and each group reads its tile of them back from {}",
          r.program.graph.nodes.back().op, fmt::join(tensor.shape, "x"), tensor.name,
          ir::elements(tensor) * ir::bytes_of(tensor.dtype), r.level));
      continue;
    }
    std::string again;
    double stored = static_cast<double>(ir::elements(tensor) * ir::bytes_of(tensor.dtype));
    for (const ir::Overlap& o : ir::overlaps_of(r.program)) {
      again += fmt::format("; in windows of {} at distances of {}, so {} of each computed twice",
                           o.extent, o.shift, o.extent - o.shift);
      stored *= static_cast<double>(o.shift * (o.groups - 1) + o.extent) /
                static_cast<double>(o.groups * o.extent);
    }
    out.push_back(fmt::format(
        "{} {} ({}): a tile of {} B in {}; as steps, {:.0f} B would be written and {} times read{}",
        r.program.graph.nodes.back().op, fmt::join(tensor.shape, "x"), tensor.name,
        ir::passed_bytes(p, r), r.level, stored, readers_of(p, t), again));
  }
  return out;
}

std::vector<std::string> passed_tiles(const ir::Plan& plan) {
  std::vector<std::string> out;
  std::set<std::pair<int, std::string>> shown;
  for (const ir::Step& s : plan.steps) {
    const ir::Program& p = plan.programs[static_cast<size_t>(s.program)];
    if (p.producers.empty() || !shown.emplace(s.program, ir::display_name(s)).second) continue;
    out.push_back(fmt::format("{}: {} programs, {} groups", ir::display_name(s),
                              p.producers.size() + 1, ir::group_count(p)));
    for (const std::string& line : passed_tiles(p)) out.push_back("  " + line);
  }
  return out;
}

std::vector<std::string> traffic_lines(const std::vector<model::LevelUse>& plan,
                                       const std::vector<model::LevelUse>& separate) {
  const auto megabytes = [](const model::LevelUse& u) {
    return (u.read_bytes + u.written_bytes) / 1e6;
  };
  std::vector<std::string> out;
  for (const model::LevelUse& u : plan) {
    out.push_back(fmt::format("{}: {:.4g} MB", u.boundary, megabytes(u)));
    for (const model::LevelUse& s : separate)
      if (s.boundary == u.boundary)
        out.back() += fmt::format(", {:.4g} MB where each tile-graph is a step", megabytes(s));
  }
  return out;
}

}  // namespace assay::toolkit
