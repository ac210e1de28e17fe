#include "toolkit/suite.h"

#include <algorithm>

#include "compiler/compile.h"
#include "support/files/files.h"
#include "support/yaml.h"

namespace assay::toolkit {
namespace {

constexpr const char* kSchema = "assay/suite/1";
constexpr int64_t kMaxSuiteBytes = 1 << 20;

using yaml::Node;

struct Reader {
  const yaml::Document& doc;
  Suite suite{};
  Diags diags{};

  void fail(const Node& at, std::string message, std::string hint = "") {
    diags.push_back(yaml::error_at(doc, at, std::move(message), std::move(hint)));
  }

  std::string word(const char* key) {
    const Node* n = doc.root.find(key);
    if (n != nullptr && n->kind == Node::Kind::scalar && !n->scalar.empty()) return n->scalar;
    fail(n == nullptr ? doc.root : *n, std::string("'") + key + "' is missing or is no text");
    return "";
  }

  void read_operator(const Node& n) {
    if (n.kind != Node::Kind::scalar) {
      fail(n, "an operator is a text, such as `matmul m=64 n=64 k=64`");
      return;
    }
    const Result<ir::Graph> graph = compiler::parse_operator(n.scalar);
    if (!graph)
      for (const Diag& d : graph.diags()) fail(n, d.message, d.hint);
    const auto& known = suite.operators;
    if (std::find(known.begin(), known.end(), n.scalar) != known.end())
      fail(n, "the operator '" + n.scalar + "' is listed twice");
    suite.operators.push_back(n.scalar);
  }

  void read() {
    if (doc.root.kind != Node::Kind::map) {
      fail(doc.root, "a suite is a map with schema, name and operators");
      return;
    }
    for (const yaml::Entry& e : doc.root.entries)
      if (e.key != "schema" && e.key != "name" && e.key != "operators")
        diags.push_back(yaml::error_at(doc, e.line, e.col, "'" + e.key + "' is no key of a suite",
                                       "those are schema, name and operators"));
    const std::string schema = word("schema");
    if (!schema.empty() && schema != kSchema)
      fail(*doc.root.find("schema"), "schema '" + schema + "', expected " + kSchema);
    suite.name = word("name");
    const Node* list = doc.root.find("operators");
    if (list == nullptr || list->kind != Node::Kind::sequence || list->items.empty()) {
      fail(list == nullptr ? doc.root : *list, "'operators' is missing or is no list of texts");
      return;
    }
    for (const Node& n : list->items) read_operator(n);
  }
};

}  // namespace

Result<Suite> parse_suite(std::string_view text, std::string_view file) {
  const Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  Reader reader{*doc};
  reader.read();
  if (!reader.diags.empty()) return std::move(reader.diags);
  return std::move(reader.suite);
}

Result<Suite> load_suite(const std::string& name_or_path) {
  if (file_exists(name_or_path)) {
    const Result<std::string> text = read_text(name_or_path, kMaxSuiteBytes);
    if (!text) return text.diags();
    return parse_suite(*text, name_or_path);
  }
  std::string names;
  for (const EmbeddedSuite& s : embedded_suites()) {
    if (s.name == name_or_path) return parse_suite(s.text, std::string(s.name) + ".yaml");
    names += (names.empty() ? "" : ", ") + std::string(s.name);
  }
  return error("there is no suite '" + name_or_path + "', neither as a file nor in the library",
               "the library has " + names);
}

}  // namespace assay::toolkit
