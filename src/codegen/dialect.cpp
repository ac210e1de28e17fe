#include "codegen/dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "base/edit_distance.h"
#include "base/yaml.h"
#include "codegen/spellings.h"

namespace assay::codegen {
namespace {

using yaml::Node;
using Names = std::vector<std::string>;

struct Reader {
  const yaml::Document& doc;
  Diags diags;

  void fail(const Node& at, std::string message, std::string hint = "") {
    diags.push_back(error_at(doc, at, std::move(message), std::move(hint)));
  }
  void only_keys(const Node& map, const Names& known);
  const Node* need(const Node& map, std::string_view key);
  std::string text_of(const Node& n);
  std::string text(const Node& map, std::string_view key);
  bool flag(const Node& map, std::string_view key);
  Names words(const Node& map, std::string_view key);
  int word(const Node& map, std::string_view key, const Names& choices);
  Template spelling(const Node& n, std::span<const std::string_view> holes);
  Template spelling(const Node& map, std::string_view key, std::span<const std::string_view> holes);

  hwdesc::DialectCapabilities capabilities(const Node& n);
  Structure structure(const Node& n);
  std::map<ir::DType, ElementType> types(const Node& n);
  ElementType type(const Node& n);
  std::map<std::string, Template, std::less<>> spellings(const Node& n);
  std::vector<Header> headers(const Node& n);
};

void Reader::only_keys(const Node& map, const Names& known) {
  if (map.kind != Node::Kind::map) return fail(map, "expected a map");
  for (const yaml::Entry& e : map.entries) {
    if (std::find(known.begin(), known.end(), e.key) != known.end()) continue;
    const std::string near = nearest(e.key, known);
    diags.push_back(error_at(doc, e.line, e.col, fmt::format("unknown key '{}'", e.key),
                             near.empty() ? "" : fmt::format("did you mean '{}'?", near)));
  }
}

const Node* Reader::need(const Node& map, std::string_view key) {
  const Node* n = map.kind == Node::Kind::map ? map.find(key) : nullptr;
  if (n == nullptr) fail(map, fmt::format("'{}' is missing", key));
  return n;
}

std::string Reader::text_of(const Node& n) {
  if (n.kind != Node::Kind::scalar) fail(n, "expected text");
  return n.scalar;
}

std::string Reader::text(const Node& map, std::string_view key) {
  const Node* n = need(map, key);
  return n == nullptr ? "" : text_of(*n);
}

bool Reader::flag(const Node& map, std::string_view key) {
  return word(map, key, {"false", "true"}) == 1;
}

Names Reader::words(const Node& map, std::string_view key) {
  const Node* n = need(map, key);
  if (n == nullptr) return {};
  if (n->kind != Node::Kind::sequence) fail(*n, "expected a list");
  Names out;
  for (const Node& item : n->items) out.push_back(text_of(item));
  return out;
}

int Reader::word(const Node& map, std::string_view key, const Names& choices) {
  const Node* n = need(map, key);
  if (n == nullptr) return 0;
  const auto it = std::find(choices.begin(), choices.end(), text_of(*n));
  if (it != choices.end()) return static_cast<int>(it - choices.begin());
  fail(*n, fmt::format("'{}', expected one of: {}", n->scalar, fmt::join(choices, ", ")));
  return 0;
}

Template Reader::spelling(const Node& n, std::span<const std::string_view> holes) {
  int level = kCallLevel;
  const Node* body = &n;
  if (n.kind == Node::Kind::map) {
    only_keys(n, {"text", "level"});
    body = need(n, "text");
    const std::string digits = text(n, "level");
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
    if (fault != std::errc() || end != digits.data() + digits.size() || level < 0 ||
        level > kCallLevel)
      fail(n, fmt::format("level '{}', expected 0 to {}", digits, kCallLevel));
    if (body == nullptr) return {};
  }
  auto parsed = parse_template(text_of(*body), level);
  if (!parsed) {
    fail(*body, parsed.diags()[0].message, parsed.diags()[0].hint);
    return {};
  }
  for (const Piece& p : parsed->pieces)
    if (p.hole && std::find(holes.begin(), holes.end(), p.text) == holes.end())
      fail(*body, fmt::format("unknown hole {{{}}}, expected: {}", p.text, fmt::join(holes, ", ")));
  return std::move(parsed).value();
}

Template Reader::spelling(const Node& map, std::string_view key,
                          std::span<const std::string_view> holes) {
  const Node* n = need(map, key);
  return n == nullptr ? Template{} : spelling(*n, holes);
}

hwdesc::DialectCapabilities Reader::capabilities(const Node& n) {
  only_keys(n, {"vector_widths", "group_barrier", "group_memory", "prefetch", "math", "dtypes", "lanes"});
  hwdesc::DialectCapabilities c;
  for (const std::string& w : words(n, "vector_widths")) {
    int width = 0;
    const auto [end, fault] = std::from_chars(w.data(), w.data() + w.size(), width);
    if (fault != std::errc() || end != w.data() + w.size() || width < 1)
      fail(n, fmt::format("vector width '{}', expected a positive number", w));
    c.vector_widths.push_back(width);
  }
  c.group_barrier = flag(n, "group_barrier");
  c.group_memory = flag(n, "group_memory");
  c.prefetch = flag(n, "prefetch");
  c.math = words(n, "math");
  c.dtypes = words(n, "dtypes");
  if (n.find("lanes") != nullptr) c.lanes = words(n, "lanes");
  c.known = true;
  return c;
}

Structure Reader::structure(const Node& n) {
  only_keys(n, {"parameters", "group_memory", "ids", "mixed_operands"});
  Structure s;
  s.parameters =
      static_cast<Parameters>(word(n, "parameters", {"pointers", "blocks", "attributes"}));
  s.group_memory = static_cast<GroupMemory>(word(n, "group_memory", {"body", "file"}));
  s.ids = static_cast<Ids>(word(n, "ids", {"call", "variable"}));
  s.mixed_operands = flag(n, "mixed_operands");
  return s;
}

ElementType Reader::type(const Node& n) {
  static constexpr std::string_view kHoles[] = {"digits"};
  only_keys(n, {"scalar", "literal", "infinity", "nan"});
  ElementType t;
  t.scalar = text(n, "scalar");
  t.literal = spelling(n, "literal", kHoles);
  if (const Node* v = n.find("infinity")) t.infinity = text_of(*v);
  if (const Node* v = n.find("nan")) t.nan = text_of(*v);
  return t;
}

std::map<ir::DType, ElementType> Reader::types(const Node& n) {
  std::map<ir::DType, ElementType> out;
  if (n.kind != Node::Kind::map) fail(n, "expected a map");
  for (const yaml::Entry& e : n.entries) {
    if (const auto dtype = ir::parse_dtype(e.key))
      out[*dtype] = type(e.value);
    else
      diags.push_back(
          error_at(doc, e.line, e.col, fmt::format("unknown element type '{}'", e.key)));
  }
  return out;
}

std::map<std::string, Template, std::less<>> Reader::spellings(const Node& n) {
  Names known;
  for (const SpellingRow& row : spelling_rows()) known.emplace_back(row.name);
  only_keys(n, known);
  std::map<std::string, Template, std::less<>> out;
  if (n.kind != Node::Kind::map) return out;
  for (const SpellingRow& row : spelling_rows()) {
    if (const Node* v = n.find(row.name))
      out.emplace(row.name, spelling(*v, row.hole_names()));
    else if (row.required)
      fail(n, fmt::format("spelling '{}' is missing", row.name));
  }
  return out;
}

std::vector<Header> Reader::headers(const Node& n) {
  std::vector<Header> out;
  if (n.kind != Node::Kind::sequence) fail(n, "expected a list");
  for (const Node& item : n.items) {
    only_keys(item, {"when", "text"});
    if (item.kind != Node::Kind::map) continue;
    Header h{item.find("when") ? words(item, "when") : Names{}, text(item, "text")};
    for (const std::string& w : h.when)
      if (!is_spelling(w) && !ir::parse_dtype(w))
        fail(item, fmt::format("'{}' is no spelling and no element type", w));
    out.push_back(std::move(h));
  }
  return out;
}

}  // namespace

const Template* Dialect::find(std::string_view spelling) const {
  const auto it = spellings.find(spelling);
  return it == spellings.end() ? nullptr : &it->second;
}

Result<Dialect> parse_dialect(std::string_view text, std::string_view file) {
  static constexpr std::string_view kTypeHoles[] = {"dtype", "scalar", "lanes"};
  static constexpr std::string_view kHeaderHoles[] = {"type", "scalar", "bytes", "align", "lanes"};
  const auto doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  Reader r{*doc, {}};
  const Node& root = doc->root;
  r.only_keys(root, {"schema", "name", "capabilities", "structure", "types", "index_type",
                     "vector_type", "vector_header", "spellings", "headers"});
  Dialect d;
  r.word(root, "schema", {"assay/dialect/1"});
  d.name = r.text(root, "name");
  if (const Node* n = r.need(root, "capabilities")) d.capabilities = r.capabilities(*n);
  d.capabilities.name = d.name;
  if (const Node* n = r.need(root, "structure")) d.structure = r.structure(*n);
  if (const Node* n = r.need(root, "types")) d.types = r.types(*n);
  d.index_type = r.text(root, "index_type");
  d.vector_type = r.spelling(root, "vector_type", kTypeHoles);
  d.vector_header = r.spelling(root, "vector_header", kHeaderHoles);
  if (const Node* n = r.need(root, "spellings")) d.spellings = r.spellings(*n);
  if (const Node* n = r.need(root, "headers")) d.headers = r.headers(*n);
  if (has_error(r.diags)) return std::move(r.diags);
  return d;
}

}  // namespace assay::codegen
