#include "codegen/isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "codegen/dialect.h"
#include "codegen/yaml_reader.h"
#include "support/edit_distance.h"

namespace assay::codegen {
namespace {

using yaml::Node;

constexpr int kLargest = 1024;  // m, n or k

struct Reader : YamlReader {
  int size(const Node& shape, std::string_view key) {
    const Node* n = need(shape, key);
    return n == nullptr ? 1 : static_cast<int>(number(*n, kLargest));
  }
  ir::DType type(const Node& map, std::string_view key, ir::DType otherwise) {
    const Node* n = map.find(key);
    if (n == nullptr) return otherwise;
    if (const auto t = ir::parse_element_type(text_of(*n))) return *t;
    fail(*n, fmt::format("unknown element type '{}'", n->scalar),
         "f32 f64 f16 bf16 i8 i32, or f16x2 bf16x2 of registers");
    return otherwise;
  }
  ir::Fragment fragment(const Node& root, const char* key, int rows, int cols);
  void cover(const Node& at, const ir::TaskMapping& m, int rows, int cols);
  InstructionSpelling spelling_in(const Node& n, const ir::MatrixInstruction& i);
  std::vector<Need> needs(const Node& n);
};

// Every element is held by the same number of workers.
void Reader::cover(const Node& at, const ir::TaskMapping& m, int rows, int cols) {
  if (m.rows() != rows || m.cols() != cols)
    return fail(at,
                fmt::format("the mapping is of a matrix of {} x {}, expected {} x {}", m.rows(),
                            m.cols(), rows, cols),
                "its rows and columns are the products of those of its steps");
  std::vector<int> held(static_cast<size_t>(rows) * static_cast<size_t>(cols), 0);
  for (int w = 0; w < m.workers(); ++w)
    for (int i = 0; i < m.items(); ++i) {
      const ir::Task t = m.task(w, i);
      ++held[static_cast<size_t>(t.row * cols + t.col)];
    }
  if (std::any_of(held.begin(), held.end(), [&](int n) { return n != held[0]; }))
    fail(at, "some elements are held more often than others");
}

ir::Fragment Reader::fragment(const Node& root, const char* key, int rows, int cols) {
  ir::Fragment f;
  const Node* n = need(root, key);
  if (n == nullptr) return f;
  only_keys(*n, {"dtype", "in", "reads", "mapping"});
  if (need(*n, "dtype") != nullptr) f.number = f.element = type(*n, "dtype", ir::DType::f32);
  f.element = type(*n, "in", f.number);
  if (const Node* reads = n->find("reads")) {
    word(*n, "reads", {"tf32"});
    f.tf32 = true;
    if (f.number != ir::DType::f32) fail(*reads, "tf32 is how f32 is read");
  }
  if (ir::numbers_in(f.number) > 1)
    fail(*n, fmt::format("{} holds two numbers", ir::name_of(f.number)),
         fmt::format("dtype: {}, in: {}", ir::name_of(ir::number_type(f.number)),
                     ir::name_of(f.number)));
  const Node* mapping = n->find("mapping");
  if (mapping == nullptr) return f;
  auto parsed = ir::parse_mapping(text_of(*mapping));
  if (!parsed) {
    fail(*mapping, parsed.diags()[0].message, parsed.diags()[0].hint);
    return f;
  }
  f.mapping = std::move(parsed).value();
  cover(*mapping, f.mapping, rows, cols);
  const int per = f.per_register();
  const bool fits =
      per == 1 ? f.element == f.number
               : ir::bytes_of(f.element) == 4 &&
                     (f.element == ir::DType::i32 || ir::number_type(f.element) == f.number);
  if (per < 1 || !fits)
    fail(*n,
         fmt::format("elements of type {} do not hold {}", ir::name_of(f.element),
                     ir::name_of(f.number)),
         "`in` is the type of the registers: f16x2 of f16, i32 of i8");
  else if (f.mapping.items() % per != 0)
    fail(*mapping, fmt::format("a worker has {} elements, which do not fill registers of {}",
                               f.mapping.items(), per));
  return f;
}

std::vector<Need> Reader::needs(const Node& n) {
  std::vector<Need> out;
  if (n.kind != Node::Kind::map)
    fail(n, "expected a map from facts of a device to what they must be");
  for (const yaml::Entry& e : n.entries) out.push_back({e.key, text_of(e.value)});
  return out;
}

InstructionSpelling Reader::spelling_in(const Node& n, const ir::MatrixInstruction& i) {
  InstructionSpelling s;
  only_keys(n, {"needs", "text", "header"});
  std::vector<std::string> names;
  for (const auto& [operand, f] :
       {std::pair<char, const ir::Fragment&>{'a', i.a}, {'b', i.b}, {'c', i.c}, {'d', i.c}})
    for (int r = 0; r < f.registers(); ++r) names.push_back(fmt::format("{}{}", operand, r));
  const std::vector<std::string_view> holes(names.begin(), names.end());
  s.text = spelling(n, "text", holes);
  for (const std::string_view hole : holes)
    if (!s.text.pieces.empty() &&
        std::none_of(s.text.pieces.begin(), s.text.pieces.end(),
                     [&](const Piece& p) { return p.hole && p.text == hole; }))
      fail(n, fmt::format("{{{}}} is missing in the text", hole));
  if (const Node* v = n.find("needs")) s.needs = needs(*v);
  if (const Node* v = n.find("header")) s.header = text_of(*v);
  return s;
}

}  // namespace

Result<Instruction> parse_instruction(std::string_view text, std::string_view file) {
  const auto doc = yaml::parse(text, file);
  if (!doc) return doc.diags();
  Reader r{{{*doc}}};
  const Node& root = doc->root;
  r.only_keys(root, {"schema", "name", "shape", "a", "b", "c", "spellings"});
  Instruction out;
  ir::MatrixInstruction& i = out.computes;
  r.word(root, "schema", {"assay/isa/1"});
  i.name = r.text(root, "name");
  if (const Node* shape = r.need(root, "shape")) {
    r.only_keys(*shape, {"m", "n", "k"});
    i.m = r.size(*shape, "m");
    i.n = r.size(*shape, "n");
    i.k = r.size(*shape, "k");
  }
  i.a = r.fragment(root, "a", i.m, i.k);
  i.b = r.fragment(root, "b", i.k, i.n);
  i.c = r.fragment(root, "c", i.m, i.n);
  for (const auto& [key, f] : {std::pair<const char*, const ir::Fragment&>{"a", i.a}, {"b", i.b}}) {
    const Node* n = root.find(key);
    if (n == nullptr || has_error(r.diags)) continue;
    if (f.mapping.steps.empty() != i.c.mapping.steps.empty())
      r.fail(*n, "of a, b and c only some have a mapping", "give it for all of them, or for none");
    else if (f.mapping.workers() != i.workers())
      r.fail(*n,
             fmt::format("it is held by {} workers, c by {}", f.mapping.workers(), i.workers()));
  }
  const Node* spellings = has_error(r.diags) ? nullptr : root.find("spellings");
  if (spellings != nullptr && !out.has_lanes())
    r.fail(*spellings, "a text names the registers of a, b and c, which have no mappings",
           "give them, or leave the text out: then the instruction is priced only");
  else if (spellings != nullptr && spellings->kind != Node::Kind::map)
    r.fail(*spellings, "expected a map from dialects to their text");
  else if (spellings != nullptr)
    for (const yaml::Entry& e : spellings->entries) {
      const std::vector<std::string> known = dialect_names();
      const std::string near = nearest(e.key, known);
      if (std::find(known.begin(), known.end(), e.key) == known.end())
        r.diags.push_back(error_at(*doc, e.line, e.col,
                                   fmt::format("there is no dialect '{}'", e.key),
                                   near.empty() ? "" : fmt::format("did you mean '{}'?", near)));
      out.spellings.emplace(e.key, r.spelling_in(e.value, i));
    }
  if (has_error(r.diags)) return std::move(r.diags);
  return out;
}

Result<Instruction> find_instruction(const std::string& name) {
  const std::string_view text = instruction_text(name);
  if (!text.empty()) return parse_instruction(text, name + ".yaml");
  const std::string near = nearest(name, instruction_names());
  return error(fmt::format("there is no matrix instruction '{}'", name),
               near.empty() ? fmt::format("there are {}", fmt::join(instruction_names(), ", "))
                            : fmt::format("did you mean '{}'?", near));
}

bool has_needs(const std::vector<Need>& needs,
               const std::vector<std::pair<std::string, std::string>>& facts) {
  return std::all_of(needs.begin(), needs.end(), [&](const Need& n) {
    const auto fact =
        std::find_if(facts.begin(), facts.end(), [&](const auto& f) { return f.first == n.fact; });
    if (fact == facts.end()) return false;
    char* end = nullptr;
    const double least = std::strtod(n.value.c_str(), &end);
    if (end != n.value.c_str() && *end == '\0')
      return std::strtod(fact->second.c_str(), nullptr) >= least;
    std::istringstream words(fact->second);
    for (std::string w; words >> w;)
      if (w == n.value) return true;
    return false;
  });
}

}  // namespace assay::codegen
