#include "toolkit/roofline.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace assay::toolkit {
namespace {

constexpr size_t kMost = 2000;        // rows that decide
constexpr int kFrom = 30, kTo = 100;  // parts in hundredths

// Sum of |predicted / measured - 1|; stops where it passes `least`.
double error_of(const std::vector<RooflineInput>& rows, const RooflineConstants& c, double least) {
  double sum = 0;
  for (size_t i = 0; i < rows.size() && sum < least; ++i)
    sum += std::abs(roofline(rows[i], c) / rows[i].measured - 1);
  return sum;
}

std::vector<RooflineInput> evenly_taken(const std::vector<RooflineInput>& rows) {
  std::vector<RooflineInput> out;
  const size_t step = (rows.size() + kMost - 1) / kMost;
  for (size_t i = 0; i < rows.size(); i += step) out.push_back(rows[i]);
  return out;
}

}  // namespace

Work work_of(const ir::Graph& g) {
  Work w;
  std::set<int> moved(g.outputs.begin(), g.outputs.end());
  for (const ir::Node& n : g.nodes) {
    w.flops += ir::flops_of(g, n);
    for (const ir::Read& r : n.reads)
      if (ir::producer_of(g, r.tensor) < 0) moved.insert(r.tensor);
  }
  for (const int t : moved) {
    const ir::Tensor& tensor = g.tensors[static_cast<size_t>(t)];
    w.bytes += static_cast<double>(ir::elements(tensor)) * ir::bytes_of(tensor.dtype);
  }
  return w;
}

RooflineInput roofline_input(const Work& work, double peak, double bandwidth, double measured) {
  return {peak > 0 ? work.flops / peak : 0, work.bytes / bandwidth, measured};
}

double roofline(const RooflineInput& in, const RooflineConstants& c) {
  return std::max(in.compute / c.compute, in.movement / c.movement) + c.launch;
}

RooflineConstants fit_roofline(const std::vector<RooflineInput>& rows) {
  const std::vector<RooflineInput> taken = evenly_taken(rows);
  std::vector<double> launches = {0};
  for (double l = 1e-6; l < 1e-4; l *= 1.2) launches.push_back(l);
  RooflineConstants best;
  double least = error_of(taken, best, INFINITY);
  for (int compute = kTo; compute >= kFrom; --compute)
    for (int movement = kTo; movement >= kFrom; --movement)
      for (const double launch : launches) {
        const RooflineConstants c{compute / 100.0, movement / 100.0, launch};
        const double e = error_of(taken, c, least);
        if (e < least) best = c, least = e;
      }
  return best;
}

}  // namespace assay::toolkit
