// The YAML form of a plan. Tensors and programs are addressed by their position; a queue is written
// [unit, begin, end].
//
//   schema: assay/plan/1
//   name: resnet50
//   units: 2
//   arena_bytes: 1234
//   weights_bytes: 5678
//   tensors:
//     - {name: data, type: f32 1x3x224x224, kind: input, layout: "[0, 1, 2, 3]", offset: 0,
//        bytes: 602112}
//   programs:
//     - name: conv ...                            # text_program.h
//   steps:
//     - {name: conv1, label: "conv 64x112x112 7x7 (conv1)", program: 0, arguments: [0, 1, 2],
//        queues: [[0, 0, 56], [1, 56, 112]]}
#include <fmt/format.h>

#include <array>

#include "ir/limits.h"
#include "ir/plan.h"
#include "ir/text_graph.h"
#include "ir/text_layout.h"
#include "ir/text_program.h"
#include "support/hash.h"

namespace assay::ir {
namespace {

using yaml::quote;

constexpr std::array<std::string_view, 4> kKinds = {"input", "output", "constant", "temporary"};
constexpr int64_t kMaxBytes = int64_t{1} << 60;

std::string spell_tensor(const PlanTensor& t) {
  return fmt::format("{{name: {}, type: {}, kind: {}, layout: {}, offset: {}, bytes: {}{}}}",
                     quote(t.name), spell_type(t.dtype, t.shape),
                     kKinds[static_cast<size_t>(t.kind)], quote(print(t.layout)), t.offset, t.bytes,
                     t.cleared ? ", cleared: true" : "");
}

std::string spell_step(const Step& s) {
  std::string queues;
  for (const Queue& q : s.queues)
    queues += fmt::format("{}[{}, {}, {}]", queues.empty() ? "" : ", ", q.unit, q.begin, q.end);
  const std::string label = s.label.empty() ? "" : fmt::format(", label: {}", quote(s.label));
  return fmt::format("{{name: {}{}, program: {}, arguments: [{}], queues: [{}]}}", quote(s.name),
                     label, s.program, fmt::join(s.arguments, ", "), queues);
}

class PlanReader {
 public:
  explicit PlanReader(TextReader& reader) : r_(reader) {}

  Plan read(const yaml::Node& node) {
    if (!r_.is_map(node, "a plan",
                   {"schema", "name", "units", "arena_bytes", "weights_bytes", "tensors",
                    "programs", "steps"}))
      return {};
    p_.name = r_.text_or(node, "name", "plan");
    p_.units = static_cast<int>(r_.integer_or(node, "units", 1, 1 << 20, 1));
    p_.arena_bytes = r_.integer_or(node, "arena_bytes", 0, kMaxBytes, 0);
    p_.weights_bytes = r_.integer_or(node, "weights_bytes", 0, kMaxBytes, 0);
    for (const yaml::Node& t : items(node, "tensors")) read_tensor(t);
    for (const yaml::Node& p : items(node, "programs"))
      p_.programs.push_back(read_program(r_, p, false));
    for (const yaml::Node& s : items(node, "steps")) read_step(s);
    if (r_.ok())
      for (const Diag& d : verify(p_)) r_.fault(node, d.message, d.hint);
    return std::move(p_);
  }

 private:
  const std::vector<yaml::Node>& items(const yaml::Node& node, std::string_view key) {
    static const std::vector<yaml::Node> kNone;
    const yaml::Node* found = r_.need(node, key);
    return found && r_.is_list(*found, key) ? found->items : kNone;
  }

  void read_tensor(const yaml::Node& node) {
    if (!r_.is_map(node, "a tensor",
                   {"name", "type", "kind", "layout", "offset", "bytes", "cleared"}))
      return;
    PlanTensor t;
    for (std::string_view key : {"name", "offset", "bytes"}) r_.need(node, key);
    t.name = r_.text_or(node, "name", "");
    if (const yaml::Node* type = r_.need(node, "type")) read_type(r_, *type, t.dtype, t.shape);
    if (const yaml::Node* kind = r_.need(node, "kind")) t.kind = read_kind(*kind);
    if (const yaml::Node* layout = r_.need(node, "layout"))
      if (auto parsed = r_.expression(*layout, [](Scanner& s) { return parse_layout(s); })) {
        if (const std::string fault = layout_fault(*parsed, t.shape); !fault.empty())
          r_.fault(*layout, fault);
        t.layout = std::move(*parsed);
      }
    t.offset = r_.integer_or(node, "offset", 0, kMaxBytes, 0);
    t.bytes = r_.integer_or(node, "bytes", 0, kMaxBytes, 0);
    t.cleared = r_.flag_or(node, "cleared", false);
    p_.tensors.push_back(std::move(t));
  }

  TensorKind read_kind(const yaml::Node& node) {
    for (size_t i = 0; i < kKinds.size(); ++i)
      if (node.kind == yaml::Node::Kind::scalar && node.scalar == kKinds[i])
        return static_cast<TensorKind>(i);
    r_.fault(node, "unknown kind", fmt::format("one of {}", fmt::join(kKinds, ", ")));
    return TensorKind::temporary;
  }

  void read_step(const yaml::Node& node) {
    if (!r_.is_map(node, "a step", {"name", "label", "program", "arguments", "queues"})) return;
    Step s;
    s.name = r_.text_or(node, "name", "");
    s.label = r_.text_or(node, "label", "");
    const int64_t programs = static_cast<int64_t>(p_.programs.size()),
                  tensors = static_cast<int64_t>(p_.tensors.size());
    if (r_.need(node, "program"))
      s.program = static_cast<int>(r_.integer_or(node, "program", 0, programs - 1, -1));
    for (const yaml::Node& a : items(node, "arguments"))
      s.arguments.push_back(static_cast<int>(r_.integer(a, 0, tensors - 1).value_or(0)));
    for (const yaml::Node& q : items(node, "queues")) s.queues.push_back(read_queue(q));
    p_.steps.push_back(std::move(s));
  }

  Queue read_queue(const yaml::Node& node) {
    if (node.kind != yaml::Node::Kind::sequence || node.items.size() != 3) {
      r_.fault(node, "a queue is [unit, begin, end]");
      return {};
    }
    const auto at = [&](size_t i, int64_t high) {
      return r_.integer(node.items[i], 0, high).value_or(0);
    };
    return {static_cast<int>(at(0, p_.units - 1)), at(1, kMaxElements), at(2, kMaxElements)};
  }

  TextReader& r_;
  Plan p_;
};

}  // namespace

std::string print_plan(const Plan& p) {
  std::string text =
      fmt::format("schema: assay/plan/1\nname: {}\nunits: {}\narena_bytes: {}\nweights_bytes: {}\n",
                  quote(p.name), p.units, p.arena_bytes, p.weights_bytes);
  text += p.tensors.empty() ? "tensors: []\n" : "tensors:\n";
  for (const PlanTensor& t : p.tensors) text += fmt::format("  - {}\n", spell_tensor(t));
  text += p.programs.empty() ? "programs: []\n" : "programs:\n";
  for (const Program& program : p.programs) {
    std::string fields = print_program_fields(program, 4);
    fields[2] = '-';  // the first line's indentation becomes the list's mark
    text += fields;
  }
  text += p.steps.empty() ? "steps: []\n" : "steps:\n";
  for (const Step& s : p.steps) text += fmt::format("  - {}\n", spell_step(s));
  return text;
}

std::string hash_of(const Plan& p) { return hash_hex(print_plan(p)); }

Result<Plan> parse_plan(std::string_view text, std::string_view file) {
  Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc.ok()) return doc.diags();
  TextReader reader(*doc);
  if (!reader.has_schema("assay/plan/1")) return reader.diags();
  Plan p = PlanReader(reader).read(doc->root);
  if (!reader.ok()) return reader.diags();
  return p;
}

}  // namespace assay::ir
