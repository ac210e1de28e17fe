#include "model/interval.h"

#include <algorithm>

#include "hwdesc/library.h"
#include "support/check.h"
#include "support/number.h"
#include "support/quantity.h"
#include "support/yaml_reader.h"

namespace assay::model {
namespace {

struct IntervalReader : yaml::Reader {
  double positive(const yaml::Node& row, const char* key) {
    const yaml::Node* n = need(row, key);
    if (n == nullptr) return 1;
    const Result<double> v = parse_number(n->scalar);
    if (v && *v > 0) return *v;
    fail(*n, std::string("'") + key + "' is no positive number");
    return 1;
  }

  Residual row(const yaml::Node& n) {
    only_keys(n, {"unit", "bound", "below", "low", "high", "n"});
    const yaml::Names units = {"cores", "waves"}, bounds = {"vector",
                                                            "load",
                                                            "store",
                                                            "issue",
                                                            "transfers",
                                                            "other",
                                                            std::string(kAnyBound)};
    Residual r;
    r.unit = units[static_cast<size_t>(word(n, "unit", units))];
    r.bound = bounds[static_cast<size_t>(word(n, "bound", bounds))];
    r.below = n.find("below") == nullptr ? 1 : positive(n, "below");
    r.low = positive(n, "low");
    r.high = positive(n, "high");
    if (need(n, "n") != nullptr) number(n, "n", 1);
    if (r.low > r.high) fail(n, "'low' is above 'high'");
    return r;
  }
};

}  // namespace

std::string_view bound_class(const Estimate& e) {
  for (const std::string_view port : {"vector", "load", "store"})
    if (e.bound == port) return port;
  if (e.bound == "multiply-adds" || e.bound == "operations") return "vector";
  for (const std::string_view port : {"loads and stores", "scratchpad", "nearest cache"})
    if (e.bound == port) return "load";
  if (e.bound == "issue" || e.bound == "chain") return "issue";
  if (e.bound == "shared cache" || e.bound == "far memory") return "transfers";
  return e.bound.find("<-") != std::string::npos ? "transfers" : "other";
}

Result<std::vector<Residual>> parse_residuals(std::string_view text, std::string_view file) {
  const Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  IntervalReader r{{*doc}};
  r.only_keys(doc->root, {"schema", "method", "journals", "quantiles"});
  r.schema("assay/residuals/1");
  std::vector<Residual> out;
  if (r.need(doc->root, "quantiles") != nullptr)
    for (const yaml::Node& n : r.items(doc->root, "quantiles")) out.push_back(r.row(n));
  if (!r.diags.empty()) return r.diags;
  return out;
}

const std::vector<Residual>& program_residuals() {
  static const std::vector<Residual> all = [] {
    const hwdesc::LibraryEntry* e =
        hwdesc::find_in_library(hwdesc::LibraryKind::residuals, "programs");
    if (e == nullptr) return std::vector<Residual>{};
    Result<std::vector<Residual>> read = parse_residuals(e->text, e->file);
    ASSAY_CHECK(read.ok());
    return std::move(*read);
  }();
  return all;
}

Residual residual_of(const std::vector<Residual>& all, std::string_view unit, const Estimate& e) {
  Residual out;
  out.low = 0.5, out.high = 2;
  for (const std::string_view bound : {kAnyBound, bound_class(e)}) {
    const Residual* nearest = nullptr;
    for (const Residual& r : all)
      if (r.unit == unit && r.bound == bound && e.efficiency <= r.below &&
          (nearest == nullptr || r.below < nearest->below))
        nearest = &r;
    if (nearest != nullptr) out = *nearest;
  }
  // An estimate lies within its interval.
  out.low = std::min(1.0, out.low), out.high = std::max(1.0, out.high);
  return out;
}

}  // namespace assay::model
