#include "codegen/dialect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <optional>

#include "codegen/spellings.h"
#include "codegen/yaml_reader.h"

namespace assay::codegen {
namespace {

using yaml::Node;

struct Reader : YamlReader {
  hwdesc::DialectCapabilities capabilities(const Node& n);
  Structure structure(const Node& n);
  std::map<ir::DType, ElementType> types(const Node& n);
  ElementType type(const Node& n, bool is_moved = false);
  MemoryForm memory_form(const Node& n);
  void spellings(const Node& n, Dialect& to);
  std::vector<Form> forms(const Node& n, std::span<const std::string_view> holes);
  std::vector<Header> headers(const Node& n);
};

hwdesc::DialectCapabilities Reader::capabilities(const Node& n) {
  only_keys(n, {"vector_widths", "group_barrier", "group_memory", "prefetch", "schedules", "merges",
                "conditions", "math", "dtypes", "lanes"});
  hwdesc::DialectCapabilities c;
  for (const std::string& w : words(n, "vector_widths")) {
    const std::optional<int64_t> width = yaml::whole_number(w);
    const bool fits = width && *width >= 1 && *width <= INT_MAX;
    if (!fits) fail(n, fmt::format("vector width '{}', expected a positive number", w));
    c.vector_widths.push_back(fits ? static_cast<int>(*width) : 1);
  }
  c.group_barrier = flag(n, "group_barrier");
  c.group_memory = flag(n, "group_memory");
  c.prefetch = flag(n, "prefetch");
  c.schedules = n.find("schedules") != nullptr && flag(n, "schedules");
  c.merges = n.find("merges") != nullptr && flag(n, "merges");
  c.conditions = n.find("conditions") != nullptr && flag(n, "conditions");
  c.math = words(n, "math");
  c.dtypes = words(n, "dtypes");
  if (n.find("lanes") != nullptr) c.lanes = words(n, "lanes");
  c.known = true;
  return c;
}

Structure Reader::structure(const Node& n) {
  only_keys(n, {"parameters", "group_memory", "ids", "mixed_operands", "separate_displacements"});
  Structure s;
  s.parameters =
      static_cast<Parameters>(word(n, "parameters", {"pointers", "blocks", "attributes"}));
  s.group_memory = static_cast<GroupMemory>(word(n, "group_memory", {"body", "file"}));
  s.ids = static_cast<Ids>(word(n, "ids", {"call", "variable"}));
  s.mixed_operands = flag(n, "mixed_operands");
  s.separate_displacements =
      n.find("separate_displacements") != nullptr && flag(n, "separate_displacements");
  return s;
}

MemoryForm Reader::memory_form(const Node& n) {
  static constexpr std::string_view kHoles[] = {"a"};
  only_keys(n, {"scalar", "read", "write"});
  return {text(n, "scalar"), spelling(n, "read", kHoles), spelling(n, "write", kHoles)};
}

ElementType Reader::type(const Node& n, bool is_moved) {
  static constexpr std::string_view kHoles[] = {"digits", "bits"};
  static constexpr std::string_view kNarrowHoles[] = {"scalar", "a"};
  static constexpr std::string_view kConversionHoles[] = {"a", "type", "from", "lanes"};
  Names keys = {"scalar", "literal", "infinity", "nan",   "lanes",
                "narrow", "loaded",  "stored",   "memory"};
  if (!is_moved) keys.insert(keys.end(), {"only_moved", std::string(kMoved)});
  only_keys(n, keys);
  ElementType t;
  t.scalar = text(n, "scalar");
  t.literal = spelling(n, "literal", kHoles);
  if (const Node* v = n.find("infinity")) t.infinity = text_of(*v);
  if (const Node* v = n.find("nan")) t.nan = text_of(*v);
  t.only_moved = n.find("only_moved") != nullptr && flag(n, "only_moved");
  if (const Node* v = n.find("lanes")) t.lanes = static_cast<int>(number(*v, 1024));
  if (const Node* v = n.find("narrow")) t.narrow = spelling(*v, kNarrowHoles);
  if (const Node* v = n.find(kLoaded)) t.loaded = spelling(*v, kConversionHoles);
  if (const Node* v = n.find(kStored)) t.stored = spelling(*v, kConversionHoles);
  if (const Node* v = n.find("memory")) t.memory = memory_form(*v);
  if (const Node* v = is_moved ? nullptr : n.find(kMoved)) t.moved.push_back(type(*v, true));
  return t;
}

std::map<ir::DType, ElementType> Reader::types(const Node& n) {
  std::map<ir::DType, ElementType> out;
  if (n.kind != Node::Kind::map) fail(n, "expected a map");
  for (const yaml::Entry& e : n.entries) {
    if (const auto dtype = ir::parse_element_type(e.key))
      out[*dtype] = type(e.value);
    else
      diags.push_back(
          error_at(doc, e.line, e.col, fmt::format("unknown element type '{}'", e.key)));
  }
  return out;
}

std::vector<Form> Reader::forms(const Node& n, std::span<const std::string_view> holes) {
  std::vector<Form> out;
  if (n.kind != Node::Kind::map || n.entries.empty()) fail(n, "expected a map of forms by name");
  for (const yaml::Entry& e : n.entries) out.push_back({e.key, spelling(e.value, holes)});
  return out;
}

void Reader::spellings(const Node& n, Dialect& to) {
  Names known;
  for (const SpellingRow& row : spelling_rows()) known.emplace_back(row.name);
  only_keys(n, known);
  if (n.kind != Node::Kind::map) return;
  for (const SpellingRow& row : spelling_rows()) {
    const Node* v = n.find(row.name);
    if (v == nullptr) {
      if (row.required) fail(n, fmt::format("spelling '{}' is missing", row.name));
      continue;
    }
    const Node* several = v->kind == Node::Kind::map ? v->find("forms") : nullptr;
    if (several == nullptr) {
      to.spellings.emplace(row.name, spelling(*v, row.hole_names()));
      continue;
    }
    only_keys(*v, {"forms"});
    std::vector<Form> found = forms(*several, row.hole_names());
    if (found.empty()) continue;
    to.spellings.emplace(row.name, found.front().text);
    to.forms.emplace(row.name, std::move(found));
  }
}

// An element type, or what is done with it: f16, f16.loaded, f16.moved.
bool is_type_word(std::string_view word) {
  const size_t dot = word.find('.');
  const std::string_view use = dot == std::string_view::npos ? kMoved : word.substr(dot + 1);
  return ir::parse_element_type(word.substr(0, dot)) &&
         (use == kLoaded || use == kStored || use == kMoved);
}

std::vector<Header> Reader::headers(const Node& n) {
  std::vector<Header> out;
  if (n.kind != Node::Kind::sequence) fail(n, "expected a list");
  for (const Node& item : n.items) {
    only_keys(item, {"when", "text"});
    if (item.kind != Node::Kind::map) continue;
    Header h{item.find("when") ? words(item, "when") : Names{}, text(item, "text")};
    for (const std::string& w : h.when)
      if (!is_spelling(w) && !is_type_word(w))
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

const Template* Dialect::find(std::string_view spelling, ir::DType dtype) const {
  if (chosen.empty()) return find(spelling);
  const auto it = chosen.find(fmt::format("{}.{}", spelling, ir::name_of(dtype)));
  return it == chosen.end() ? find(spelling) : &it->second;
}

Result<Dialect> in_forms(const Dialect& dialect, std::span<const hwdesc::NamedText> forms) {
  Dialect out = dialect;
  Diags diags;
  for (const auto& [key, form] : forms) {
    const size_t dot = key.find('.');
    const std::string op = key.substr(0, dot);
    const auto several = dialect.forms.find(op);
    if (dot == std::string::npos || !ir::parse_element_type(key.substr(dot + 1))) {
      diags.push_back(error(
          fmt::format("forms.{}: expected an operation and an element type, as fma.f32", key)));
    } else if (several == dialect.forms.end()) {
      Names with;
      for (const auto& [name, unused] : dialect.forms) with.push_back(name);
      diags.push_back(error(
          fmt::format("forms.{}: dialect {} spells '{}' in one way alone", key, dialect.name, op),
          with.empty() ? "" : fmt::format("it has forms of: {}", fmt::join(with, ", "))));
    } else {
      Names names;
      for (const Form& f : several->second) {
        names.push_back(f.name);
        if (f.name == form) out.chosen.insert_or_assign(key, f.text);
      }
      if (std::find(names.begin(), names.end(), form) == names.end())
        diags.push_back(error(fmt::format("forms.{}: dialect {} has no form '{}' of '{}'", key,
                                          dialect.name, form, op),
                              fmt::format("it has: {}", fmt::join(names, ", "))));
    }
  }
  if (has_error(diags)) return diags;
  return out;
}

Result<Dialect> parse_dialect(std::string_view text, std::string_view file) {
  static constexpr std::string_view kTypeHoles[] = {"dtype", "scalar", "lanes"};
  static constexpr std::string_view kHeaderHoles[] = {"type", "scalar", "bytes", "align", "lanes"};
  const auto doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  Reader r{{{*doc}}};
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
  if (const Node* n = root.find("capabilities"); n != nullptr && root.find("types") != nullptr)
    for (const std::string& t : d.capabilities.dtypes)
      if (const auto dtype = ir::parse_element_type(t); !dtype || !d.types.contains(*dtype))
        r.fail(*n, fmt::format("it is said to have elements of type '{}'", t),
               "their spelling stands in `types`");
  d.index_type = r.text(root, "index_type");
  d.vector_type = r.spelling(root, "vector_type", kTypeHoles);
  d.vector_header = r.spelling(root, "vector_header", kHeaderHoles);
  if (const Node* n = r.need(root, "spellings")) r.spellings(*n, d);
  if (const Node* n = r.need(root, "headers")) d.headers = r.headers(*n);
  if (has_error(r.diags)) return std::move(r.diags);
  return d;
}

Result<Dialect> dialect_for(const hwdesc::Target& target) {
  const std::string& name = target.dialect.name;
  const Result<Dialect> dialect = parse_dialect(dialect_text(name), name + ".yaml");
  if (!dialect) return dialect;
  Result<Dialect> printed = in_forms(*dialect, target.api.forms);
  if (printed) return printed;
  Diags diags = printed.diags();
  for (Diag& d : diags) d.message = fmt::format("apis.{}.{}", target.api.name, d.message);
  return diags;
}

}  // namespace assay::codegen
