#include "codegen/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "codegen/legalise.h"
#include "codegen/printer.h"

namespace assay::codegen {
namespace {

constexpr int64_t kAlignment = 64;

// Names of a kernel are free text: numbered, with what C does not allow left out.
std::vector<std::string> identifiers(char prefix, const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::string id = fmt::format("{}{}_", prefix, out.size());
    for (const char c : name) id += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    out.push_back(std::move(id));
  }
  return out;
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& things) {
  std::vector<std::string> out;
  for (const T& t : things) out.push_back(t.name);
  return out;
}

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

struct Frame {
  std::string parameters, entry_parameters, arguments;
};


// Parameters of the body and what the entry passes for them.
Frame frame_of(Printer& p) {
  Frame f;
  int position = 0;
  int64_t offset = 0;
  for (size_t i = 0; i < p.kernel.buffers.size(); ++i) {
    const ir::Buffer& b = p.kernel.buffers[i];
    const bool scratch = b.scope == ir::Scope::scratch;
    const std::string kind = scratch ? "scratch" : b.written ? "out" : "in";
    const std::vector<Filling> fillings{{"scalar", {p.scalar_name(b.dtype)}},
                                        {"name", {p.buffer_names[i]}},
                                        {"position", {std::to_string(position)}},
                                        {"offset", {std::to_string(offset)}}};
    f.parameters += p.spell("parameter_" + kind, fillings).text + ", ";
    const std::string own = "entry_parameter_" + kind;
    f.entry_parameters +=
        p.spell(p.has(own) ? own : "parameter_" + kind, fillings).text + ", ";
    f.arguments += p.spell("argument_" + kind, fillings).text + ", ";
    if (scratch)
      offset += scratch_piece(b);
    else
      ++position;
  }
  f.parameters += p.spell("parameter_group", {{"name", {p.index_names[0]}}}).text;
  return f;
}

void print_kernel(Printer& p) {
  const Frame frame = frame_of(p);
  const std::string body = p.kernel.name + "_body";
  p.line(p.spell("body", {{"name", {body}}, {"parameters", {frame.parameters}}}).text + " {");
  print_block(p, p.kernel.body);
  p.line("}\n");
  const bool streams = p.used.words.contains("store_stream") && p.has("stream_fence");
  p.out += p.spell("entry", {{"name", {p.kernel.name}},
                             {"body", {body}},
                             {"entry_parameters", {frame.entry_parameters}},
                             {"arguments", {frame.arguments}},
                             {"group", {p.index_names[0]}},
                             {"fence", {streams ? p.spell("stream_fence", {}).text : ""}}})
               .text;
}

bool is_needed(const Header& h, const Used& used) {
  return std::any_of(h.when.begin(), h.when.end(),
                     [&](const auto& w) { return used.words.contains(w); });
}

std::string print_headers(const Dialect& d, const Used& used) {
  std::string out;
  for (const Header& h : d.headers)
    if (h.when.empty()) out += h.text;
  for (const auto& [dtype, lanes] : used.vectors) {
    const std::string& scalar = d.types.at(dtype).scalar;
    const std::vector<Filling> names{{"dtype", {std::string(ir::name_of(dtype))}},
                                     {"scalar", {scalar}},
                                     {"lanes", {std::to_string(lanes)}}};
    const int bytes = ir::bytes_of(dtype);
    out += fill(d.vector_header, {{"type", fill(d.vector_type, names)},
                                  {"scalar", {scalar}},
                                  {"lanes", {std::to_string(lanes)}},
                                  {"bytes", {std::to_string(bytes * lanes)}},
                                  {"align", {std::to_string(bytes)}}})
               .text;
  }
  for (const Header& h : d.headers)
    if (is_needed(h, used)) out += h.text;
  return out;
}

Diags complaints(const Printer& p) {
  Diags out;
  for (const std::string& what : p.unsupported)
    out.push_back(error(fmt::format("kernel '{}': dialect '{}' can not spell {}", p.kernel.name,
                                    p.dialect.name, what)));
  return out;
}

void append(Diags& all, Diags more) { all.insert(all.end(), more.begin(), more.end()); }

// The text of one kernel, or what is wrong with it.
std::string render_one(const ir::Kernel& kernel, const Dialect& dialect, Used& used, Diags& diags) {
  if (!is_identifier(kernel.name)) {
    diags.push_back(error(fmt::format("kernel name '{}' is no identifier", kernel.name)));
    return "";
  }
  Diags faults = verify(kernel);
  if (has_error(faults)) {
    append(diags, std::move(faults));
    return "";
  }
  const auto legal = legalise(kernel, dialect);
  if (!legal) {
    append(diags, legal.diags());
    return "";
  }
  Used own;
  Printer p(*legal, dialect, own);
  print_kernel(p);
  append(diags, complaints(p));
  used.words.merge(own.words);
  used.vectors.merge(own.vectors);
  return std::move(p.out);
}

}  // namespace

Printer::Printer(const ir::Kernel& k, const Dialect& d, Used& u)
    : kernel(k),
      dialect(d),
      used(u),
      ranges(k.index_names.size()),
      index_names(identifiers('i', k.index_names)),
      buffer_names(identifiers('p', names_of(k.buffers))),
      register_names(identifiers('r', names_of(k.registers))) {
  ranges[0] = {0, std::max<int64_t>(0, k.groups - 1)};
}

void Printer::line(const std::string& text) {
  out += std::string(static_cast<size_t>(2 * depth), ' ') + text + '\n';
}

Text Printer::spell(std::string_view spelling, const std::vector<Filling>& fillings) {
  const Template* t = dialect.find(spelling);
  if (t == nullptr) {
    unsupported.insert(fmt::format("'{}'", spelling));
    return {};
  }
  used.words.emplace(spelling);
  return fill(*t, fillings);
}

std::string Printer::scalar_name(ir::DType t) {
  const auto it = dialect.types.find(t);
  if (it == dialect.types.end()) {
    unsupported.insert(fmt::format("elements of type {}", ir::name_of(t)));
    return "";
  }
  used.words.emplace(ir::name_of(t));
  return it->second.scalar;
}

std::string Printer::type_name(ir::DType t, int lanes) {
  const std::string scalar = scalar_name(t);
  if (lanes == 1 || scalar.empty()) return scalar;
  used.vectors.emplace(t, lanes);
  return fill(dialect.vector_type, {{"dtype", {std::string(ir::name_of(t))}},
                                    {"scalar", {scalar}},
                                    {"lanes", {std::to_string(lanes)}}})
      .text;
}

Result<std::string> render(std::span<const ir::Kernel> kernels, const Dialect& dialect) {
  if (dialect.structure.parameters != Parameters::pointers ||
      dialect.structure.group_memory != GroupMemory::body)
    return error(fmt::format(
        "dialect '{}': only `parameters: pointers` with `group_memory: body` is printed",
        dialect.name));
  Used used;
  Diags diags;
  std::string text;
  std::set<std::string> names;
  for (const ir::Kernel& k : kernels) {
    if (!names.insert(k.name).second)
      diags.push_back(error(fmt::format("two kernels are named '{}'", k.name)));
    text += '\n';
    text += render_one(k, dialect, used, diags);
  }
  if (has_error(diags)) return diags;
  return print_headers(dialect, used) + text;
}

int64_t scratch_bytes(const ir::Kernel& kernel) {
  int64_t bytes = 0;
  for (const ir::Buffer& b : kernel.buffers)
    if (b.scope == ir::Scope::scratch) bytes += scratch_piece(b);
  return bytes;
}

}  // namespace assay::codegen
