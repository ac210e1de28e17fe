#include "compiler/library/residuals.h"

#include <algorithm>
#include <array>
#include <limits>

#include "support/quantity.h"
#include "support/yaml.h"

namespace assay::compiler {
namespace {

using yaml::Node;

class ResidualReader {
 public:
  explicit ResidualReader(const yaml::Document& doc) : doc_(doc) {}

  Result<Residuals> read() {
    for (const yaml::Entry& e : doc_.root.entries) {
      if (e.key == "quantiles")
        for (const Node& row : e.value.items) add(row);
      else if (e.key == "schema" && e.value.scalar != "assay/residuals/1")
        fail(e.value, "schema `" + e.value.scalar + "`", "expected assay/residuals/1");
      else if (e.key != "schema" && e.key != "method" && e.key != "tables")
        fail(e.value, "unknown key `" + e.key + "`", "keys: schema, method, tables, quantiles");
    }
    if (doc_.root.find("quantiles") == nullptr) fail(doc_.root, "`quantiles` is missing");
    if (!diags_.empty()) return diags_;
    return std::move(out_);
  }

 private:
  void fail(const Node& n, std::string message, std::string hint = "") {
    diags_.push_back(yaml::error_at(doc_, n, std::move(message), std::move(hint)));
  }

  double number(const Node& row, const char* key) {
    const Node* n = row.find(key);
    if (n == nullptr) {
      fail(row, std::string("`") + key + "` is missing");
      return 1;
    }
    const Result<double> v = parse_number(n->scalar);
    if (v && *v > 0) return *v;
    fail(*n, std::string("`") + key + "` is no positive number");
    return 1;
  }

  void add(const Node& row) {
    Residual r;
    const Node* kind = row.find("class");
    constexpr std::array<std::string_view, 3> kinds = {"product", "rows", "pointwise"};
    if (kind == nullptr || std::find(kinds.begin(), kinds.end(), kind->scalar) == kinds.end())
      return fail(row, "no class", "product, rows or pointwise");
    r.kind = kind->scalar;
    const Node* below = row.find("below");
    r.below = std::numeric_limits<double>::infinity();
    if (below != nullptr) {
      const Result<Quantity> time = parse_quantity(below->scalar, Dimension::seconds);
      if (!time) return fail(*below, "`below` is no time");
      r.below = time->v;
    }
    r.low = number(row, "low");
    r.high = number(row, "high");
    r.n = static_cast<int64_t>(number(row, "n"));
    if (r.low > r.high) fail(row, "`low` is above `high`");
    for (const yaml::Entry& e : row.entries)
      if (e.key != "class" && e.key != "below" && e.key != "low" && e.key != "high" && e.key != "n")
        fail(e.value, "unknown key `" + e.key + "`", "keys: class, below, low, high, n");
    out_.rows.push_back(r);
  }

  const yaml::Document& doc_;
  Residuals out_;
  Diags diags_;
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
  return ResidualReader(*doc).read();
}

Residual residual_of(const Residuals& all, std::string_view kind, double seconds) {
  Residual out;
  double nearest = std::numeric_limits<double>::infinity();
  bool found = false;
  for (const Residual& r : all.rows)
    if (r.kind == kind && seconds <= r.below && (!found || r.below < nearest)) {
      out = r;
      nearest = r.below;
      found = true;
    }
  return out;
}

}  // namespace assay::compiler
