// The YAML form of a plan. Tensors, programs and steps are addressed by their position. What is
// left out: bytes of a tensor are those of its layout, its offset is behind the tensors before it,
// and arena_bytes and weights_bytes hold all of them.
//
//   schema: assay/plan/3
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
//     - {name: conv1, label: "conv 64x112x112 7x7 (conv1)", program: 0, arguments: [0, 1, 2]}
//     - {name: row, program: 1, arguments: [2, 3], begins: [4096, 0]}  # from element 4096 on
//     - {name: yes, program: 2, arguments: [3, 4], needed_if: {tensor: 5, value: true}}
//   resident: 2                                     # of a GPU: all in one launch
//   schedule:                                       # text_schedule.h
//     - {run: 0}
//
// In a plan for a limit of device memory tensors may lie in host memory (`host: true`). Offsets of
// host constants begin behind the weights of the device:
//
//   memory: 268435456
//   host_bytes: 805306368
//   host_weights_bytes: 0
//   transfers:
//     - {way: upload, step: 0, device: 3, host: 0, begin: [0, 0, 62, 0]}
//     - {way: clear, step: 0, device: 4}
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ir/limits.h"
#include "ir/phases.h"
#include "ir/plan.h"
#include "ir/text_graph.h"
#include "ir/text_layout.h"
#include "ir/text_program.h"
#include "ir/text_schedule.h"
#include "support/hash.h"

namespace assay::ir {
namespace {

using yaml::quote;

constexpr std::array<std::string_view, 4> kKinds = {"input", "output", "constant", "temporary"};
constexpr std::array<std::string_view, 3> kWays = {"upload", "download", "clear"};
constexpr std::string_view kSchema = "assay/plan/3";
constexpr int64_t kMaxBytes = int64_t{1} << 60;

std::string spell_tensor(const PlanTensor& t) {
  return fmt::format("{{name: {}, type: {}, kind: {}, layout: {}, offset: {}, bytes: {}{}{}}}",
                     quote(t.name), spell_type(t.dtype, t.shape),
                     kKinds[static_cast<size_t>(t.kind)], quote(print(t.layout)), t.offset, t.bytes,
                     t.cleared ? ", cleared: true" : "", t.host ? ", host: true" : "");
}

std::string spell_transfer(const Transfer& t) {
  const std::string region =
      t.way == Transfer::Way::clear
          ? ""
          : fmt::format(", host: {}, begin: [{}]", t.host, fmt::join(t.begin, ", "));
  return fmt::format("{{way: {}, step: {}, device: {}{}}}", kWays[static_cast<size_t>(t.way)],
                     t.step, t.device, region);
}

std::string spell_step(const Step& s) {
  const std::string label = s.label.empty() ? "" : fmt::format(", label: {}", quote(s.label));
  const std::string begins =
      s.begins.empty() ? "" : fmt::format(", begins: [{}]", fmt::join(s.begins, ", "));
  const std::string needed = s.needed_if ? fmt::format(", needed_if: {{tensor: {}, value: {}}}",
                                                       s.needed_if->tensor, s.needed_if->value)
                                         : "";
  return fmt::format("{{name: {}{}, program: {}, arguments: [{}]{}{}}}", quote(s.name), label,
                     s.program, fmt::join(s.arguments, ", "), begins, needed);
}

class PlanReader {
 public:
  explicit PlanReader(TextReader& reader) : r_(reader) {}

  Plan read(const yaml::Node& node) {
    if (!r_.is_map(node, "a plan",
                   {"schema", "name", "units", "arena_bytes", "weights_bytes", "memory",
                    "host_bytes", "host_weights_bytes", "resident", "tensors", "programs", "steps",
                    "schedule", "phases", "transfers"}))
      return {};
    p_.name = r_.text_or(node, "name", "plan");
    p_.units = static_cast<int>(r_.integer_or(node, "units", 1, 1 << 20, 1));
    p_.arena_bytes = r_.integer_or(node, "arena_bytes", 0, kMaxBytes, 0);
    p_.weights_bytes = r_.integer_or(node, "weights_bytes", 0, kMaxBytes, 0);
    read_limit(node);
    for (const yaml::Node& t : items(node, "tensors")) read_tensor(t);
    if (node.find("arena_bytes") == nullptr) p_.arena_bytes = ends_[0];
    if (node.find("weights_bytes") == nullptr) p_.weights_bytes = ends_[2];
    for (const yaml::Node& p : items(node, "programs"))
      p_.programs.push_back(read_program(r_, p, false));
    for (const yaml::Node& s : items(node, "steps")) read_step(s);
    if (limited_)
      for (const yaml::Node& t : items(node, "transfers")) read_transfer(t);
    const yaml::Node* schedule = node.find("schedule");
    p_.resident = static_cast<int>(r_.integer_or(node, "resident", 1, 1 << 12, 0));
    if (p_.resident > 0 && schedule == nullptr)
      r_.fault(*node.find("resident"), "groups are resident in plans with a schedule",
               "schedule: ...");
    if (schedule != nullptr) read_schedule(r_, *schedule, p_);
    const yaml::Node* phases = node.find("phases");
    if (phases != nullptr) read_phases(r_, *phases, p_);
    if (!r_.ok()) return std::move(p_);
    std::vector<Command> commands = std::exchange(p_.schedule, {});
    std::vector<std::vector<int>> together = std::exchange(p_.phases, {});
    for (const Diag& d : verify(p_)) r_.fault(node, d.message, d.hint);
    p_.schedule = std::move(commands);
    p_.phases = std::move(together);
    if (r_.ok() && schedule != nullptr) check_schedule(*schedule);
    if (r_.ok() && phases != nullptr) check_phases(*phases);
    return std::move(p_);
  }

 private:
  // Faults stand at their commands.
  void check_schedule(const yaml::Node& node) {
    for (const ScheduleFault& f : schedule_faults(p_))
      r_.fault(f.command < 0 ? node : node.items[static_cast<size_t>(f.command)], f.diag.message,
               f.diag.hint);
    if (r_.ok())
      for (const Diag& d : verify(p_)) r_.fault(node, d.message, d.hint);
  }

  void check_phases(const yaml::Node& node) {
    for (const PhaseFault& f : phase_faults(p_))
      r_.fault(f.phase < 0 ? node : node.items[static_cast<size_t>(f.phase)], f.diag.message,
               f.diag.hint);
    if (r_.ok())
      for (const Diag& d : verify(p_)) r_.fault(node, d.message, d.hint);
  }

  const std::vector<yaml::Node>& items(const yaml::Node& node, std::string_view key) {
    static const std::vector<yaml::Node> kNone;
    const yaml::Node* found = r_.need(node, key);
    return found && r_.is_list(*found, key) ? found->items : kNone;
  }

  void read_limit(const yaml::Node& node) {
    limited_ = node.find("memory") != nullptr;
    for (const std::string_view key : {"host_bytes", "host_weights_bytes", "transfers"})
      if (const yaml::Node* found = node.find(key); found != nullptr && !limited_)
        r_.fault(*found, fmt::format("`{}` is of plans for a limit of memory", key),
                 "memory: BYTES");
    if (!limited_) return;
    p_.memory = r_.integer_or(node, "memory", 1, kMaxBytes, 1);
    p_.host_bytes = r_.integer_or(node, "host_bytes", 0, kMaxBytes, 0);
    p_.host_weights_bytes = r_.integer_or(node, "host_weights_bytes", 0, kMaxBytes, 0);
  }

  void read_tensor(const yaml::Node& node) {
    if (!r_.is_map(node, "a tensor",
                   {"name", "type", "kind", "layout", "offset", "bytes", "cleared", "host"}))
      return;
    PlanTensor t;
    r_.need(node, "name");
    t.name = r_.text_or(node, "name", "");
    if (const yaml::Node* type = r_.need(node, "type")) read_type(r_, *type, t.dtype, t.shape);
    if (const yaml::Node* kind = r_.need(node, "kind"))
      t.kind = read_word<TensorKind>(*kind, kKinds, "kind");
    if (const yaml::Node* layout = r_.need(node, "layout"))
      if (auto parsed = r_.expression(*layout, [](Scanner& s) { return parse_layout(s); })) {
        if (const std::string fault = layout_fault(*parsed, t.shape); !fault.empty())
          r_.fault(*layout, fault);
        t.layout = std::move(*parsed);
      }
    t.cleared = r_.flag_or(node, "cleared", false);
    t.host = r_.flag_or(node, "host", false);
    const bool known = r_.ok();
    t.bytes = r_.integer_or(
        node, "bytes", 0, kMaxBytes,
        known ? aligned(physical_elements(t.layout, t.shape) * bytes_of(t.dtype)) : 0);
    int64_t& end = end_of(t);
    t.offset = r_.integer_or(node, "offset", 0, kMaxBytes, end);
    end = std::max(end, aligned(t.offset + t.bytes));
    p_.tensors.push_back(std::move(t));
  }

  // Where the tensors of its storage end that were read so far.
  int64_t& end_of(const PlanTensor& t) {
    return ends_[(t.kind == TensorKind::constant ? 2 : 0) + (t.host ? 1 : 0)];
  }

  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

  template <class Word, size_t N>
  Word read_word(const yaml::Node& node, const std::array<std::string_view, N>& words,
                 const char* what) {
    for (size_t i = 0; i < N; ++i)
      if (node.kind == yaml::Node::Kind::scalar && node.scalar == words[i])
        return static_cast<Word>(i);
    r_.fault(node, fmt::format("unknown {}", what),
             fmt::format("one of {}", fmt::join(words, ", ")));
    return static_cast<Word>(N - 1);
  }

  void read_step(const yaml::Node& node) {
    if (!r_.is_map(node, "a step",
                   {"name", "label", "program", "arguments", "begins", "needed_if"}))
      return;
    Step s;
    s.name = r_.text_or(node, "name", "");
    s.label = r_.text_or(node, "label", "");
    const int64_t programs = static_cast<int64_t>(p_.programs.size()),
                  tensors = static_cast<int64_t>(p_.tensors.size());
    if (r_.need(node, "program"))
      s.program = static_cast<int>(r_.integer_or(node, "program", 0, programs - 1, -1));
    for (const yaml::Node& a : items(node, "arguments"))
      s.arguments.push_back(static_cast<int>(r_.integer(a, 0, tensors - 1).value_or(0)));
    if (const yaml::Node* begins = node.find("begins"); begins && r_.is_list(*begins, "begins"))
      for (const yaml::Node& b : begins->items)
        s.begins.push_back(r_.integer(b, 0, kMaxElements).value_or(0));
    if (const yaml::Node* needed = node.find("needed_if");
        needed && r_.is_map(*needed, "needed_if", {"tensor", "value"})) {
      for (const std::string_view key : {"tensor", "value"}) r_.need(*needed, key);
      s.needed_if = NeededIf{static_cast<int>(r_.integer_or(*needed, "tensor", 0, tensors - 1, -1)),
                             r_.flag_or(*needed, "value", true)};
    }
    p_.steps.push_back(std::move(s));
  }

  void read_transfer(const yaml::Node& node) {
    if (!r_.is_map(node, "a transfer", {"way", "step", "device", "host", "begin"})) return;
    Transfer t;
    if (const yaml::Node* way = r_.need(node, "way"))
      t.way = read_word<Transfer::Way>(*way, kWays, "way of a transfer");
    for (const std::string_view key : {"step", "device"}) r_.need(node, key);
    const int64_t tensors = static_cast<int64_t>(p_.tensors.size());
    t.step =
        static_cast<int>(r_.integer_or(node, "step", 0, static_cast<int64_t>(p_.steps.size()), 0));
    t.device = static_cast<int>(r_.integer_or(node, "device", 0, tensors - 1, -1));
    t.host = static_cast<int>(r_.integer_or(node, "host", 0, tensors - 1, -1));
    if (const yaml::Node* begin = node.find("begin"); begin && r_.is_list(*begin, "begin"))
      for (const yaml::Node& b : begin->items)
        t.begin.push_back(r_.integer(b, 0, kMaxElements).value_or(0));
    if (r_.ok())
      if (const std::string fault = transfer_fault(p_, t); !fault.empty()) r_.fault(node, fault);
    p_.transfers.push_back(std::move(t));
  }

  TextReader& r_;
  Plan p_;
  bool limited_ = false;
  std::array<int64_t, 4>
      ends_{};  // of the arena, the host's arena, the weights, the host's weights
};

}  // namespace

std::string print_plan(const Plan& p) {
  std::string text =
      fmt::format("schema: {}\nname: {}\nunits: {}\narena_bytes: {}\nweights_bytes: {}\n", kSchema,
                  quote(p.name), p.units, p.arena_bytes, p.weights_bytes);
  if (p.memory > 0)
    text += fmt::format("memory: {}\nhost_bytes: {}\nhost_weights_bytes: {}\n", p.memory,
                        p.host_bytes, p.host_weights_bytes);
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
  if (p.resident > 0) text += fmt::format("resident: {}\n", p.resident);
  text += print_schedule(p);
  text += print_phases(p);
  if (p.memory > 0) text += p.transfers.empty() ? "transfers: []\n" : "transfers:\n";
  for (const Transfer& t : p.transfers) text += fmt::format("  - {}\n", spell_transfer(t));
  return text;
}

std::string hash_of(const Plan& p) { return hash_hex(print_plan(p)); }

Result<Plan> parse_plan(std::string_view text, std::string_view file) {
  Result<yaml::Document> doc = yaml::parse(text, file);
  if (!doc.ok()) return doc.diags();
  TextReader reader(*doc);
  if (!reader.has_schema(kSchema)) return reader.diags();
  Plan p = PlanReader(reader).read(doc->root);
  if (!reader.ok()) return reader.diags();
  return p;
}

}  // namespace assay::ir
