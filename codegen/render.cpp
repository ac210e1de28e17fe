#include "codegen/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/legalise.h"
#include "codegen/one_lane.h"
#include "codegen/print_headers.h"
#include "codegen/printer.h"

namespace assay::codegen {
namespace {

constexpr int64_t kAlignment = 64;

bool is_identifier(const std::string& name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), fits);
}

int64_t scratch_piece(const ir::Buffer& b) {
  return (b.elements * ir::bytes_of(b.dtype) + kAlignment - 1) / kAlignment * kAlignment;
}

// The code around a body: an entry of its own, or a case of a sequence of launches or of merged
// ones.
enum class Frame { entry, sequence, merged };

constexpr const char* kEntry = "entry";
constexpr const char* kEntrySimt = "entry_simt";
constexpr const char* kSequenceCase = "sequence_case";

struct FrameText {
  std::string declarations;  // of buffers at file scope
  std::string parameters, entry_parameters, arguments;
  std::string names;  // of the parameters
};

// Parameters for the group's number, and for the lane's where lanes are threads.
std::string own_parameters(Printer& p) {
  std::string out = p.spell("parameter_group", {{"name", {p.index_names[0]}}}).text;
  if (p.kernel.lane >= 0)
    out += ", " + p.spell("parameter_lane",
                          {{"name", {p.index_names[static_cast<size_t>(p.kernel.lane)]}}})
                      .text;
  return out;
}

std::string own_names(const Printer& p) {
  std::string out = p.index_names[0];
  if (p.kernel.lane >= 0) out += ", " + p.index_names[static_cast<size_t>(p.kernel.lane)];
  return out;
}

// The suffix of its spellings.
std::string kind_of(const ir::Buffer& b) {
  if (b.scope == ir::Scope::scratch) return "scratch";
  if (b.space != ir::Space::plain) return b.space == ir::Space::image ? "image" : "constant";
  return b.written ? "out" : "in";
}

// The name of one of its spellings; what is read back is spelled as any output by default.
std::string spelling_of(const Printer& p, const std::string& prefix, const ir::Buffer& b) {
  const std::string read_back = prefix + "read_back";
  return b.read_back && p.has(read_back) ? read_back : prefix + kind_of(b);
}

// Languages without pointers: buffers are declared at file scope and are no parameters of the body.
FrameText text_of_blocks(Printer& p) {
  FrameText f;
  int position = 0;
  for (size_t i = 0; i < p.kernel.buffers.size(); ++i) {
    const ir::Buffer& b = p.kernel.buffers[i];
    const bool scratch = b.scope == ir::Scope::scratch;
    f.declarations += p.spell(spelling_of(p, "parameter_", b),
                              {{"scalar", {memory_name(p, static_cast<int>(i))}},
                               {"name", {p.buffer_names[i]}},
                               {"position", {std::to_string(position)}},
                               {"elements", {std::to_string(std::max<int64_t>(1, b.elements))}}})
                          .text;
    if (!scratch) ++position;
  }
  f.parameters = own_parameters(p);
  f.names = own_names(p);
  return f;
}

// Parameters of the body and what its caller passes for them.
FrameText text_of(Printer& p, Frame frame) {
  if (p.dialect.structure.parameters == Parameters::blocks) return text_of_blocks(p);
  const std::string argument = frame == Frame::sequence ? "sequence_argument_"
                               : frame == Frame::merged ? "merged_argument_"
                                                        : "argument_";
  FrameText f;
  int position = 0;
  int64_t offset = 0;
  for (size_t i = 0; i < p.kernel.buffers.size(); ++i) {
    const ir::Buffer& b = p.kernel.buffers[i];
    const bool scratch = b.scope == ir::Scope::scratch;
    const std::string kind = kind_of(b);
    const std::vector<Filling> fillings{
        {"scalar", {memory_name(p, static_cast<int>(i))}},
        {"name", {p.buffer_names[i]}},
        {"position", {std::to_string(position)}},
        {"elements", {std::to_string(std::max<int64_t>(1, b.elements))}},
        {"kernel", {p.kernel.name}},
        {"offset", {std::to_string(offset)}}};
    if (const std::string declared = "declaration_" + kind; p.has(declared))
      f.declarations += p.spell(declared, fillings).text;
    f.parameters += p.spell(spelling_of(p, "parameter_", b), fillings).text + ", ";
    f.names += p.buffer_names[i] + ", ";
    const std::string entry = spelling_of(p, "entry_parameter_", b);
    const std::string parameter =
        p.spell(p.has(entry) ? entry : spelling_of(p, "parameter_", b), fillings).text;
    if (!parameter.empty()) f.entry_parameters += parameter + ", ";  // group memory may have none
    f.arguments += p.spell(argument + kind, fillings).text + ", ";
    if (scratch)
      offset += scratch_piece(b);
    else
      ++position;
  }
  f.parameters += own_parameters(p);
  f.names += own_names(p);
  return f;
}

// The body's statements, parts that are functions of their own replaced by calls.
void print_parts(Printer& p, const FrameText& frame, const std::string& body) {
  std::string calls;
  size_t number = 0;
  for (const ir::Stmt& s : p.kernel.body) {
    const std::string name = fmt::format("{}_part{}", body, number++);
    p.line(p.spell("part", {{"name", {name}}, {"parameters", {frame.parameters}}}).text + " {");
    print_block(p, std::get<ir::If>(s.node).then_body);
    p.line("}\n");
    calls += fmt::format("  {}({});\n", name, frame.names);
  }
  p.line(p.spell("body", {{"name", {body}}, {"parameters", {frame.parameters}}}).text + " {");
  p.out += calls;
  p.line("}\n");
}

// Prints the body as a function and returns its name.
std::string print_body(Printer& p, const FrameText& frame) {
  const std::string body = p.kernel.name + "_body";
  p.out += frame.declarations;
  const bool parts = p.has("part") && !p.kernel.body.empty() &&
                     std::ranges::all_of(p.kernel.body, [](const ir::Stmt& s) {
                       const auto* part = std::get_if<ir::If>(&s.node);
                       return part != nullptr && part->own_function;
                     });
  if (parts) {
    print_parts(p, frame, body);
    return body;
  }
  p.line(p.spell("body", {{"name", {body}}, {"parameters", {frame.parameters}}}).text + " {");
  print_block(p, p.kernel.body);
  p.line("}\n");
  return body;
}

bool has_hole(const Template& t, std::string_view name) {
  return std::any_of(t.pieces.begin(), t.pieces.end(),
                     [&](const Piece& p) { return p.hole && p.text == name; });
}

void print_entry(Printer& p, const FrameText& frame, const std::string& body, int threads) {
  if (p.kernel.lane >= 0) {
    p.out += p.spell(kEntrySimt, {{"name", {p.kernel.name}},
                                  {"body", {body}},
                                  {"entry_parameters", {frame.entry_parameters}},
                                  {"arguments", {frame.arguments}},
                                  {"lanes", {std::to_string(threads * p.kernel.waves)}}})
                 .text;
    return;
  }
  if (!p.used.begin.empty() && !has_hole(*p.dialect.find(kEntry), "begin"))
    p.unsupported.insert("the state that a matrix instruction needs around a kernel");
  const bool streams = p.used.words.contains("store_stream") && p.has("stream_fence");
  p.out += p.spell(kEntry, {{"name", {p.kernel.name}},
                            {"body", {body}},
                            {"entry_parameters", {frame.entry_parameters}},
                            {"arguments", {frame.arguments}},
                            {"group", {p.index_names[0]}},
                            {"begin", {p.used.begin.empty() ? "" : "\n  " + p.used.begin}},
                            {"end", {p.used.end}},
                            {"fence", {streams ? p.spell("stream_fence", {}).text : ""}}})
               .text;
}

// The case for a kernel's groups, behind the function it may call.
std::string print_case(Printer& p, const FrameText& frame, const std::string& body, size_t number,
                       const std::string& spelling) {
  const std::vector<Filling> fillings{{"number", {std::to_string(number)}},
                                      {"body", {body}},
                                      {"arguments", {frame.arguments}},
                                      {"lanes", {std::to_string(p.threads * p.kernel.waves)}}};
  if (spelling == kSequenceCase && p.has("sequence_function"))
    p.out += p.spell("sequence_function", fillings).text;
  return p.spell(spelling, fillings).text;
}

Diags complaints(const Printer& p) {
  Diags out;
  for (const std::string& what : p.unsupported)
    out.push_back(error(fmt::format("kernel '{}': dialect '{}' can not spell {}", p.kernel.name,
                                    p.dialect.name, what)));
  return out;
}

void append(Diags& all, Diags more) { all.insert(all.end(), more.begin(), more.end()); }

// A translation unit under construction.
struct Unit {
  const Dialect& dialect;
  Frame frame;
  int threads;
  int waves = 1;  // of the widest kernel
  Used used{};
  Diags diags{};
  std::string text{}, cases{};

  const char* case_of(const ir::Kernel& kernel) const;
  void add(const ir::Kernel& kernel, size_t number);
};

const char* Unit::case_of(const ir::Kernel& kernel) const {
  if (frame == Frame::sequence) return kSequenceCase;
  return kernel.waves < waves ? "merged_narrow_case" : "merged_case";
}

void Unit::add(const ir::Kernel& kernel, size_t number) {
  if (!is_identifier(kernel.name)) {
    diags.push_back(error(fmt::format("kernel name '{}' is no identifier", kernel.name)));
    return;
  }
  Diags faults = verify(kernel);
  if (has_error(faults)) return append(diags, std::move(faults));
  if (kernel.waves > 1 && threads == 1) {
    diags.push_back(error(fmt::format("kernel '{}': groups of {} waves, where lanes are no threads",
                                      kernel.name, kernel.waves)));
    return;
  }
  const auto scalars = threads > 1 ? one_lane(kernel, threads) : Result<ir::Kernel>(kernel);
  if (!scalars) return append(diags, scalars.diags());
  const auto legal = legalise(*scalars, dialect);
  if (!legal) return append(diags, legal.diags());
  Used own;
  Printer p(*legal, dialect, own, threads);
  const FrameText words = text_of(p, frame);
  const std::string body = print_body(p, words);
  if (frame == Frame::entry)
    print_entry(p, words, body, threads);
  else
    cases += print_case(p, words, body, number, case_of(kernel));
  append(diags, complaints(p));
  used.words.merge(own.words);
  used.vectors.merge(own.vectors);
  used.instruction_headers.merge(own.instruction_headers);
  text += '\n' + p.out;
}

}  // namespace

namespace {

Result<Unit> unit_of(std::span<const ir::Kernel> kernels, const Dialect& dialect, Frame frame,
                     int threads) {
  const Structure& s = dialect.structure;
  const bool blocks = s.parameters == Parameters::blocks && s.group_memory == GroupMemory::file;
  if (!blocks && (s.parameters != Parameters::pointers || s.group_memory != GroupMemory::body))
    return error(
        fmt::format("dialect '{}': what is printed is `parameters: pointers` with `group_memory: "
                    "body`, and `parameters: blocks` "
                    "with `group_memory: file`",
                    dialect.name));
  if (blocks && (kernels.size() != 1 || frame != Frame::entry))
    return error(fmt::format("dialect '{}' declares buffers for a whole text: one kernel each",
                             dialect.name));
  if (threads > 1 && dialect.find(kEntrySimt) == nullptr)
    return error(fmt::format(
        "dialect '{}' prints explicit vectors only, and the lanes of this target are threads",
        dialect.name));
  Unit unit{dialect, frame, threads};
  for (const ir::Kernel& k : kernels) unit.waves = std::max(unit.waves, k.waves);
  std::set<std::string> names;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!names.insert(kernels[i].name).second)
      unit.diags.push_back(error(fmt::format("two kernels are named '{}'", kernels[i].name)));
    unit.add(kernels[i], i);
  }
  if (has_error(unit.diags)) return std::move(unit.diags);
  return unit;
}

std::string print_queues(const Unit& unit, const std::string& name, int resident) {
  return fill(*unit.dialect.find("queues"), {{"name", {name}},
                                             {"cases", {unit.cases}},
                                             {"lanes", {std::to_string(unit.threads * unit.waves)}},
                                             {"resident", {std::to_string(resident)}}})
      .text;
}

}  // namespace

Result<std::string> render(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                           int threads) {
  const Result<Unit> unit = unit_of(kernels, dialect, Frame::entry, threads);
  if (!unit) return unit.diags();
  return print_headers(dialect, unit->used) + unit->text;
}

bool has_sequence(const Dialect& dialect) { return dialect.find("sequence") != nullptr; }

Result<std::string> render_sequence(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                                    const std::string& name) {
  if (!has_sequence(dialect))
    return error(fmt::format("dialect '{}' has no `sequence`", dialect.name));
  Result<Unit> unit = unit_of(kernels, dialect, Frame::sequence, 1);
  if (!unit) return unit.diags();
  unit->used.words.emplace("sequence");
  const Text all = fill(*dialect.find("sequence"), {{"name", {name}}, {"cases", {unit->cases}}});
  std::string text = print_headers(dialect, unit->used) + unit->text + '\n' + all.text;
  if (dialect.find("queues") != nullptr)
    text += '\n' + print_queues(*unit, name + kQueuesSuffix, 1);
  return text;
}

Result<std::string> render_queues(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                                  const std::string& name, int threads, int resident) {
  if (dialect.find("queues") == nullptr || has_sequence(dialect))
    return error(fmt::format("dialect '{}' has no `queues` without `sequence`", dialect.name));
  Result<Unit> unit = unit_of(kernels, dialect, Frame::sequence, threads);
  if (!unit) return unit.diags();
  unit->used.words.emplace("queues");
  return print_headers(dialect, unit->used) + unit->text + '\n' +
         print_queues(*unit, name, resident);
}

Result<std::string> render_merged(std::span<const ir::Kernel> kernels, const Dialect& dialect,
                                  const std::string& name, int threads) {
  const Template* const frame = dialect.find("merged");
  if (frame == nullptr) return error(fmt::format("dialect '{}' has no `merged`", dialect.name));
  if (threads < 2)
    return error(fmt::format("dialect '{}' merges launches of kernels whose lanes are threads",
                             dialect.name));
  Result<Unit> unit = unit_of(kernels, dialect, Frame::merged, threads);
  if (!unit) return unit.diags();
  unit->used.words.emplace("merged");
  return print_headers(dialect, unit->used) + unit->text + '\n' +
         fill(*frame, {{"name", {name}},
                       {"cases", {unit->cases}},
                       {"lanes", {std::to_string(threads * unit->waves)}}})
             .text;
}

int64_t scratch_bytes(const ir::Kernel& kernel) {
  int64_t bytes = 0;
  for (const ir::Buffer& b : kernel.buffers)
    if (b.scope == ir::Scope::scratch) bytes += scratch_piece(b);
  return bytes;
}

}  // namespace assay::codegen
