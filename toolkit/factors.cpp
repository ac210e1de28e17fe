#include "toolkit/factors.h"

#include <fmt/format.h>

#include "support/quantity.h"
#include "support/yaml_reader.h"

namespace assay::toolkit {
namespace {

using yaml::Node;

constexpr const char* kFactorsSchema = "assay/factors/1";

struct FactorsReader : yaml::Reader {
  double positive(const Node& n, const char* key) {
    const Node* value = n.find(key);
    if (value == nullptr) return 1;
    const Result<double> v = parse_number(value->scalar);
    if (v && *v > 0) return *v;
    fail(*value, fmt::format("'{}' is no positive number", key));
    return 1;
  }

  FittedKind kind(const yaml::Entry& e) {
    FittedKind out;
    for (const std::string_view known : {"product", "rows", "pointwise"})
      if (e.key == known) out.factors.kind = known;
    if (out.factors.kind.empty())
      fail(e.value, "'" + e.key + "' is no class", "product, rows or pointwise");
    yaml::Names keys = {"low", "high"};
    for (const std::string_view name : compiler::kFactorNames) keys.emplace_back(name);
    only_keys(e.value, keys);
    for (size_t k = 0; k < compiler::kFactorNames.size(); ++k)
      out.factors.factors[k] = positive(e.value, std::string(compiler::kFactorNames[k]).c_str());
    for (const char* key : {"low", "high"}) need(e.value, key);
    out.factors.low = positive(e.value, "low");
    out.factors.high = positive(e.value, "high");
    if (out.factors.low > 1 || out.factors.high < 1)
      fail(e.value, "the interval from 'low' to 'high' holds 1");
    return out;
  }

  FittedFactors read() {
    FittedFactors out;
    only_keys(doc.root, {"schema", "profile", "measured", "classes"});
    schema(kFactorsSchema);
    if (const Node* p = need(doc.root, "profile")) {
      only_keys(*p, {"name", "hash"});
      out.name = text(*p, "name");
      out.profile = text(*p, "hash");
    }
    if (const Node* m = need(doc.root, "measured")) {
      only_keys(*m, {"hash", "rows", "launch", "caches"});
      out.data = text(*m, "hash");
      out.launch = text(*m, "launch");
      out.caches =
          yaml::Names{"cold", "warm"}[static_cast<size_t>(word(*m, "caches", {"cold", "warm"}))];
      number(*m, "rows", 1);
    }
    const Node* classes = need(doc.root, "classes");
    if (classes != nullptr && classes->kind != Node::Kind::map)
      fail(*classes, "expected a map from classes to factors");
    else if (classes != nullptr)
      for (const yaml::Entry& e : classes->entries) out.kinds.push_back(kind(e));
    return out;
  }
};

}  // namespace

std::string print_factors(const FittedFactors& f) {
  int64_t rows = 0;
  for (const FittedKind& k : f.kinds) rows += k.rows;
  std::string out = fmt::format(
      "schema: {}\nprofile: {{name: {}, hash: {}}}\nmeasured: {{hash: {}, rows: {}, launch: {}, "
      "caches: {}}}\nclasses:\n",
      kFactorsSchema, yaml::quote(f.name), f.profile, f.data, rows, yaml::quote(f.launch),
      f.caches);
  for (const FittedKind& k : f.kinds) {
    out += fmt::format("  {}: {{", k.factors.kind);
    for (size_t i = 0; i < compiler::kFactorNames.size(); ++i)
      if (k.factors.factors[i] != 1)
        out += fmt::format("{}: {:.4g}, ", compiler::kFactorNames[i], k.factors.factors[i]);
    out += fmt::format("low: {:.4g}, high: {:.4g}}}\n", k.factors.low, k.factors.high);
  }
  return out;
}

Result<FittedFactors> parse_factors(std::string_view text, std::string_view file) {
  const Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  FactorsReader r{{*doc}};
  FittedFactors out = r.read();
  if (!r.diags.empty()) return r.diags;
  return out;
}

}  // namespace assay::toolkit
