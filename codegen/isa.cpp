#include "codegen/isa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

#include "codegen/dialect.h"
#include "codegen/yaml_reader.h"
#include "ir/text_matrix.h"
#include "support/edit_distance.h"

namespace assay::codegen {
namespace {

using yaml::Node;

struct Reader : YamlReader {
  InstructionSpelling spelling_in(const Node& n, const ir::MatrixInstruction& i);
  void read_run(const Node& n, const char* key, const ir::Fragment& f, const ir::TaskMapping& runs,
                Template& to);
  void read_text(const Node& n, const ir::MatrixInstruction& i, InstructionSpelling& s);
  void read_opaque(const Node& n, const ir::MatrixInstruction& i, InstructionSpelling& s);
  std::vector<Need> needs(const Node& n);
};

std::vector<Need> Reader::needs(const Node& n) {
  std::vector<Need> out;
  if (n.kind != Node::Kind::map)
    fail(n, "expected a map from facts of a device to what they must be");
  for (const yaml::Entry& e : n.entries) out.push_back({e.key, text_of(e.value)});
  return out;
}

// The load of a fragment by its runs, where it has them.
void Reader::read_run(const Node& n, const char* key, const ir::Fragment& f,
                      const ir::TaskMapping& runs, Template& to) {
  const Node* v = n.find(key);
  if (runs.steps.empty() && v != nullptr)
    return fail(*v, "the operand has no such runs", "by_row, by_column: lane -> its run");
  if (runs.steps.empty()) return;
  std::vector<std::string> names{"address"};
  for (int r = 0; r < f.registers(); ++r) names.push_back(fmt::format("r{}", r));
  const std::vector<std::string_view> holes(names.begin(), names.end());
  to = spelling(n, key, holes);
}

void Reader::read_text(const Node& n, const ir::MatrixInstruction& i, InstructionSpelling& s) {
  only_keys(n, {"needs", "text", "header", "a_by_row", "a_by_column", "b_by_row", "b_by_column"});
  read_run(n, "a_by_row", i.a, i.a.by_row, s.a_by_row);
  read_run(n, "a_by_column", i.a, i.a.by_column, s.a_by_column);
  read_run(n, "b_by_row", i.b, i.b.by_row, s.b_by_row);
  read_run(n, "b_by_column", i.b, i.b.by_column, s.b_by_column);
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
}

void Reader::read_opaque(const Node& n, const ir::MatrixInstruction& i, InstructionSpelling& s) {
  static constexpr std::array<std::string_view, 5> kText = {"a", "b", "c", "a_layout", "b_layout"};
  static constexpr std::array<std::string_view, 7> kMove = {
      "register", "address", "buffer", "index", "stride", "bytes", "layout"};
  static constexpr std::array<std::string_view, 2> kDeclare = {"register", "layout"};
  only_keys(n, {"needs", "header", "begin", "end", "sync", "declare_a", "declare_b", "declare_c",
                "zero", "load_a", "load_b", "store_c", "text"});
  s.text = spelling(n, "text", kText);
  s.zero = spelling(n, "zero", std::span(kMove).first(1));
  s.load_a = spelling(n, "load_a", kMove);
  s.load_b = spelling(n, "load_b", kMove);
  s.store_c = spelling(n, "store_c", kMove);
  for (const auto& [key, to] : {std::pair<const char*, Template*>{"declare_a", &s.declare_a},
                                {"declare_b", &s.declare_b},
                                {"declare_c", &s.declare_c}})
    if (i.registers == 0)
      *to = spelling(n, key, kDeclare);
    else if (const Node* v = n.find(key))
      fail(*v, "registers that have numbers are not declared");
  for (const auto& [key, to] : {std::pair<const char*, std::string*>{"begin", &s.begin},
                                {"end", &s.end},
                                {"sync", &s.sync}})
    if (const Node* v = n.find(key)) *to = text_of(*v);
}

InstructionSpelling Reader::spelling_in(const Node& n, const ir::MatrixInstruction& i) {
  InstructionSpelling s;
  i.opaque() ? read_opaque(n, i, s) : read_text(n, i, s);
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
  r.only_keys(root, {"schema", "name", "shape", "registers", "align", "a", "b", "c", "spellings"});
  Instruction out;
  r.word(root, "schema", {"assay/isa/1"});
  const ir::MatrixInstruction& i = out.computes = ir::read_instruction(r, root);
  const Node* spellings = has_error(r.diags) ? nullptr : root.find("spellings");
  if (spellings != nullptr && !i.has_fragments())
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
