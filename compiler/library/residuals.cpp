#include "compiler/library/residuals.h"

#include <algorithm>
#include <limits>

#include "support/quantity.h"
#include "support/yaml_reader.h"

namespace assay::compiler {
namespace {

using yaml::Node;

struct ResidualReader : yaml::Reader {
  double positive(const Node& row, const char* key) {
    const Node* n = need(row, key);
    if (n == nullptr) return 1;
    const Result<double> v = parse_number(n->scalar);
    if (v && *v > 0) return *v;
    fail(*n, std::string("'") + key + "' is no positive number");
    return 1;
  }

  Residual row(const Node& n) {
    only_keys(n, {"class", "below", "low", "high", "devices", "n"});
    const yaml::Names kinds = {"product", "rows", "pointwise"};
    Residual r;
    r.kind = kinds[static_cast<size_t>(word(n, "class", kinds))];
    r.below = std::numeric_limits<double>::infinity();
    if (n.find("below") != nullptr) {
      const Result<Quantity> time = parse_quantity(text(n, "below"), Dimension::seconds);
      if (time) r.below = time->v;
      if (!time) fail(*n.find("below"), "'below' is no time");
    }
    r.low = positive(n, "low");
    r.high = positive(n, "high");
    r.n = need(n, "n") == nullptr ? 1 : number(n, "n", 1);
    r.devices = n.find("devices") == nullptr ? 1 : number(n, "devices", 1);
    if (r.low > r.high) fail(n, "'low' is above 'high'");
    return r;
  }
};

}  // namespace

std::string_view kind_of(const LibraryOperator& o) {
  switch (o.kind) {
    case LibraryOperator::Kind::product:
      return "product";
    case LibraryOperator::Kind::rows:
      return "rows";
    case LibraryOperator::Kind::pointwise:
      return "pointwise";
  }
  return "";
}

Result<Residuals> parse_residuals(std::string_view text, std::string_view file) {
  const Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  ResidualReader r{{*doc}};
  r.only_keys(doc->root, {"schema", "method", "tables", "quantiles"});
  r.schema("assay/residuals/1");
  Residuals out;
  if (r.need(doc->root, "quantiles") != nullptr)
    for (const Node& n : r.items(doc->root, "quantiles")) out.rows.push_back(r.row(n));
  if (!r.diags.empty()) return r.diags;
  return out;
}

Residual residual_of(const Residuals& all, std::string_view kind, double seconds) {
  const Residual* nearest = nullptr;
  for (const Residual& r : all.rows)
    if (r.kind == kind && seconds <= r.below && (nearest == nullptr || r.below < nearest->below))
      nearest = &r;
  return nearest == nullptr ? Residual{} : *nearest;
}

}  // namespace assay::compiler
