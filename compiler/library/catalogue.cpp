#include "compiler/library/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "support/yaml_reader.h"

namespace assay::compiler {
namespace {

using yaml::Node;

struct CatalogueReader : yaml::Reader {
  // A key that this entry would ignore.
  void refuse(const Node& n, const char* key, const char* why) {
    if (n.find(key) != nullptr) fail(*n.find(key), fmt::format("'{}' says nothing {}", key, why));
  }

  void sizes(const Node& map, const char* key, int64_t* out, size_t count) {
    const Node* n = need(map, key);
    if (n == nullptr) return;
    if (n->kind != Node::Kind::sequence || n->items.size() != count)
      return fail(*n, fmt::format("expected {} numbers", count));
    for (size_t i = 0; i < count; ++i) out[i] = number(n->items[i]);
  }

  ProductEntry product(const Node& n) {
    only_keys(n, {"name", "types", "tile", "threads", "lane_tile", "wave_tile", "slices", "stages",
                  "split_k", "operands", "staged", "cluster", "needs"});
    ProductEntry e;
    e.name = text(n, "name");
    for (const std::string& word : words(n, "types")) add_type(n, word, e);
    sizes(n, "tile", e.tile, 3);
    if (n.find("operands") != nullptr)
      e.from_scratchpad = word(n, "operands", {"registers", "scratchpad"}) == 1;
    e.matrix = e.from_scratchpad || n.find("wave_tile") != nullptr;
    if (e.matrix) refuse(n, "lane_tile", "of matrix instructions");
    if (e.from_scratchpad)
      refuse(n, "wave_tile", "of operands that no wave holds");
    else
      sizes(n, e.matrix ? "wave_tile" : "lane_tile", e.accumulates, 2);
    if (const Node* needs = n.find("needs")) {
      only_keys(*needs, {"mover", "vectors"});
      e.needs_mover = flag(*needs, "mover", false);
      e.vectors = flag(*needs, "vectors", false);
    }
    if (e.vectors) refuse(n, "threads", "of vectors");
    if (!e.vectors && need(n, "threads") != nullptr) e.threads = number(n, "threads", 1);
    e.staged = flag(n, "staged", true);
    read_staging(n, e);
    if (n.find("split_k") != nullptr) {
      e.split_k.clear();
      for (const Node& part : items(n, "split_k")) e.split_k.push_back(number(part));
    }
    check_cover(n, e);
    return e;
  }

  void read_staging(const Node& n, ProductEntry& e) {
    if (e.matrix) refuse(n, "slices", "of matrix instructions");
    e.slices = number(n, "slices", 1);
    if (!e.matrix) refuse(n, "operands", "of plain lanes");
    for (const char* key : {"stages", "cluster"})
      if (!e.staged) refuse(n, key, "without copies");
    e.stages = number(n, "stages", 1);
    if (n.find("cluster") != nullptr) sizes(n, "cluster", e.cluster, 2);
  }

  void check_cover(const Node& n, const ProductEntry& e) {
    if (e.vectors || !diags.empty()) return;
    const int64_t results = e.tile[0] * e.tile[1], each = e.accumulates[0] * e.accumulates[1];
    if (!e.matrix && each * e.threads != results * e.slices)
      fail(n, fmt::format("{} threads of {} x {} elements do not cover a tile of {} x {}",
                          e.threads, e.accumulates[0], e.accumulates[1], e.tile[0], e.tile[1]));
    if (e.matrix && (e.tile[0] % e.accumulates[0] != 0 || e.tile[1] % e.accumulates[1] != 0))
      fail(n, fmt::format("waves of {} x {} elements do not cover a tile of {} x {}",
                          e.accumulates[0], e.accumulates[1], e.tile[0], e.tile[1]));
  }

  void add_type(const Node& n, const std::string& word, ProductEntry& e) {
    const auto type = ir::parse_dtype(word);
    if (!type) return fail(n, "unknown element type '" + word + "'");
    e.types.push_back(*type);
  }

  RowEntry row(const Node& n) {
    only_keys(n, {"name", "reductions", "in_registers", "merges", "columns", "threads", "most",
                  "vector"});
    RowEntry e;
    e.name = text(n, "name");
    for (const std::string& word : words(n, "reductions")) add_reduction(n, word, e);
    e.in_registers = flag(n, "in_registers", false);
    if (e.in_registers) refuse(n, "merges", "of rows that are read once");
    e.merges = flag(n, "merges", false);
    if (const Node* columns = n.find("columns")) {
      only_keys(*columns, {"more", "most"});
      e.columns_more = number(*columns, "more", e.columns_more);
      e.columns_most = number(*columns, "most", e.columns_most);
    }
    const std::string threads = text(n, "threads");
    if (threads == "row / 4") {
      e.threads = 0;
      e.most_threads = number(n, "most", e.most_threads);
    } else {
      refuse(n, "most", "of a number of threads that is given");
      e.threads = number(n, "threads", 1);
    }
    e.vector = number(n, "vector", 1);
    return e;
  }

  void add_reduction(const Node& n, const std::string& word, RowEntry& e) {
    static const std::map<std::string, ir::Combiner, std::less<>> names = {
        {"sum", ir::Combiner::sum},
        {"max", ir::Combiner::max},
        {"min", ir::Combiner::min},
        {"product", ir::Combiner::product}};
    const auto known = names.find(word);
    if (known != names.end())
      e.reductions.push_back(known->second);
    else if (word != "any")
      fail(n, "unknown reduction '" + word + "'", "sum, max, min, product, or any");
  }

  PointwiseEntry pointwise(const Node& n) {
    only_keys(n, {"name", "threads", "vector", "per_thread"});
    return {text(n, "name"), number(n, "threads", 1), number(n, "vector", 1),
            number(n, "per_thread", 1)};
  }
};

}  // namespace

Diags parse_catalogue(std::string_view text, std::string_view file, Catalogue& out) {
  const Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  CatalogueReader r{{*doc}};
  r.only_keys(doc->root, {"schema", "source", "products", "rows", "pointwise"});
  r.schema("assay/catalogue/1");
  r.text(doc->root, "source");
  for (const Node& n : r.items(doc->root, "products")) out.products.push_back(r.product(n));
  for (const Node& n : r.items(doc->root, "rows")) out.rows.push_back(r.row(n));
  for (const Node& n : r.items(doc->root, "pointwise")) out.pointwise.push_back(r.pointwise(n));
  return std::move(r.diags);
}

int64_t threads_for(const RowEntry& e, int64_t columns) {
  if (e.threads > 0) return e.threads;
  const int64_t enough = std::min(columns / e.vector, e.most_threads);
  int64_t threads = 32;
  while (2 * threads < enough) threads *= 2;
  return threads;
}

}  // namespace assay::compiler
