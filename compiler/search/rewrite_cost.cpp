#include "compiler/search/rewrite_cost.h"

#include <limits>
#include <vector>

#include "compiler/search/tile_graphs.h"

namespace assay::compiler {

double RewriteCost::seconds_of(const LaidOut& laid) {
  double out = 0;
  for (const TileGraph& t :
       form_tile_graphs(laid, std::vector<bool>(laid.graph.nodes.size()), m_)) {
    const auto [it, fresh] =
        known_.emplace(key_of(t.problem), std::numeric_limits<double>::infinity());
    if (fresh)
      if (const Result<Constructed> made =
              construct(t.problem, target_, m_, {},
                        std::vector<simulator::Range>(t.chain.tensors.size()), 1, each_);
          made.ok())
        it->second = made->best.front().estimate.seconds;
    out += it->second;
  }
  return out;
}

}  // namespace assay::compiler
