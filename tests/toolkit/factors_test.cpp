// Factors of rates and times, from times that were made with known ones.
#include "toolkit/factors.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/diag.h"
#include "toolkit/profiles.h"

namespace assay::test {
namespace {

using toolkit::FittedFactors;
using toolkit::FittedKind;
using toolkit::ReferenceRow;

const hwdesc::Profile& a100() {
  static const hwdesc::Profile p = *toolkit::load_profile("nvidia/a100-sxm4-80gb");
  return p;
}

toolkit::EstimateOptions options() {
  toolkit::EstimateOptions o;
  o.software = toolkit::Software::library;
  o.launch = "5us";
  return o;
}

std::vector<std::string> products() {
  std::vector<std::string> out;
  for (const int m : {64, 512, 2048})
    for (const int n : {256, 1024, 4096, 8192})
      for (const int k : {512, 2048, 8192})
        out.push_back(fmt::format("matmul m={} n={} k={}", m, n, k));
  return out;
}

// Times of a chip that differs from the profile by these factors.
std::vector<ReferenceRow> times(const std::vector<std::string>& ops, const std::string& type,
                                const compiler::Factors& f) {
  toolkit::EstimateOptions o = options();
  for (const char* kind : {"product", "rows", "pointwise"}) o.factors.push_back({kind, f, 1, 1});
  const auto estimator = toolkit::OperatorEstimator::open(a100(), o);
  EXPECT_TRUE(estimator) << render(estimator.diags());
  std::vector<ReferenceRow> out;
  for (const std::string& op : ops)
    out.push_back({op, type, estimator->estimate(op, type)->total.seconds, {}});
  return out;
}

double factor(const FittedKind& k, compiler::Factor which) {
  return k.factors.factors[static_cast<size_t>(which)];
}

TEST(Factors, AreFoundAgain) {
  const compiler::Factors truth = {0.8, 0.7, 1, 1, 1.5};
  Diags notes;
  const auto fitted =
      toolkit::fit_factors(a100(), options(), times(products(), "bf16", truth), notes);
  ASSERT_TRUE(fitted) << render(fitted.diags());
  ASSERT_EQ(fitted->kinds.size(), 1U);
  const FittedKind& k = fitted->kinds[0];
  EXPECT_EQ(k.factors.kind, "product");
  EXPECT_EQ(k.rows, 36);
  EXPECT_NEAR(factor(k, compiler::Factor::multiply_adds), 0.8, 0.08);
  EXPECT_NEAR(factor(k, compiler::Factor::far_memory), 0.7, 0.07);
  EXPECT_NEAR(factor(k, compiler::Factor::launch), 1.5, 0.15);
  EXPECT_GT(k.before, 0.15);
  EXPECT_LT(k.after, 0.05) << "of rows that were held out";
  EXPECT_LE(k.factors.low, 1);
  EXPECT_GE(k.factors.high, 1);
}

// Elementwise operators say nothing of multiply-adds.
TEST(Factors, ThatAreNotToldStayOne) {
  std::vector<std::string> ops;
  for (int i = 0; i < 30; ++i) ops.push_back(fmt::format("relu n={}", 20000000 + 3000000 * i));
  Diags notes;
  const auto fitted =
      toolkit::fit_factors(a100(), options(), times(ops, "f32", {1, 0.8, 1, 1, 1}), notes);
  ASSERT_TRUE(fitted) << render(fitted.diags());
  const FittedKind& k = fitted->kinds.at(0);
  EXPECT_EQ(k.factors.kind, "pointwise");
  EXPECT_EQ(factor(k, compiler::Factor::multiply_adds), 1);
  EXPECT_NEAR(factor(k, compiler::Factor::far_memory), 0.8, 0.03);
  EXPECT_THAT(k.not_told, testing::Contains(testing::HasSubstr("multiply_adds")));
}

TEST(Factors, NeedTwentyRowsOfAClass) {
  std::vector<std::string> few = products();
  few.resize(19);
  Diags notes;
  const auto fitted =
      toolkit::fit_factors(a100(), options(), times(few, "bf16", compiler::kNoFactors), notes);
  ASSERT_FALSE(fitted);
  EXPECT_THAT(render(fitted.diags()), testing::HasSubstr("20 rows"));
  EXPECT_THAT(render(notes), testing::HasSubstr("19 rows of class product"));
}

TEST(Factors, ChangeAnEstimateAndItsInterval) {
  const std::string op = "relu n=100000000";
  toolkit::EstimateOptions with = options();
  with.factors = {{"pointwise", {1, 0.5, 1, 1, 1}, 0.9, 1.2}};
  const auto plain = toolkit::OperatorEstimator::open(a100(), options()),
             corrected = toolkit::OperatorEstimator::open(a100(), with);
  const model::Estimate before = plain->estimate(op)->total, after = corrected->estimate(op)->total;
  EXPECT_NEAR(after.seconds / before.seconds, 2, 0.1) << "bound by far memory";
  EXPECT_NEAR(after.low / after.seconds, 0.9, 1e-9);
  EXPECT_NEAR(after.high / after.seconds, 1.2, 1e-9);
  with.software = toolkit::Software::assay;
  with.launch.reset();
  EXPECT_FALSE(toolkit::OperatorEstimator::open(a100(), with)) << "they are of a library";
}

TEST(Factors, ReadAsPrinted) {
  FittedFactors f;
  f.name = "chip", f.profile = "ab", f.data = "cd", f.launch = "5us", f.caches = "warm";
  f.kinds = {{{"product", {0.5, 1, 2, 1, 1.25}, 0.9, 1.5}, 40, {}, 0, 0}};
  const auto read = toolkit::parse_factors(toolkit::print_factors(f), "f.yaml");
  ASSERT_TRUE(read) << render(read.diags());
  EXPECT_EQ(read->name, "chip");
  EXPECT_EQ(read->launch, "5us");
  EXPECT_EQ(read->caches, "warm");
  ASSERT_EQ(read->kinds.size(), 1U);
  EXPECT_EQ(read->kinds[0].factors.factors, f.kinds[0].factors.factors);
  EXPECT_EQ(read->kinds[0].factors.high, 1.5);
}

TEST(Factors, AreRefusedWithTheirPlace) {
  const auto why = [](const std::string& classes) {
    const auto read = toolkit::parse_factors(
        "schema: assay/factors/1\nprofile: {name: a, hash: b}\n"
        "measured: {hash: c, rows: 3, launch: graph, caches: cold}\nclasses:\n" +
            classes,
        "f.yaml");
    return read ? std::string() : render(read.diags());
  };
  EXPECT_EQ(why("  rows: {far_memory: 0.5, low: 0.9, high: 1.1}\n"), "");
  EXPECT_THAT(why("  convolution: {low: 0.9, high: 1.1}\n"), testing::HasSubstr("f.yaml:5"));
  EXPECT_THAT(why("  rows: {low: 0.9}\n"), testing::HasSubstr("'high' is missing"));
  EXPECT_THAT(why("  rows: {far_memory: -1, low: 0.9, high: 1.1}\n"),
              testing::HasSubstr("no positive number"));
  EXPECT_THAT(why("  rows: {bandwidth: 1, low: 0.9, high: 1.1}\n"),
              testing::HasSubstr("bandwidth"));
  EXPECT_THAT(why("  rows: {low: 1.1, high: 1.2}\n"), testing::HasSubstr("holds 1"));
}

}  // namespace
}  // namespace assay::test
