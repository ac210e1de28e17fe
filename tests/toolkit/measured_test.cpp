// Predictions against times on real devices. Profiles of the library's GPUs come from data sheets
// and papers; their times are published ones, of libraries and of other compilers' programs for the
// same operators. Our programs differ from theirs, so medians are bounded, not single errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/statistics.h"
#include "toolkit/validate.h"

namespace assay::toolkit {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream in(std::string(ASSAY_SOURCE_DIR) + "/tests/data/measured/" + file);
  std::vector<std::vector<std::string>> out;
  std::string line, cell;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    out.emplace_back();
    while (std::getline(cells, cell, ',')) out.back().push_back(cell);
  }
  return out;
}

// ASSAY_TEST_EVERY=3 tests every third operator of a long list; without it, all.
std::vector<std::vector<std::string>> some_rows_of(const std::string& file) {
  const char* named = std::getenv("ASSAY_TEST_EVERY");
  const size_t every = named == nullptr ? 1 : static_cast<size_t>(std::stoi(named));
  std::vector<std::vector<std::string>> all = rows_of(file), out;
  for (size_t i = 0; i < all.size(); i += every) out.push_back(std::move(all[i]));
  return out;
}

double predicted(const std::string& op, const std::string& profile) {
  static std::map<std::string, hwdesc::Target> targets;
  if (!targets.contains(profile))
    targets.emplace(profile, target_of(*load_profile(profile), "cuda").value());
  const auto graph = compiler::parse_operator(op);
  EXPECT_TRUE(graph.ok()) << op << ": " << render(graph.diags());
  const auto compiled = compiler::compile(*graph, targets.at(profile), {});
  EXPECT_TRUE(compiled.ok()) << op << ": " << render(compiled.diags());
  return compiled.ok() ? compiled->total.seconds : 0;
}

// predicted / measured - 1, per operator's name.
using ErrorsOf = std::map<std::string, std::vector<double>>;

// The median of |error|, which is printed with the means.
double middle(const ErrorsOf& errors, const std::string& name) {
  std::vector<double> sizes;
  double sum = 0, bias = 0;
  for (const double e : errors.at(name)) {
    sizes.push_back(std::abs(e));
    sum += sizes.back();
    bias += e;
  }
  const auto n = static_cast<double>(sizes.size());
  const double out = quantile_of(sizes, 0.5);
  std::printf("%-15s %3zu operators, error: median %5.1f %%, mean %5.1f %%, bias %+6.1f %%\n",
              name.c_str(), sizes.size(), 100 * out, 100 * sum / n, 100 * bias / n);
  return out;
}

std::string name_of_operator(const std::string& text) { return text.substr(0, text.find(' ')); }

TEST(Measured, AV100GeneratesProgramsAsFastAsPredicted) {
  ErrorsOf errors;
  for (const std::vector<std::string>& r : rows_of("roller_v100.csv")) {
    double best = 1e300;
    for (size_t c = 3; c < r.size(); ++c)
      if (!r[c].empty()) best = std::min(best, std::stod(r[c]));
    errors[name_of_operator(r[1])].push_back(
        predicted(r[1], "nvidia/v100-pcie-16gb") / (best * 1e-3) - 1);
  }
  EXPECT_LT(middle(errors, "matmul"), 0.2);
  EXPECT_LT(middle(errors, "conv"), 0.2);
  EXPECT_LT(middle(errors, "relu"), 0.15);
  // Rows of 1024 are read along them. Those of 121 and 49 are not: each lane has a row, so a load
  // takes a line for each, and other systems' kernels are faster.
  const std::vector<double>& rows = errors.at("reduce_sum");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_LT(std::abs(rows[0]), 0.16);
  EXPECT_LT(std::abs(rows[1]), 0.16);
  EXPECT_LT(std::abs(rows[2]), 1);
  EXPECT_LT(std::abs(rows[3]), 1);
  EXPECT_LT(middle(errors, "avg_pool"), 0.25);
  EXPECT_LT(middle(errors, "depthwise"), 0.25);
}

// cuBLAS and cuDNN on the shapes of speech, translation and vision, from 10 us to 175 ms.
TEST(Measured, AV100RunsDeepBenchAsFastAsPredicted) {
  ErrorsOf errors;
  for (const std::vector<std::string>& r : some_rows_of("deepbench_v100.csv")) {
    const double e = predicted(r[0], "nvidia/v100-pcie-16gb") / (std::stod(r[1]) * 1e-3) - 1;
    errors[name_of_operator(r[0])].push_back(e);
    if (r[0].find(" r=1 s=1 stride=2 pad=0") != std::string::npos)
      errors["conv 1 x 1 / 2"].push_back(e);
  }
  EXPECT_LT(middle(errors, "matmul"), 0.15);
  EXPECT_LT(middle(errors, "conv"), 0.2);
  EXPECT_LT(middle(errors, "conv 1 x 1 / 2"), 0.25) << "strided reads";
}

TEST(Measured, LibrariesTakeAsLongAsPredicted) {
  ErrorsOf errors;
  for (const std::vector<std::string>& r : some_rows_of("neusight_fp32.csv")) {
    const std::string profile = r[0] == "v100" ? "nvidia/v100-pcie-16gb" : "nvidia/a100-sxm4-40gb";
    errors[r[0] + " " + name_of_operator(r[1])].push_back(
        predicted(r[1], profile) / (std::stod(r[2]) * 1e-3) - 1);
  }
  EXPECT_LT(middle(errors, "v100 matmul"), 0.15);
  EXPECT_LT(middle(errors, "a100 matmul"), 0.3);
  for (const char* op : {"add", "relu", "gelu"}) {
    EXPECT_LT(middle(errors, std::string("v100 ") + op), 0.2);
    EXPECT_LT(middle(errors, std::string("a100 ") + op), 0.2);
  }
  // The library's kernels read the rows and write them: two passes. Our programs of softmax read
  // them three times and write them once, with partial results and five launches; those of layer
  // normalisation as often. So they take twice the time, and softmax a launch or two more.
  const std::pair<const char*, double> row_operators[] = {{"v100 softmax", 1.25},
                                                          {"a100 softmax", 1.25},
                                                          {"v100 layer_norm", 1},
                                                          {"a100 layer_norm", 1}};
  for (const auto& [name, most] : row_operators) {
    EXPECT_LT(middle(errors, name), most) << name;
    EXPECT_GT(*mean(errors.at(name)), 0) << name;
  }
}

// Figures of a journal: errors of the first choices and of the model's best tenth; per operator the
// rank correlation and the regret.
struct Judged {
  size_t operators = 0;
  std::vector<double> first, best, ranks, regrets;
  int covered = 0, all = 0, best_covered = 0;
};

Judged judged(const std::string& profile, const std::string& journal) {
  Judged out;
  const auto again =
      judge_again(*load_profile(profile),
                  std::string(ASSAY_SOURCE_DIR) + "/tests/data/measured/" + journal, "");
  EXPECT_TRUE(again.ok()) << render(again.diags());
  if (!again) return out;
  out.operators = again->operators.size();
  for (const OperatorRows& o : again->operators) {
    std::vector<double> predicted, measured;
    double chosen = 0, fastest = std::numeric_limits<double>::infinity();
    for (const ProgramRow& r : o.rows) {
      EXPECT_FALSE(r.wrong) << o.name << ": " << r.parameters;
      fastest = std::min(fastest, r.measured);
      if (r.first) chosen = r.measured;
      if (r.drawn == Drawn::neighbour) continue;
      const double error = std::abs(r.estimate.seconds / r.measured - 1);
      const bool within = r.estimate.low <= r.measured && r.measured <= r.estimate.high;
      if (r.first) out.first.push_back(error);
      if (r.drawn == Drawn::best_tenth) {
        out.best.push_back(error);
        out.best_covered += within ? 1 : 0;
      }
      predicted.push_back(r.estimate.seconds);
      measured.push_back(r.measured);
      ++out.all;
      out.covered += within ? 1 : 0;
    }
    out.ranks.push_back(*spearman(predicted, measured));
    out.regrets.push_back(chosen / fastest);
  }
  return out;
}

// Our programs for thirteen operators on a GPU. Nothing was fitted to these times, but to times of
// other draws.
TEST(Measured, AnH200RunsProgramsAsFastAsPredicted) {
  const Judged j = judged("nvidia/h200", "h200.journal");
  ASSERT_EQ(j.operators, 13u);
  EXPECT_LT(*mean(j.first), 0.25);
  EXPECT_LT(*mean(j.best), 0.3);
  EXPECT_GT(*median(j.ranks), 0.9);
  EXPECT_LT(*geometric_mean(j.regrets), 1.15);
  EXPECT_GE(j.covered, 0.85 * j.all);
}

// And on a CPU with few co-tenants. The intervals are counted from these times.
TEST(Measured, AZen4RunsProgramsAsFastAsPredicted) {
  const Judged j =
      judged(std::string(ASSAY_SOURCE_DIR) + "/tests/data/measured/zen4.yaml", "zen4.journal");
  ASSERT_EQ(j.operators, 14u);
  EXPECT_LT(*mean(j.first), 0.08);
  EXPECT_LT(*mean(j.best), 0.15);
  EXPECT_GT(*median(j.ranks), 0.9);
  EXPECT_LT(*geometric_mean(j.regrets), 1.1);
  EXPECT_GE(j.best_covered, 0.85 * static_cast<double>(j.best.size()));
  EXPECT_GE(j.covered, 0.85 * j.all);
}

}  // namespace
}  // namespace assay::toolkit
