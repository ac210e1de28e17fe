#include "probe/kernels/conversions.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "probe/kernels/code.h"

namespace assay::probe {
namespace {

constexpr std::array<ir::DType, 7> kStoredTypes = {
    ir::DType::f16, ir::DType::bf16, ir::DType::f8e4m3, ir::DType::f8e5m2,
    ir::DType::i8,  ir::DType::u8,   ir::DType::i32};
constexpr std::array<ir::DType, 2> kComputedTypes = {ir::DType::f32, ir::DType::i32};
constexpr int kConvertedAtOnce = 8;  // accesses of a step: its counter takes issue slots

bool stores(const Conversion& c) { return std::string_view(c.access) == "store"; }

}  // namespace

std::vector<Conversion> conversions(bool threads) {
  std::vector<Conversion> out;
  for (const ir::DType stored : kStoredTypes)
    for (const ir::DType computed : kComputedTypes)
      for (const char* access : {"load", "splat", "store"})
        if (ir::converts(stored, computed) && !(threads && std::string_view(access) == "splat"))
          out.push_back({access, stored, computed});
  return out;
}

Conversion plain_access(const Conversion& c) { return {c.access}; }

std::string operation_of(const Conversion& c) {
  return fmt::format("convert_{}{}", c.access, c.computed == ir::DType::i32 ? "_i32" : "");
}

std::string conversion_name(const Conversion& c) {
  return fmt::format("{} {} {}", c.access, ir::name_of(c.stored), ir::name_of(c.computed));
}

std::string conversion_kernel_name(const Conversion& c, int lanes) {
  return fmt::format("converted_{}_{}_{}_{}", c.access, ir::name_of(c.stored),
                     ir::name_of(c.computed), lanes);
}

ir::Kernel conversion_kernel(const Conversion& c, int lanes) {
  ir::Kernel k = code::empty(conversion_kernel_name(c, lanes));
  const int data = code::add_buffer(k, "data", c.stored, stores(c));
  const int parameters = code::add_parameters(k),
            value = code::add_register(k, "value", c.computed, lanes);
  k.body.push_back(code::declare(value, 1));
  k.body.push_back(code::set(value, code::opaque(code::number(3, c.computed, lanes))));
  const int count = code::parameter(k, "count", parameters, ir::constant(0), kMaxIterations);
  const int i = code::add_index(k, "i"), part = code::add_index(k, "part");
  ir::Block body;
  for (int n = 0; n < kConvertedAtOnce; ++n) {
    const ir::Index at = ir::variable(0, int64_t{kConvertedVectors} * lanes) +
                         ir::variable(part, int64_t{kConvertedAtOnce} * lanes) + n * lanes;
    if (stores(c)) {
      body.push_back(code::set(value, code::opaque(code::reg(k, value))));
      body.push_back(code::store(data, at, code::reg(k, value)));
    } else {
      const bool one = std::string_view(c.access) == "splat";
      body.push_back(code::set(value, one ? code::splat(data, at, c.computed, lanes)
                                          : code::load(data, at, c.computed, lanes)));
      body.push_back(code::keep(value));
    }
  }
  constexpr int kParts = kConvertedVectors / kConvertedAtOnce;
  k.body.push_back(code::loop(i, kMaxIterations, ir::variable(count),
                              {code::loop(part, kParts, ir::constant(kParts), std::move(body))}));
  return k;
}

int64_t conversion_bytes(int lanes) { return int64_t{4} * kConvertedVectors * lanes; }

}  // namespace assay::probe
