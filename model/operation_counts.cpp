#include "model/operation_counts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lower/nest.h"

namespace assay::model {

void count_arguments(const ir::Scalar& e, double times, lower::Counts& out) {
  for (auto a = e.args.begin(); a != e.args.end(); ++a)
    if (std::find(e.args.begin(), a, *a) == a) count_body(*a, times, out);
}

void count_body(const ir::Scalar& e, double times, lower::Counts& out) {
  using S = ir::ScalarOp;
  count_arguments(e, times, out);
  switch (e.op) {
    case S::read:
    case S::constant:
    case S::axis:
      break;
    case S::div:
    case S::sqrt:
      out.divide += times;
      break;
    case S::pow:
      out.math += lower::kPowCost * times;
      break;
    case S::exp:
    case S::log:
      out.math += times;
      break;
    case S::tanh:
      out.math += lower::kTanhCost * times;
      break;
    case S::erf:
      out.math += lower::kErfCost * times;
      break;
    default:
      out.simple += times;
      break;
  }
}

double copied_along(const ir::Program& p, const ir::Staging& s, size_t dim, int64_t w) {
  const ir::Read& r = p.graph.nodes[0].reads[static_cast<size_t>(s.read)];
  const int64_t size = p.graph.tensors[static_cast<size_t>(r.tensor)].shape[dim];
  const int64_t region = lower::staged_shape(p, s)[dim];
  std::vector<int64_t> origins{0};
  for (const ir::Term& t : r.index[dim].terms) {
    const int64_t tile = p.tiles[static_cast<size_t>(s.level)].extent[static_cast<size_t>(t.var)];
    const int64_t count = ir::tile_count(p, s.level, t.var);
    std::vector<int64_t> next;
    for (int64_t o : origins)
      for (int64_t i = 0; i < count; ++i) next.push_back(o + t.coeff * tile * i);
    origins = std::move(next);
  }
  double sum = 0;
  for (int64_t o : origins) sum += static_cast<double>((std::min(region, size - o) + w - 1) / w);
  return sum;
}

double passes_of(const ir::Program& p, const lower::Nest& nest, int place) {
  std::vector<double> positions(p.graph.nodes[0].axes.size(), 1);
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    const lower::Loop& l = nest.loops[i];
    if (!l.is_sequential() || static_cast<int>(i) <= place)
      positions[static_cast<size_t>(l.axis)] =
          static_cast<double>(ir::tile_count(p, l.level, l.axis));
  }
  double n = 1;
  for (size_t a = 0; a < positions.size(); ++a) {
    const int64_t waves = p.workers.empty() ? 1 : p.workers[a];
    n *= waves > 1 ? static_cast<double>(ir::tile_count(p, 0, static_cast<int>(a)) * waves)
                   : positions[a];
  }
  return n;
}

double iterations_of(const ir::Program& p, const lower::Nest& nest) {
  std::vector<double> positions(p.graph.nodes[0].axes.size(), 1);
  double sum = 0;
  for (const lower::Loop& l : nest.loops) {
    positions[static_cast<size_t>(l.axis)] =
        static_cast<double>(ir::tile_count(p, l.level, l.axis));
    double n = 1;
    for (const double x : positions) n *= x;
    if (l.is_sequential()) sum += n;
  }
  return sum;
}

}  // namespace assay::model
