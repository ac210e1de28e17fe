#include "toolkit/whatif.h"

#include <algorithm>
#include <cmath>

#include "hwdesc/walk.h"

namespace assay::toolkit {
namespace {

// Numbers that say how things are laid out. Programs and counts depend on them.
bool is_structural(const std::string& path) {
  for (const char* part : {".width", ".line", ".transaction", ".page", ".block", "texel", "granule",
                           "threads_per_group", ".ways", "units", "reaches"})
    if (path.find(part) != std::string::npos) return true;
  return false;
}

// A memory's bandwidths (read, write, copy) are one number: they change together.
std::string parameter_of(const hwdesc::Path& path) {
  const std::string name = hwdesc::dotted(path);
  const size_t at = name.find(".bandwidth.");
  return at == std::string::npos ? name : name.substr(0, at + 10);
}

struct Parameter {
  std::string name;
  bool assumed = false;
};

struct Names {
  hwdesc::Origin usual;  // of values without an origin of their own
  std::vector<Parameter> known;

  template <class M>
  void operator()(const hwdesc::Path& path, const M& member) {
    if constexpr (requires { member.value->v; }) {
      if (!member.known() || member.value->v == 0 || is_structural(hwdesc::dotted(path))) return;
      const std::string name = parameter_of(path);
      const bool assumed = member.source.value_or(usual) == hwdesc::Origin::assumed;
      const auto same = std::find_if(known.begin(), known.end(),
                                     [&](const Parameter& p) { return p.name == name; });
      if (same == known.end())
        known.push_back({name, assumed});
      else
        same->assumed |= assumed;
    }
  }
};

struct Scale {
  const std::string& name;
  double factor;

  template <class M>
  void operator()(const hwdesc::Path& path, M& member) {
    if constexpr (requires { member.value->v; })
      if (member.known() && parameter_of(path) == name && !is_structural(hwdesc::dotted(path)))
        member.value->v *= factor;
  }
};

Result<double> seconds_of(const ir::Graph& graph, const hwdesc::Profile& profile,
                          const EstimateOptions& options, const GraphEstimate& as) {
  const auto estimator = OperatorEstimator::open(profile, options);
  if (!estimator) return estimator.diags();
  const Result<GraphEstimate> e = estimator->estimate_as(graph, as);
  if (!e) return e.diags();
  return e->total.seconds;
}

}  // namespace

Result<WhatIf> what_if(const ir::Graph& graph, const hwdesc::Profile& before,
                       const hwdesc::Profile& after, const EstimateOptions& options) {
  const auto first = OperatorEstimator::open(before, options);
  if (!first) return first.diags();
  const auto second = OperatorEstimator::open(after, options);
  if (!second) return second.diags();
  Result<GraphEstimate> b = first->estimate(graph);
  if (!b) return b.diags();
  Result<GraphEstimate> anew = second->estimate(graph);
  if (!anew) return anew.diags();
  WhatIf out;
  Result<GraphEstimate> fixed = second->estimate_as(graph, *b);
  if (fixed) out.fixed = std::move(*fixed);
  if (!fixed) out.notes = fixed.diags();
  for (Diag& d : out.notes) d.severity = Severity::note;
  out.before = std::move(*b);
  out.anew = std::move(*anew);
  return out;
}

Result<std::vector<Sensitivity>> sensitivities(const ir::Graph& graph,
                                               const hwdesc::Profile& profile,
                                               const EstimateOptions& options) {
  const auto estimator = OperatorEstimator::open(profile, options);
  if (!estimator) return estimator.diags();
  const Result<GraphEstimate> base = estimator->estimate(graph);
  if (!base) return base.diags();
  EstimateOptions own = options;  // whatever the changed profile says of kernels
  own.software = base->software;
  const double seconds = base->total.seconds;
  std::vector<Sensitivity> out;
  const auto add = [&](Sensitivity s, auto&& time_at) {
    const Result<double> slightly = time_at(1.05), doubled = time_at(2.0);
    if (!slightly || !doubled || !std::isfinite(*slightly) || !std::isfinite(*doubled)) return;
    s.slightly = *slightly / seconds - 1;
    s.doubled = *doubled / seconds - 1;
    if (s.slightly != 0 || s.doubled != 0) out.push_back(std::move(s));
  };
  Names names{profile.source, {}};
  hwdesc::walk(profile, names);
  for (const auto& [name, assumed] : names.known)
    add({name, assumed}, [&, name = name](double factor) {
      hwdesc::Profile changed = profile;
      hwdesc::walk(changed, Scale{name, factor});
      return seconds_of(graph, changed, own, *base);
    });
  std::vector<std::string> unknown;
  for (const OperatorEstimate& o : base->operators)
    for (const std::string& path : o.estimate.assumed)
      if (std::find(unknown.begin(), unknown.end(), path) == unknown.end()) unknown.push_back(path);
  for (const std::string& path : unknown)
    add({path, true}, [&](double factor) {
      EstimateOptions scaled = own;
      scaled.scaled = path;
      scaled.factor = factor;
      return seconds_of(graph, profile, scaled, *base);
    });
  std::stable_sort(out.begin(), out.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return std::abs(a.doubled) > std::abs(b.doubled);
  });
  return out;
}

}  // namespace assay::toolkit
