#include "compiler/library/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <utility>

#include "support/yaml.h"

namespace assay::compiler {
namespace {

using yaml::Node;

class Reader {
 public:
  Reader(const yaml::Document& doc, Catalogue& out) : doc_(doc), out_(out) {}

  Diags read() {
    read_map(doc_.root, {{"schema", [this](const Node& n) { schema(n); }},
                         {"source", [](const Node&) {}},
                         {"products", [this](const Node& n) { each(n, &Reader::product); }},
                         {"rows", [this](const Node& n) { each(n, &Reader::row); }},
                         {"pointwise", [this](const Node& n) { each(n, &Reader::pointwise); }}});
    for (const char* key : {"schema", "source"})
      if (doc_.root.find(key) == nullptr) fail(doc_.root, fmt::format("`{}` is missing", key));
    return std::move(diags_);
  }

 private:
  using Keys = std::map<std::string, std::function<void(const Node&)>, std::less<>>;

  void fail(const Node& n, std::string message, std::string hint = "") {
    diags_.push_back(yaml::error_at(doc_, n, std::move(message), std::move(hint)));
  }

  void read_map(const Node& n, const Keys& keys) {
    if (n.kind != Node::Kind::map) return fail(n, "expected a map");
    for (const yaml::Entry& e : n.entries) {
      const auto known = keys.find(e.key);
      if (known != keys.end()) {
        known->second(e.value);
        continue;
      }
      std::vector<std::string> names;
      for (const auto& [name, action] : keys) names.push_back(name);
      fail(e.value, "unknown key `" + e.key + "`", fmt::format("keys: {}", fmt::join(names, ", ")));
    }
  }

  void each(const Node& n, void (Reader::*add)(const Node&)) {
    if (n.kind != Node::Kind::sequence) return fail(n, "expected a sequence");
    for (const Node& item : n.items) (this->*add)(item);
  }

  void schema(const Node& n) {
    if (n.scalar != "assay/catalogue/1")
      fail(n, "schema `" + n.scalar + "`", "expected assay/catalogue/1");
  }

  auto size(int64_t& out) {
    return [this, &out](const Node& n) {
      int64_t v = 0;
      const char* end = n.scalar.data() + n.scalar.size();
      const auto [stop, code] = std::from_chars(n.scalar.data(), end, v);
      if (n.kind != Node::Kind::scalar || code != std::errc() || stop != end || v < 1)
        return fail(n, "expected a whole number of at least 1");
      out = v;
    };
  }

  auto sizes(int64_t* out, size_t count) {
    return [this, out, count](const Node& n) {
      if (n.kind != Node::Kind::sequence || n.items.size() != count)
        return fail(n, fmt::format("expected {} numbers", count));
      for (size_t i = 0; i < count; ++i) size(out[i])(n.items[i]);
    };
  }

  auto flag(bool& out) {
    return [this, &out](const Node& n) {
      if (n.scalar != "true" && n.scalar != "false") return fail(n, "expected true or false");
      out = n.scalar == "true";
    };
  }

  static auto text(std::string& out) {
    return [&out](const Node& n) { out = n.scalar; };
  }

  void product(const Node& n) {
    ProductEntry e;
    const Keys needs = {{"mover", flag(e.needs_mover)}, {"vectors", flag(e.vectors)}};
    read_map(n, {{"name", text(e.name)},
                 {"types",
                  [&](const Node& list) {
                    for (const Node& t : list.items) add_type(t, e);
                  }},
                 {"tile", sizes(e.tile, 3)},
                 {"threads", size(e.threads)},
                 {"lane_tile", sizes(e.accumulates, 2)},
                 {"wave_tile",
                  [&](const Node& m) {
                    e.matrix = true;
                    sizes(e.accumulates, 2)(m);
                  }},
                 {"slices", size(e.slices)},
                 {"stages", size(e.stages)},
                 {"split_k",
                  [&](const Node& list) {
                    e.split_k.assign(list.items.size(), 1);
                    for (size_t i = 0; i < list.items.size(); ++i)
                      size(e.split_k[i])(list.items[i]);
                  }},
                 {"operands",
                  [&](const Node& m) {
                    e.from_scratchpad = m.scalar == "scratchpad";
                    if (m.scalar != "scratchpad" && m.scalar != "registers")
                      fail(m, "expected registers or scratchpad");
                  }},
                 {"staged", flag(e.staged)},
                 {"cluster", sizes(e.cluster, 2)},
                 {"needs", [&](const Node& m) { read_map(m, needs); }}});
    if (!e.matrix && !e.vectors &&
        e.accumulates[0] * e.accumulates[1] * e.threads != e.tile[0] * e.tile[1] * e.slices)
      fail(n, fmt::format("{} threads of {} x {} elements do not cover a tile of {} x {}",
                          e.threads, e.accumulates[0], e.accumulates[1], e.tile[0], e.tile[1]));
    out_.products.push_back(std::move(e));
  }

  void add_type(const Node& n, ProductEntry& e) {
    const auto type = ir::parse_dtype(n.scalar);
    if (!type) return fail(n, "unknown element type `" + n.scalar + "`");
    e.types.push_back(*type);
  }

  void row(const Node& n) {
    RowEntry e;
    const Keys columns = {{"more", size(e.columns_more)}, {"most", size(e.columns_most)}};
    read_map(n, {{"name", text(e.name)},
                 {"reductions", [&](const Node& list) { add_reductions(list, e); }},
                 {"in_registers", flag(e.in_registers)},
                 {"merges", flag(e.merges)},
                 {"columns", [&](const Node& m) { read_map(m, columns); }},
                 {"threads",
                  [&](const Node& m) {
                    if (m.scalar == "row / 4")
                      e.threads = 0;
                    else
                      size(e.threads)(m);
                  }},
                 {"most", size(e.most_threads)},
                 {"vector", size(e.vector)}});
    out_.rows.push_back(std::move(e));
  }

  void add_reductions(const Node& list, RowEntry& e) {
    static const std::map<std::string, ir::Combiner, std::less<>> names = {
        {"sum", ir::Combiner::sum},
        {"max", ir::Combiner::max},
        {"min", ir::Combiner::min},
        {"product", ir::Combiner::product}};
    for (const Node& item : list.items) {
      const auto known = names.find(item.scalar);
      if (known != names.end())
        e.reductions.push_back(known->second);
      else if (item.scalar != "any")
        fail(item, "unknown reduction `" + item.scalar + "`", "sum, max, min, product, or any");
    }
  }

  void pointwise(const Node& n) {
    PointwiseEntry e;
    read_map(n, {{"name", text(e.name)},
                 {"threads", size(e.threads)},
                 {"vector", size(e.vector)},
                 {"per_thread", size(e.per_thread)}});
    out_.pointwise.push_back(std::move(e));
  }

  const yaml::Document& doc_;
  Catalogue& out_;
  Diags diags_;
};

}  // namespace

Diags parse_catalogue(std::string_view text, std::string_view file, Catalogue& out) {
  const Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  return Reader(*doc, out).read();
}

int64_t threads_for(const RowEntry& e, int64_t columns) {
  if (e.threads > 0) return e.threads;
  const int64_t enough = std::min(columns / e.vector, e.most_threads);
  int64_t threads = 32;
  while (2 * threads < enough) threads *= 2;
  return threads;
}

}  // namespace assay::compiler
