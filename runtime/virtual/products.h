// Memoized results of matrix instructions, since groups often compute on the same operands.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/matrix.h"

namespace assay::runtime::simulated {

class Products {  // invariant: known_ holds about kMost results
 public:
  // ir::multiply(i, a, b, c).
  const std::vector<double>& of(const ir::MatrixInstruction& i, std::vector<double> a,
                                std::vector<double> b, std::vector<double> c) {
    const uint64_t key = hash(a) * 31 + hash(b) * 17 + hash(c);
    Product& p = known_[key];
    if (p.instruction != i.name || !same(p.a, a) || !same(p.b, b) || !same(p.c, c)) {
      std::vector<double> d = ir::multiply(i, a, b, c);
      if (known_.size() > kMost) known_.clear();
      return (known_[key] = {i.name, std::move(a), std::move(b), std::move(c), std::move(d)}).d;
    }
    return p.d;
  }

 private:
  struct Product {
    std::string instruction;
    std::vector<double> a, b, c, d;
  };
  static constexpr size_t kMost = 256;
  // Bitwise, so signs of zeros differ and equal NaNs match.
  static bool same(const std::vector<double>& x, const std::vector<double>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](double l, double r) {
      return std::bit_cast<uint64_t>(l) == std::bit_cast<uint64_t>(r);
    });
  }
  static uint64_t hash(const std::vector<double>& all) {
    uint64_t h = all.size();
    for (const double v : all) h = (h ^ std::bit_cast<uint64_t>(v)) * 0x9E3779B97F4A7C15 ^ h >> 29;
    return h;
  }

  std::unordered_map<uint64_t, Product> known_;
};

}  // namespace assay::runtime::simulated
