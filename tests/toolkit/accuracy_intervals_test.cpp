// Intervals of devices that were never seen: against textbook values, and against devices drawn
// from a known distribution.
#include "toolkit/accuracy_intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay::toolkit::test {
namespace {

// Table of Student's distribution: Abramowitz and Stegun 26.10.
TEST(Intervals, StudentsQuantilesAreThoseOfTheTable) {
  EXPECT_NEAR(student_quantile(0.95, 1), 6.314, 5e-4);
  EXPECT_NEAR(student_quantile(0.95, 5), 2.015, 5e-4);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.228, 5e-4);
  EXPECT_NEAR(student_quantile(0.05, 5), -2.015, 5e-4);
  EXPECT_NEAR(student_quantile(0.5, 3), 0, 1e-9);
}

// Rows of a device lie evenly between offset - width and offset + width, all in one regime.
void add_even(DeviceRatios& to, const std::string& device, double offset, double width, int rows) {
  for (int i = 0; i < rows; ++i) {
    const double log = offset + width * ((2.0 * i + 1) / rows - 1);
    to.add(device, "product", 1e-3 * std::exp(log), 1e-3);
  }
}

TEST(Intervals, OneDeviceSaysWhatItsOwnRowsShow) {
  DeviceRatios r;
  add_even(r, "a", 0.1, 0.5, 1000);
  const Span s = r.of("product", 3);
  EXPECT_NEAR(std::log(s.low), 0.1 - 0.45, 0.02);
  EXPECT_NEAR(std::log(s.high), 0.1 + 0.45, 0.02);
  EXPECT_EQ(s.devices, 1);
  EXPECT_EQ(s.n, 1000);
}

// Nearly all rows of a device are alike: Student's prediction of the next of five offsets is left.
TEST(Intervals, OffsetsAreWidenedForTheirNumber) {
  DeviceRatios r;
  const std::vector<double> offsets = {-0.2, -0.1, 0, 0.1, 0.2};
  for (size_t i = 0; i < offsets.size(); ++i)
    add_even(r, std::string(1, static_cast<char>('a' + i)), offsets[i], 1e-4, 50);
  const Span s = r.of("product", 3);
  const double half = 2.132 * std::sqrt(0.025) * std::sqrt(1.2);  // t(4) at 95 %
  EXPECT_NEAR(std::log(s.low), -half, 0.03 * half);
  EXPECT_NEAR(std::log(s.high), half, 0.03 * half);
  EXPECT_EQ(s.devices, 5);
}

TEST(Intervals, ADeviceWeighsTheSameHoweverManyItsRows) {
  DeviceRatios few, many;
  for (DeviceRatios* r : {&few, &many}) {
    add_even(*r, "a", 0, 0.1, 100);
    add_even(*r, "b", 0.3, 0.2, 100);
    add_even(*r, "c", 0.1, 0.3, r == &many ? 20000 : 100);
  }
  const Span a = few.of("product", 3), b = many.of("product", 3);
  EXPECT_NEAR(a.low / b.low, 1, 0.02);
  EXPECT_NEAR(a.high / b.high, 1, 0.02);
}

TEST(Intervals, WhatIsLeftOutHasNoPart) {
  DeviceRatios with, without;
  for (DeviceRatios* r : {&with, &without}) {
    add_even(*r, "a", 0, 0.1, 100);
    add_even(*r, "b", 0.3, 0.2, 100);
  }
  add_even(with, "c", 3, 2, 100);
  const Span a = with.of("product", 3, "c"), b = without.of("product", 3);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_EQ(a.n, b.n);
  EXPECT_GT(with.of("product", 3).high, a.high);
  EXPECT_EQ(with.of("rows", 3).n, 0);
}

// Every device's shortest times are twice the estimate, the next half of it, however much the
// devices differ otherwise.
TEST(Intervals, WhatAllDevicesHaveInARegimeIsNotWidened) {
  DeviceRatios r;
  for (const auto& [device, width] : {std::pair{"a", 0.01}, {"b", 0.03}, {"c", 0.3}}) {
    add_even(r, device, 0, width, 1000);
    for (int i = 0; i < 50; ++i) {
      r.add(device, "product", 10e-6, 5e-6);
      r.add(device, "product", 10e-6, 20e-6);  // in another regime
    }
  }
  const Span s = r.of("product", 0);
  EXPECT_NEAR(s.low, 2, 0.01);
  EXPECT_NEAR(s.high, 2, 0.01);
  EXPECT_NEAR(r.of("product", 1).low, 0.5, 0.01);
}

TEST(Intervals, ARegimeWithoutMeasurementsHasThoseOfItsClass) {
  DeviceRatios r;
  add_even(r, "a", 0, 0.1, 100);
  add_even(r, "b", 0.1, 0.1, 100);
  EXPECT_EQ(r.of("product", 0).high, r.of("product", 3).high);
}

// Devices drawn from a normal distribution, some seen and one new: which part of its rows is
// inside, on average over draws.
double covered_of_new_devices(int seen, int draws) {
  std::mt19937 bits(1);  // its sequence is the standard's; std::normal_distribution's is not
  const auto uniform = [&] { return (static_cast<double>(bits()) + 0.5) / 4294967296.0; };
  const auto normal = [&] {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  };
  constexpr int kRows = 60;
  double inside = 0;
  for (int draw = 0; draw < draws; ++draw) {
    DeviceRatios r;
    for (int d = 0; d <= seen; ++d) {
      const double offset = 0.15 * normal(), spread = 0.1 * std::exp(0.4 * normal());
      const Span s = d == seen ? r.of("product", 3) : Span{};
      for (int i = 0; i < kRows; ++i) {
        const double log = offset + spread * normal();
        if (d < seen) r.add(std::to_string(d), "product", 1e-3 * std::exp(log), 1e-3);
        inside += d == seen && std::log(s.low) <= log && log <= std::log(s.high) ? 1 : 0;
      }
    }
  }
  return inside / (draws * kRows);
}

// Nine tenths of a new device where many were seen; not less where few were, nor everything.
TEST(Intervals, CoverNineTenthsOfANewDevice) {
  EXPECT_NEAR(covered_of_new_devices(30, 60), 0.90, 0.03);
  for (const int few : {3, 5}) {
    const double covered = covered_of_new_devices(few, 150);
    EXPECT_GE(covered, 0.88) << few;
    EXPECT_LE(covered, 0.97) << few;
  }
}

}  // namespace
}  // namespace assay::toolkit::test
