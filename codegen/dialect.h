// A kernel language as data: typed capabilities, a few structural choices and spellings. Read from
// hw_profiles/dialects/<name>.yaml, whose head explains the form. The C core that all of them share
// (for, if, assignment, integer + - *, comparison, &&) is the printer's own.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/template.h"
#include "hwdesc/target.h"
#include "ir/dtype.h"
#include "support/result.h"

namespace assay::codegen {

enum class Parameters { pointers, blocks, attributes };  // how a kernel gets its buffers
enum class GroupMemory { body, file };                   // where group memory is declared
enum class Ids { call, variable };                       // how a body learns its group

struct Structure {
  Parameters parameters = Parameters::pointers;
  GroupMemory group_memory = GroupMemory::body;
  Ids ids = Ids::variable;
  bool mixed_operands = false;          // a scalar operand of + - * / is broadcast by the language
  bool separate_displacements = false;  // constants are added to an address, not to its index, for
                                        // compilers that then fold them into a displacement
  bool operator==(const Structure&) const = default;
};

// Elements of arguments, where a language has a type for them that values do not have.
struct MemoryForm {
  std::string scalar;
  Template read, write;  // {a}: one element as a value, and back
  bool operator==(const MemoryForm&) const = default;
};

inline constexpr std::string_view kLoaded = "loaded", kStored = "stored", kMoved = "moved";

struct ElementType {
  std::string scalar;                        // the type's name
  Template literal;                          // {digits} {bits}
  std::optional<std::string> infinity, nan;  // integers have none
  bool only_moved = false;  // only loaded, stored and passed to matrix instructions; no arithmetic
  int lanes = 0;            // of its widest vector; 0: as vector_widths say of its bytes
  std::optional<Template>
      narrow;  // {scalar} {a}: narrows what the language computed in a wider type
  // {a} {type} {from} {lanes}: a value of the accumulation type from elements, and back. Without
  // them, loads and stores of kernels do not convert.
  std::optional<Template> loaded, stored;
  std::optional<MemoryForm> memory;
  std::vector<ElementType> moved;  // one: instead of it in kernels that do not compute in the type
  bool operator==(const ElementType&) const = default;
};

struct Header {
  // Spellings, element types, f16.loaded, f16.stored or f16.moved that need it; empty: always.
  std::vector<std::string> when;
  std::string text;
  bool operator==(const Header&) const = default;
};

// One of several spellings of an operation. Which one is fastest depends on the compiler, so it is
// measured (apis.<name>.forms).
struct Form {
  std::string name;  // "a*b+c", mad, fma
  Template text;
  bool operator==(const Form&) const = default;
};

struct Dialect {
  std::string name;
  hwdesc::DialectCapabilities capabilities;
  Structure structure;
  std::map<ir::DType, ElementType> types;
  std::string index_type;
  Template vector_type;    // {dtype} {scalar} {lanes}
  Template vector_header;  // {type} {scalar} {bytes} {align}: what declares it; may be empty
  std::map<std::string, Template, std::less<>> spellings;
  std::map<std::string, std::vector<Form>, std::less<>>
      forms;  // of spellings that have several; the first is the spelling
  std::map<std::string, Template, std::less<>> chosen;  // of "fma.f16", instead of it
  std::vector<Header> headers;

  const Template* find(std::string_view spelling) const;
  const Template* find(std::string_view spelling,
                       ir::DType dtype) const;  // as `chosen` says for these elements
};

// The dialect with operations written as a profile's api says ("fma.f16": "a*b+c"). Errors: an
// operation without forms, a type or form that there is not, with those there are.
Result<Dialect> in_forms(const Dialect& dialect, std::span<const hwdesc::NamedText> forms);

// Errors: every unknown or missing key, unknown hole, unknown word, with its place.
Result<Dialect> parse_dialect(std::string_view text, std::string_view file);

// The dialect of a target's api, in the forms that its profile says. Errors: as both of the above.
Result<Dialect> dialect_for(const hwdesc::Target& target);

// The text of a dialect file that came with this build; empty when there is none of that name.
std::string_view dialect_text(std::string_view name);
std::vector<std::string> dialect_names();

}  // namespace assay::codegen
