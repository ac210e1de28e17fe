// Intervals of estimates: counted quantiles by regime.
#include "model/interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace assay::test {
namespace {

const std::string kHead =
    "schema: assay/residuals/1\nmethod: by hand\n"
    "journals:\n  - {file: a.journal, hash: 00}\nquantiles:\n";

std::vector<model::Residual> parsed_rows(const std::string& rows) {
  const auto all = model::parse_residuals(kHead + rows, "r.yaml");
  EXPECT_TRUE(all.ok());
  return all.ok() ? *all : std::vector<model::Residual>{};
}

model::Estimate bounded(const char* bound, double efficiency) {
  model::Estimate e;
  e.bound = bound;
  e.efficiency = efficiency;
  return e;
}

TEST(Interval, IsThatOfTheRegime) {
  const auto all = parsed_rows(
      "  - {unit: cores, bound: vector, below: 0.5, low: 0.8, high: 1.5, n: 50}\n"
      "  - {unit: cores, bound: vector, low: 0.9, high: 1.2, n: 50}\n"
      "  - {unit: waves, bound: vector, low: 0.3, high: 4, n: 50}\n");
  EXPECT_EQ(model::residual_of(all, "cores", bounded("vector", 0.4)).high, 1.5);
  EXPECT_EQ(model::residual_of(all, "cores", bounded("vector", 0.6)).high, 1.2);
  EXPECT_EQ(model::residual_of(all, "waves", bounded("vector", 0.6)).high, 4);
}

TEST(Interval, OfABoundWithoutItsOwnIsThatOfAllPrograms) {
  const auto all = parsed_rows(
      "  - {unit: cores, bound: any, below: 0.5, low: 0.7, high: 1.5, n: 50}\n"
      "  - {unit: cores, bound: any, low: 0.8, high: 1.4, n: 50}\n"
      "  - {unit: cores, bound: load, low: 0.9, high: 1.2, n: 50}\n");
  const model::Residual other = model::residual_of(all, "cores", bounded("launch", 0.4));
  EXPECT_EQ(other.low, 0.7);
  EXPECT_EQ(other.high, 1.5);
  EXPECT_EQ(model::residual_of(all, "cores", bounded("launch", 0.6)).high, 1.4);
  EXPECT_EQ(model::residual_of(all, "cores", bounded("load", 0.4)).high, 1.2);
  const model::Residual none = model::residual_of(all, "waves", bounded("vector", 0.4));
  EXPECT_EQ(none.low, 0.5) << "nothing is known of waves";
  EXPECT_EQ(none.high, 2);
}

TEST(Interval, HoldsItsEstimate) {
  const auto all = parsed_rows("  - {unit: cores, bound: load, low: 1.1, high: 1.2, n: 50}\n");
  EXPECT_EQ(model::residual_of(all, "cores", bounded("load", 0.4)).low, 1);
}

TEST(Interval, EveryTermIsOfAClass) {
  for (const char* name : {"vector", "load", "store", "issue"})
    EXPECT_EQ(model::bound_class(bounded(name, 1)), name);
  EXPECT_EQ(model::bound_class(bounded("chain", 1)), "issue");
  EXPECT_EQ(model::bound_class(bounded("multiply-adds", 1)), "vector");
  EXPECT_EQ(model::bound_class(bounded("scratchpad", 1)), "load");
  EXPECT_EQ(model::bound_class(bounded("far memory", 1)), "transfers");
  EXPECT_EQ(model::bound_class(bounded("l1<-l2", 1)), "transfers");
  EXPECT_EQ(model::bound_class(bounded("launch", 1)), "other");
}

TEST(Interval, BadRowsAreRefused) {
  for (const char* row : {"  - {unit: cores, bound: vector, low: 1.2, high: 0.9, n: 50}\n",
                          "  - {unit: cores, bound: vector, low: 0, high: 0.9, n: 50}\n",
                          "  - {unit: tiles, bound: vector, low: 0.5, high: 0.9, n: 50}\n",
                          "  - {unit: cores, bound: vector, low: 0.5, n: 50}\n",
                          "  - {unit: cores, bound: vector, low: 0.5, high: 2}\n"})
    EXPECT_FALSE(model::parse_residuals(kHead + row, "r.yaml").ok()) << row;
}

TEST(Interval, TheLibraryKnowsCoresAndWaves) {
  for (const char* unit : {"cores", "waves"})
    EXPECT_TRUE(std::ranges::any_of(model::program_residuals(), [&](const model::Residual& r) {
      return r.unit == unit;
    })) << unit;
}

}  // namespace
}  // namespace assay::test
