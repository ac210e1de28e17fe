#include <fmt/format.h>

#include "ir/layout.h"
#include "toolkit/bundle.h"

namespace assay::toolkit {
namespace {

// A name in C, in upper case: every other character becomes `_`.
std::string macro_name(const std::string& name) {
  std::string out;
  for (char c : name) {
    const auto u = static_cast<unsigned char>(c);
    out += std::isalnum(u) ? static_cast<char>(std::toupper(u)) : '_';
  }
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "M" + out : out;
}

std::string print_tensor(const std::string& prefix, const ir::PlanTensor& t, const char* role,
                         int position) {
  std::string shape;
  int64_t count = 1;
  for (int64_t extent : t.shape) {
    shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    count *= extent;
  }
  const std::string name = fmt::format("{}_{}_{}", prefix, role, position);
  return fmt::format(
      "/* {} {}: {}, storage layout {} */\n"
      "#define {}_NAME \"{}\"\n#define {}_RANK {}\n#define {}_SHAPE {{{}}}\n#define {}_ELEMENTS "
      "{}\n"
      "#define {}_OFFSET {}\n#define {}_BYTES {}\n\n",
      role, position, ir::name_of(t.dtype), ir::print(t.layout), name, t.name, name, t.shape.size(),
      name, shape, name, count, name, t.offset, name, t.bytes);
}

}  // namespace

std::string print_header(const Bundle& bundle) {
  const std::string prefix = macro_name(bundle.plan.name);
  std::string out = fmt::format(
      "/* {}: inputs and outputs. OFFSET and BYTES are the storage inside the {}arena. */\n"
      "#ifndef {}_H\n#define {}_H\n\n#define {}_ARENA_BYTES {}\n#define {}_WEIGHTS_BYTES {}\n\n",
      bundle.plan.name, bundle.plan.memory > 0 ? "host's " : "", prefix, prefix, prefix,
      bundle.plan.arena_bytes, prefix, bundle.plan.weights_bytes);
  if (bundle.plan.memory > 0)
    out += fmt::format("#define {}_HOST_BYTES {}\n\n", prefix, bundle.plan.host_bytes);
  int inputs = 0, outputs = 0;
  for (const ir::PlanTensor& t : bundle.plan.tensors) {
    if (t.kind == ir::TensorKind::input) out += print_tensor(prefix, t, "INPUT", inputs++);
    if (t.kind == ir::TensorKind::output) out += print_tensor(prefix, t, "OUTPUT", outputs++);
  }
  return out + fmt::format("#define {}_INPUTS {}\n#define {}_OUTPUTS {}\n\n#endif\n", prefix,
                           inputs, prefix, outputs);
}

}  // namespace assay::toolkit
