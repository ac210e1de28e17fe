#include "codegen/spellings.h"

namespace assay::codegen {
namespace {

constexpr bool kOptional = false;

// clang-format off
constexpr SpellingRow kRows[] = {
    // Expressions over elements or vectors.
    {"add", {"a", "b"}}, {"sub", {"a", "b"}}, {"mul", {"a", "b"}}, {"div", {"a", "b"}}, {"neg", {"a"}},
    {"fma", {"a", "b", "c", "type"}, kOptional},
    {"less", {"a", "b"}}, {"equal", {"a", "b"}}, {"nonzero", {"a", "zero"}},
    {"select", {"mask", "a", "b", "type"}}, {"choose", {"condition", "a", "b"}},
    {"max", {"a", "b", "type"}}, {"min", {"a", "b", "type"}}, {"abs", {"a", "type"}, kOptional},
    {"exp", {"a", "type"}, kOptional}, {"log", {"a", "type"}, kOptional}, {"sqrt", {"a", "type"}, kOptional},
    {"tanh", {"a", "type"}, kOptional}, {"erf", {"a", "type"}, kOptional}, {"floor", {"a", "type"}, kOptional},
    {"ceil", {"a", "type"}, kOptional}, {"pow", {"a", "b", "type"}, kOptional},
    {"opaque", {"a", "type"}, kOptional},
    {"pin", {"a", "type"}, kOptional},  // a load that several operations use; without it compilers may load for each
    {"dot", {"a", "b", "c", "type"}, kOptional},  // c and the products of the four i8 in each i32 of a and b
    {"broadcast", {"a", "type"}}, {"list", {"items", "type"}}, {"lane", {"a", "lane", "hex"}},
    // Memory.
    {"element", {"buffer", "index"}}, {"address", {"buffer", "index"}},
    {"element_apart", {"buffer", "index"}, kOptional},  // one of a vector's, where they lie apart; without it as any
    {"opaque_in", {"name", "scalar", "pointer"}, kOptional},       // a name for a pointer that a loop walks, of which compilers do not know how it
    {"opaque_scratch", {"name", "scalar", "pointer"}, kOptional},  // came about; without them addresses begin at the buffer
    {"load", {"pointer", "type", "lanes"}}, {"load_part", {"pointer", "count", "fill", "type"}, kOptional},
    {"store", {"pointer", "value", "type", "lanes"}},
    {"store_part", {"pointer", "count", "value", "type"}, kOptional},
    {"store_stream", {"pointer", "value", "type"}, kOptional}, {"stream_fence", {}, kOptional},
    {"prefetch", {"pointer"}, kOptional},
    {"atomic_add", {"buffer", "index", "value"}, kOptional},  // of int: what it held before
    {"device_fence", {}, kOptional},  // other groups see what was stored before it no later than what is stored after it
    // Integers.
    {"index_to_number", {"index", "scalar"}}, {"index_min", {"a", "b"}},
    {"index_divide", {"a", "d"}}, {"index_modulo", {"a", "d"}},
    {"index_place", {"a", "extent"}, kOptional},
    {"index_floor_divide", {"a", "d"}}, {"index_floor_modulo", {"a", "d"}},
    // Statements and frames.
    {"keep", {"name", "type"}, kOptional}, {"unroll", {"n"}, kOptional},
    {"loop", {}, kOptional},                     // before every loop: its iterations stay what they are, vectors are the kernel's own
    {"loop_check", {"name", "end"}, kOptional},  // behind a loop: whether its variable came to the end
    // With `parameters: blocks` declarations outside of the body, which has no arguments then.
    {"parameter_in", {"scalar", "name", "position"}}, {"parameter_out", {"scalar", "name", "position"}},
    {"parameter_scratch", {"scalar", "name", "elements"}}, {"parameter_group", {"name"}},
    {"entry_parameter_in", {"scalar", "name"}, kOptional}, {"entry_parameter_out", {"scalar", "name"}, kOptional},
    {"entry_parameter_scratch", {"scalar", "name"}, kOptional},  // without them: as the body's
    {"body", {"name", "parameters"}},
    {"argument_in", {"scalar", "name", "position"}, kOptional}, {"argument_out", {"scalar", "name", "position"}, kOptional},
    {"argument_scratch", {"scalar", "name", "offset"}, kOptional},
    {"entry", {"name", "body", "entry_parameters", "arguments", "group", "fence"}},
    // Kernels of one lane per thread.
    {"entry_simt", {"name", "body", "entry_parameters", "arguments", "lanes"}, kOptional},
    {"parameter_lane", {"name"}, kOptional}, {"barrier", {"lanes"}, kOptional},
    // One kernel that runs launch after launch, and what runs one launch's groups in it.
    {"sequence", {"name", "cases"}, kOptional},
    {"sequence_case", {"number", "body", "arguments"}, kOptional},
    {"sequence_argument_in", {"scalar", "position"}, kOptional},
    {"sequence_argument_out", {"scalar", "position"}, kOptional},
    {"sequence_argument_scratch", {"scalar", "offset"}, kOptional},
    // Arguments in spaces of their own: constants, and images, whose elements are texels.
    {"parameter_constant", {"scalar", "name", "position", "elements"}, kOptional},
    {"entry_parameter_constant", {"scalar", "name", "elements"}, kOptional},
    {"argument_constant", {"scalar", "name", "position", "kernel"}, kOptional},
    {"declaration_constant", {"scalar", "position", "elements", "kernel"}, kOptional},  // around the body, where an entry has no such parameters
    {"constant_element", {"buffer", "index", "scalar"}, kOptional},  // where it is no `element`: vectors are made of several, then
    {"sequence_argument_constant", {"scalar", "position"}, kOptional},
    {"parameter_image", {"scalar", "name", "position"}, kOptional},
    {"entry_parameter_image", {"scalar", "name"}, kOptional},
    {"argument_image", {"scalar", "name", "position"}, kOptional},
    {"sequence_argument_image", {"scalar", "position"}, kOptional},
    {"texel", {"buffer", "index", "row", "texel", "scalar"}, kOptional},
    {"texel_at", {"buffer", "column", "row", "texel", "scalar"}, kOptional},  // the same, as it is read outside of the image too
};
// clang-format on

}  // namespace

std::vector<std::string_view> SpellingRow::hole_names() const {
  std::vector<std::string_view> out;
  for (const std::string_view h : holes)
    if (!h.empty()) out.push_back(h);
  return out;
}

std::span<const SpellingRow> spelling_rows() { return kRows; }

bool is_spelling(std::string_view name) {
  for (const SpellingRow& row : kRows)
    if (row.name == name) return true;
  return false;
}

}  // namespace assay::codegen
