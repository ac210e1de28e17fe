// The printer's state while it walks one kernel, and the functions that spell indices, values and
// statements. Internal to codegen.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/dialect.h"
#include "codegen/opaque_pointers.h"
#include "ir/kernel.h"

namespace assay::codegen {

// What a translation unit turned out to need; decides its headers.
struct Used {
  std::set<std::string> words;  // spellings and element types
  struct Vector {
    ir::DType dtype;
    int lanes;   // > 1
    bool moved;  // ElementType::moved
    auto operator<=>(const Vector&) const = default;
  };
  std::set<Vector> vectors;
  std::set<std::string> instruction_headers;
  std::string begin, end;  // of a kernel's groups, as its matrix instruction says
};

struct Printer {
  const ir::Kernel& kernel;
  const Dialect& dialect;
  Used& used;
  int threads;                    // of a group; 1: lanes are vectors
  std::vector<ir::Range> ranges;  // of the index variables bound so far
  std::vector<std::string> index_names, buffer_names, register_names;
  std::vector<bool> pinned;  // per register
  std::set<ir::DType> computed;
  std::vector<std::pair<OpaquePointer, std::string>>
      opaque_pointers;  // of the loop that is printed, and their names
  std::string out;
  int depth = 0;
  int temporaries = 0;
  int numbered = 0;                   // registers in the open blocks whose names are numbers
  std::set<std::string> unsupported;  // what the dialect can not spell

  Printer(const ir::Kernel& k, const Dialect& d, Used& u, int threads_of_group);

  void line(const std::string& text);
  bool has(std::string_view spelling) const { return dialect.find(spelling) != nullptr; }
  // Fills a spelling; a missing one is noted in `unsupported`.
  Text spell(std::string_view spelling, const std::vector<Filling>& fillings);
  Text spell(std::string_view spelling, ir::DType dtype,
             const std::vector<Filling>& fillings);    // in the form chosen for these elements
  const ElementType* element_type(ir::DType t) const;  // nullptr: the dialect has none
  bool is_moved(ir::DType t) const;                    // its row is ElementType::moved
  std::string scalar_name(ir::DType t);
  std::string type_name(ir::DType t, int lanes);
  const ir::Buffer& buffer(int id) const { return kernel.buffers[static_cast<size_t>(id)]; }
  const std::string& buffer_name(int id) const { return buffer_names[static_cast<size_t>(id)]; }

 private:
  Text filled(std::string_view spelling, const Template* t, const std::vector<Filling>& fillings);
};

Text print_index(Printer& p, const ir::Index& index);
// Empty when the ranges say that the conditions always hold.
std::string print_conditions(Printer& p, const std::vector<ir::Condition>& conditions);
// The address of an element of a buffer, and the element itself.
Text print_address(Printer& p, int buffer, const ir::Index& index);
Text print_element(Printer& p, int buffer, const ir::Index& index);
Text print_gathered_element(Printer& p, int buffer,
                            const ir::Index& index);  // one lane's of a gather
Text print_element_at(Printer& p, int buffer, const Text& index);
Text print_texel(Printer& p, int buffer, const Text& column,
                 const Text& row);  // of an image
// The language has no addresses of these elements, so vectors are built element by element.
bool is_single(const Printer& p, int buffer);

// The scalar of a buffer's elements in memory. With a form of their own there
// (ElementType::memory), vectors are read and written element by element.
std::string memory_name(Printer& p, int buffer);
bool has_memory_form(const Printer& p, int buffer);
// A value of type `to`, of what was loaded from the buffer, and of one element of it as it is
// written in an expression; a value as elements of the buffer; one of them as it is assigned.
Text print_loaded(Printer& p, int buffer, ir::DType to, int lanes, Text a);
Text print_read(Printer& p, int buffer, ir::DType to, Text element);
Text print_stored(Printer& p, int buffer, const ir::Value& v);
Text print_converted(Printer& p, const ir::Value& v);  // ValueOp::convert
Text print_written(Printer& p, int buffer, Text element);

// A load of values of several numbers (Value::numbers), and a value with one of them replaced.
Text print_packed(Printer& p, const ir::Value& v);
Text print_insert(Printer& p, const ir::Value& v);
// In every lane.
Text print_broadcast(Printer& p, const ir::Value& v, const Text& element);
Text print_list(Printer& p, const ir::Value& v, const std::vector<std::string>& items);

// A value with the type it has; lanes == 1 is a scalar.
Text print_value(Printer& p, const ir::Value& v);
Text print_lane(Printer& p, const Text& vector, int lane);
Text print_number(Printer& p, ir::DType t, double number);

// Matrix instructions and opaque fragments, as the instruction's own file spells them.
void print(Printer& p, const ir::MatrixMultiply& s);
void print(Printer& p, const ir::MoveFragment& s);
void print(Printer& p, const ir::LoadFragment& s);
bool is_opaque(const Printer& p, int reg);
void print_zeroed(Printer& p, int reg);
void print_declared(Printer& p, int reg);

void print_block(Printer& p, const ir::Block& block);

}  // namespace assay::codegen
