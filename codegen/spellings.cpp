#include "codegen/spellings.h"

namespace assay::codegen {
namespace {

constexpr bool kOptional = false;

// clang-format off
constexpr SpellingRow kRows[] = {
    // Expressions over elements or vectors.
    {"add", {"a", "b"}},
    {"sub", {"a", "b"}},
    {"mul", {"a", "b"}},
    {"div", {"a", "b"}},
    {"neg", {"a"}},
    {"fma", {"a", "b", "c", "type"}, kOptional},
    {"less", {"a", "b"}},
    {"equal", {"a", "b"}},
    {"nonzero", {"a", "zero"}},
    {"select", {"mask", "a", "b", "type"}},
    {"choose", {"condition", "a", "b"}},
    {"max", {"a", "b", "type"}},
    {"min", {"a", "b", "type"}},
    {"abs", {"a", "type"}, kOptional},
    {"exp", {"a", "type"}, kOptional},
    {"log", {"a", "type"}, kOptional},
    {"sqrt", {"a", "type"}, kOptional},
    {"tanh", {"a", "type"}, kOptional},
    {"erf", {"a", "type"}, kOptional},
    {"floor", {"a", "type"}, kOptional},
    {"ceil", {"a", "type"}, kOptional},
    {"round", {"a", "type"}, kOptional},  // half a unit to the even number
    {"pow", {"a", "b", "type"}, kOptional},
    {"opaque", {"a", "type"}, kOptional},
    {"pin", {"a", "type"}, kOptional},            // a load that several operations use
    {"dot", {"a", "b", "c", "type"}, kOptional},  // i32: c plus products of four i8 each
    {"broadcast", {"a", "type"}},
    {"list", {"items", "type"}},
    {"lane", {"a", "lane", "hex"}},
    // Memory.
    {"element", {"buffer", "index"}},
    {"address", {"buffer", "index"}},
    {"element_apart", {"buffer", "index"}, kOptional},  // one lane of a gather; default: `element`
    // A copy of a pointer, whose provenance compilers do not know; default: no copy.
    {"opaque_in", {"name", "scalar", "pointer"}, kOptional},
    {"opaque_scratch", {"name", "scalar", "pointer"}, kOptional},
    {"load", {"pointer", "type", "lanes"}},
    {"load_part", {"pointer", "count", "fill", "type"}, kOptional},
    // Values of several numbers: neighbours in memory, the same at no multiple of their bytes
    // (default: as the first), the first `count` lanes of a vector; one number replaced.
    {"load_packed", {"pointer", "type"}, kOptional},
    {"load_packed_unaligned", {"pointer", "type"}, kOptional},
    {"load_packed_part", {"pointer", "count", "fill", "type"}, kOptional},
    {"insert", {"a", "b", "place", "type", "number"}, kOptional},
    {"store", {"pointer", "value", "type", "lanes"}},
    {"run", {"bytes"}, kOptional},  // a type of 1, 2, 4, 8 or 16 bytes, aligned to them
    {"load_run", {"pointer", "run"}, kOptional},  // from an argument; default: element by element
    {"store_run", {"pointer", "value", "run"}, kOptional},  // to scratch
    {"store_part", {"pointer", "count", "value", "type"}, kOptional},
    {"store_stream", {"pointer", "value", "type"}, kOptional},
    {"stream_fence", {}, kOptional},
    {"prefetch", {"pointer"}, kOptional},
    {"atomic_add", {"buffer", "index", "value"}, kOptional},  // of int: returns the old value
    {"device_fence", {}, kOptional},  // orders stores before it and after it for all groups
    // Integers.
    {"index_to_number", {"index", "scalar"}},
    {"index_min", {"a", "b"}},
    {"index_divide", {"a", "d"}},
    {"index_modulo", {"a", "d"}},
    {"index_place", {"a", "extent"}, kOptional},
    {"index_floor_divide", {"a", "d"}},
    {"index_floor_modulo", {"a", "d"}},
    // Statements and frames.
    {"keep", {"name", "type"}, kOptional},
    {"loads_stay", {}, kOptional},  // loads behind it are not hoisted above it
    {"unroll", {"n"}, kOptional},
    {"loop", {}, kOptional},                     // before every loop: no automatic vectorisation
    {"loop_check", {"name", "end"}, kOptional},  // after a loop: did its variable reach the end
    // With `parameters: blocks` these are declarations at file scope; the body has no arguments.
    {"parameter_in", {"scalar", "name", "position"}},
    {"parameter_out", {"scalar", "name", "position"}},
    // Written, and read by other threads of the group; default: as any output.
    {"parameter_read_back", {"scalar", "name", "position"}, kOptional},
    {"entry_parameter_read_back", {"scalar", "name"}, kOptional},
    {"parameter_scratch", {"scalar", "name", "elements"}},
    {"parameter_group", {"name"}},
    {"entry_parameter_in", {"scalar", "name"}, kOptional},  // default: as the body's
    {"entry_parameter_out", {"scalar", "name"}, kOptional},
    {"entry_parameter_scratch", {"scalar", "name"}, kOptional},
    {"body", {"name", "parameters"}},
    {"part", {"name", "parameters"}, kOptional},  // of the body, a function of its own
    {"argument_in", {"scalar", "name", "position"}, kOptional},
    {"argument_out", {"scalar", "name", "position"}, kOptional},
    {"argument_scratch", {"scalar", "name", "offset"}, kOptional},
    {"entry", {"name", "body", "entry_parameters", "arguments", "group", "fence", "begin", "end"}},
    // Kernels of one lane per thread.
    {"entry_simt", {"name", "body", "entry_parameters", "arguments", "lanes"}, kOptional},
    {"parameter_lane", {"name"}, kOptional},
    {"barrier", {"lanes"}, kOptional},
    // Stores to global buffers are visible as well; default: barrier.
    {"barrier_global", {"lanes"}, kOptional},
    // One kernel that executes a sequence of launches, and its case for one launch's groups.
    {"sequence", {"name", "cases"}, kOptional},
    // The kernel whose units work through queues of their own; it may need the `sequence`.
    {"queues", {"name", "cases", "lanes", "resident"}, kOptional},
    {"sequence_case", {"number", "body", "arguments", "lanes"}, kOptional},
    // Behind the body, for the case to call.
    {"sequence_function", {"body", "arguments", "lanes"}, kOptional},
    {"sequence_argument_in", {"scalar", "position"}, kOptional},
    {"sequence_argument_out", {"scalar", "position"}, kOptional},
    {"sequence_argument_scratch", {"scalar", "offset"}, kOptional},
    // One kernel for the groups of several launches, side by side, and its case for a kernel. That
    // of one with fewer threads than the groups have; default: none may have fewer.
    {"merged", {"name", "cases", "lanes"}, kOptional},
    {"merged_case", {"number", "body", "arguments", "lanes"}, kOptional},
    {"merged_narrow_case", {"number", "body", "arguments", "lanes"}, kOptional},
    {"merged_argument_in", {"scalar", "position"}, kOptional},
    {"merged_argument_out", {"scalar", "position"}, kOptional},
    {"merged_argument_scratch", {"scalar", "offset"}, kOptional},
    // Arguments in spaces of their own: constants, and images, whose elements are texels.
    {"parameter_constant", {"scalar", "name", "position", "elements"}, kOptional},
    {"entry_parameter_constant", {"scalar", "name", "elements"}, kOptional},
    {"argument_constant", {"scalar", "name", "position", "kernel"}, kOptional},
    // At file scope, where a constant is no parameter of the entry.
    {"declaration_constant", {"scalar", "position", "elements", "kernel"}, kOptional},
    // Where constants have no `element`; vectors are then built element by element.
    {"constant_element", {"buffer", "index", "scalar"}, kOptional},
    {"sequence_argument_constant", {"scalar", "position"}, kOptional},
    {"merged_argument_constant", {"scalar", "position"}, kOptional},
    {"parameter_image", {"scalar", "name", "position"}, kOptional},
    {"entry_parameter_image", {"scalar", "name"}, kOptional},
    {"argument_image", {"scalar", "name", "position"}, kOptional},
    {"sequence_argument_image", {"scalar", "position"}, kOptional},
    {"merged_argument_image", {"scalar", "position"}, kOptional},
    {"texel", {"buffer", "index", "row", "texel", "scalar"}, kOptional},
    // Texels by column and row, also outside of the image.
    {"texel_at", {"buffer", "column", "row", "texel", "scalar"}, kOptional},
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
