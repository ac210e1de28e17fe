#include "toolkit/accuracy_programs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "lower/legal.h"
#include "model/machine.h"
#include "simulator/estimate.h"
#include "toolkit/counter_rng.h"
#include "toolkit/estimate_operators.h"
#include "toolkit/kernel_tuner.h"
#include "toolkit/profiles.h"
#include "toolkit/statistics.h"

namespace assay::toolkit {
namespace {

constexpr size_t kSubset = 1000;
constexpr int kSubsets = 200;

double regret_of(std::span<const size_t> subset, std::span<const double> predicted,
                 std::span<const double> measured) {
  size_t chosen = subset[0], best = subset[0];
  for (const size_t i : subset) {
    if (predicted[i] < predicted[chosen]) chosen = i;
    if (measured[i] < measured[best]) best = i;
  }
  return measured[chosen] / measured[best];
}

// The first of a shuffle's places.
void draw(int subset, std::vector<size_t>& order) {
  const size_t n = order.size(), wanted = std::min(kSubset, n);
  const std::vector<float> u =
      uniform(static_cast<uint64_t>(subset), "subset of programs", static_cast<int64_t>(wanted));
  for (size_t i = 0; i < wanted; ++i) {
    const double part = (static_cast<double>(u[i]) + 1) / 2;
    const auto step = static_cast<size_t>(part * static_cast<double>(n - i));
    std::swap(order[i], order[std::min(i + step, n - 1)]);
  }
}

// The table's programs on the profile's first api.
class ProgramTable {
 public:
  ProgramTable(const ReferenceTable& table, const hwdesc::Target& target, const model::Machine& m)
      : table_(table), target_(target), machine_(m) {}

  Result<AccuracyPoint> point(size_t row) {
    const ReferenceRow& r = table_.rows[row];
    const Result<XgemmParameters> parameters = xgemm_parameters(table_.columns, r.more);
    if (!parameters) return placed(parameters.diags(), row);
    if (r.op + r.type != known_) {
      Result<ir::Graph> graph = OperatorEstimator::graph_of(r.op, r.type);
      if (!graph) return placed(graph.diags(), row);
      graph_ = std::move(*graph);
      known_ = r.op + r.type;
    }
    const Result<ir::Program> p = xgemm_program(graph_, *parameters);
    if (!p) return placed(p.diags(), row);
    if (const Diags why = lower::unpriceable(*p, target_); !why.empty()) return placed(why, row);
    if (where_.empty()) {
      where_ = simulator::separate_ranges(*p);
      if (table_.warm) caches_ = simulator::after(*p, machine_, {}, where_);
    }
    const model::Estimate e =
        simulator::estimate(*p, machine_, caches_, where_, nullptr, simulator::TermDetail::none);
    return AccuracyPoint{r.seconds, e.seconds, e.low, e.high};
  }

 private:
  // The first line has the columns' names.
  Diags placed(Diags diags, size_t row) const {
    for (Diag& d : diags) {
      d.file = table_.file;
      d.line = static_cast<int>(row) + 2;
      d.col = 0;
    }
    return diags;
  }

  const ReferenceTable& table_;
  const hwdesc::Target& target_;
  const model::Machine& machine_;
  std::string known_;  // operator of graph_
  ir::Graph graph_;
  std::vector<simulator::Range> where_;
  simulator::CacheState caches_;
};

}  // namespace

Ranking ranking_of(std::span<const double> predicted, std::span<const double> measured) {
  Ranking out;
  out.kendall = kendall(predicted, measured).value_or(0);
  out.spearman = spearman(predicted, measured).value_or(0);
  std::vector<size_t> order(predicted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  out.regret = regret_of(order, predicted, measured);
  double sum = 0;
  for (int s = 0; s < kSubsets; ++s) {
    draw(s, order);
    sum += regret_of(std::span(order).first(std::min(kSubset, order.size())), predicted, measured);
  }
  out.subset_regret = sum / kSubsets;
  return out;
}

Result<ProgramAccuracy> program_accuracy(const ReferenceTable& table,
                                         const AccuracyOptions& options,
                                         std::vector<AccuracyPoint>& points) {
  const Result<hwdesc::Profile> profile = load_profile(table.device);
  if (!profile) return profile.diags();
  const Result<hwdesc::Target> target = target_of(*profile, "");
  if (!target) return target.diags();
  const Result<model::Machine> machine = model::prepare(*target);
  if (!machine) return machine.diags();
  ProgramTable programs(table, *target, *machine);
  std::vector<double> predicted, measured;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    if (cancelled(options.cancel)) return error("cancelled");
    if (i % 500 == 0)
      report(options.progress, static_cast<int64_t>(i), static_cast<int64_t>(table.rows.size()),
             table.file);
    const Result<AccuracyPoint> p = programs.point(i);
    if (!p) return p.diags();
    points.push_back(*p);
    predicted.push_back(p->predicted);
    measured.push_back(p->measured);
  }
  ProgramAccuracy out;
  out.device = table.device;
  out.group = table.group;
  out.role = table.role;
  out.errors = summary_of(predicted, measured);
  const Ranking r = ranking_of(predicted, measured);
  out.kendall = r.kendall;
  out.spearman = r.spearman;
  out.regret = r.regret;
  out.subset_regret = r.subset_regret;
  return out;
}

}  // namespace assay::toolkit
