#include "simulator/pipes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "model/overlap.h"

namespace assay::simulator {

using model::Quantity;

namespace {

// What vectors so wide have for themselves, else `whole`.
model::NarrowRate of_width(std::span<const model::NarrowRate> narrow, int width,
                           const model::NarrowRate& whole) {
  const auto own = std::find_if(narrow.begin(), narrow.end(),
                                [&](const model::NarrowRate& n) { return width <= n.lanes; });
  return own == narrow.end() ? whole : *own;
}

}  // namespace

double Pipes::at_rate(double instructions, const Quantity& rate) const {
  const double passes = std::max(1.0, static_cast<double>(width_) / m_.native_width);
  return rate.value > 0 ? instructions * passes * share_ / rate.value : 0;
}

double Pipes::load_or_store(double instructions, const Quantity& whole,
                            std::span<const model::NarrowRate> narrow) const {
  Quantity rate = whole;
  rate.value = of_width(narrow, width_, {m_.native_width, whole.value}).rate;
  return at_rate(instructions, rate);
}

double Pipes::single_elements(double elements, const Quantity& whole,
                              std::span<const model::NarrowRate> narrow) const {
  return elements * share_ / of_width(narrow, 1, {m_.native_width, whole.value}).rate;
}

// A core loads or stores a vector's first lane as it is and inserts or extracts all others. Vectors
// narrower than were measured take their part of these, but at least as many loads or stores.
double Pipes::gather_or_scatter(double lanes, const Quantity& gathered,
                                std::span<const model::NarrowRate> narrow,
                                const Quantity& otherwise) const {
  const model::NarrowRate measured = of_width(
      narrow, width_, {m_.native_width, gathered.value > 0 ? gathered.value : otherwise.value});
  const double as_measured = lanes * share_ / measured.rate;
  if (gathered.value <= 0 || width_ <= 1 || width_ >= measured.lanes) return as_measured;
  const auto inserted = [](double width) { return (width - 1) / width; };
  const double one_by_one = lanes * share_ / otherwise.value;
  return std::min(as_measured,
                  std::max(one_by_one, as_measured * inserted(width_) / inserted(measured.lanes)));
}

// Vectors narrower than an instruction's may go through a pipe in less time.
double Pipes::arithmetic(double instructions, const Quantity& rate,
                         std::span<const model::NarrowRate> narrow, int width) const {
  return at_rate(instructions, rate) / of_width(narrow, width, {m_.native_width, 1}).rate;
}

double Pipes::busiest(const lower::Counts& counts, double moved_lanes) const {
  const std::array<std::pair<const std::string*, double>, 4> parts = {
      {{&m_.fma_pipe,
        arithmetic(counts.fma * multiply_add_, m_.fma_rate, m_.narrow_arithmetic, width_) +
            arithmetic(moved_lanes, m_.fma_rate, m_.narrow_arithmetic, 1)},
       {&m_.alu_pipe, arithmetic(counts.simple, m_.alu_rate, m_.narrow_arithmetic, width_)},
       {&m_.divide_pipe, arithmetic(counts.divide, m_.divide_rate, m_.narrow_divides, width_)},
       {&m_.math_pipe, arithmetic(counts.math, m_.math_rate, m_.narrow_math, width_)}}};
  std::array<double, 4> busy = {};  // of each pipe, at its first operation
  for (const auto& [pipe, seconds] : parts) {
    size_t first = 0;
    while (*parts[first].first != *pipe) ++first;
    busy[first] += seconds;
  }
  busy[0] += counts.matrix * matrix_seconds_ * share_;  // on the pipe of multiply-adds
  const bool functions_add = m_.alu_pipe != m_.fma_pipe && m_.math_pipe == m_.fma_pipe;
  const double added =
      functions_add ? busy[1] + parts[3].second : 0;  // 1: additions are the first of their pipe
  const double most = *std::max_element(busy.begin(), busy.end());
  if (most <= 0) return added;
  return std::max(model::overlapped(busy), added);
}

}  // namespace assay::simulator
