// Operations on the lanes of registers, with the rounding of their type: as codegen::interpret
// computes them, many lanes at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/virtual/code.h"
#include "runtime/virtual/products.h"

namespace assay::runtime::simulated {

// Active threads, one byte each; nullptr: all.
using Mask = const uint8_t*;

class Registers {  // invariant: of a uniform register only lane 0 holds its value
 public:
  Registers(const Code& code, Products& products);

  std::byte* lanes(int reg) {
    return data_.data() + offset_[static_cast<size_t>(reg)];
  }  // all of them
  const std::byte* one(int reg) const {
    return data_.data() + offset_[static_cast<size_t>(reg)];
  }  // lane 0
  bool uniform(int reg) const { return uniform_[static_cast<size_t>(reg)] != 0; }
  void set_uniform(int reg, bool value) { uniform_[static_cast<size_t>(reg)] = value ? 1 : 0; }
  void spread(int reg);                      // makes it non-uniform: copies lane 0 to all
  int64_t integer(int reg, int lane) const;  // of an integer register

  void constant(const Op& op, Mask mask);
  void copy(const Op& op, Mask mask);
  void part(const Op& op, Mask mask);
  void deal(const Op& op, Mask mask);  // of all lanes of each active wave
  void apply(const Op& op, Mask mask);
  void multiply(const Matrix& m, Mask mask);  // of all lanes of each active wave
  // dst[l] = first + l * step
  void lane_index(const Op& op, std::span<const int64_t> numbers, Mask mask);  // of each lane

  // Bytes of all registers; one lane's value.
  const std::vector<std::byte>& state() const { return data_; }
  double value(int reg, int lane) const;
  void set_value(int reg, int lane, double v);

 private:
  void apply_narrow(const Op& op, Mask mask);
  template <class T>
  void apply_as(const Op& op, Mask mask);

  const Code& code_;
  Products& products_;
  std::vector<std::byte> data_;
  std::vector<size_t> offset_;
  std::vector<uint8_t> uniform_;
};

}  // namespace assay::runtime::simulated
