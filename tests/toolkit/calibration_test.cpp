// Calibrations of models with known errors: the fit, its transfer to other operators, and its file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ir/program.h"
#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"
#include "toolkit/calibrate.h"
#include "toolkit/compile.h"
#include "toolkit/profiles.h"
#include "toolkit/validate_journal.h"
#include "toolkit/validate_score.h"

namespace assay::toolkit {
namespace {

using test::ScratchDirectory;
using testing::HasSubstr;

const hwdesc::Profile& small_profile() {
  static const hwdesc::Profile profile = *load_profile("generic/x86-avx512-2core");
  return profile;
}

// The compiler's choice for an operator, as in a journal.
std::string program_of(const std::string& op) {
  CompileOptions options;
  options.build = false;
  const Result<Bundle> bundle = compile_bundle(*operator_model(op), small_profile(), options);
  return ir::print_program(bundle->plan.programs[0]);
}

struct Truth {  // of an operator's programs: measured / estimate is about `factor`, e^(+-spread)
                // around it
  std::string op;
  double factor = 1, spread = 0;
};

OperatorRows rows_of(const Truth& truth, int programs, std::mt19937& rng) {
  OperatorRows out;
  out.name = truth.op;
  const std::string program = program_of(truth.op);
  std::uniform_real_distribution<double> within(-truth.spread, truth.spread);
  for (int i = 0; i < programs; ++i) {
    ProgramRow r;
    r.id = std::to_string(i);
    r.program = program;
    r.drawn = i % 2 == 0 ? Drawn::best_tenth : Drawn::uniform;
    r.first = i == 0;
    r.estimate.seconds = 1e-5 * (1 + i);
    r.estimate.low = 0.6 * r.estimate.seconds;
    r.estimate.high = 1.5 * r.estimate.seconds;
    r.measured = r.estimate.seconds * truth.factor * std::exp(within(rng));
    out.rows.push_back(r);
  }
  return out;
}

std::vector<OperatorRows> operators_of(const std::vector<Truth>& truths, int programs,
                                       uint32_t seed) {
  std::mt19937 rng(seed);
  std::vector<OperatorRows> out;
  for (const Truth& t : truths) out.push_back(rows_of(t, programs, rng));
  return out;
}

const std::vector<Truth> kTruths = {{"matmul m=32 n=32 k=32", 1.5, 0.1},
                                    {"matmul m=16 n=48 k=8", 1.5, 0.1},
                                    {"relu n=1000", 0.8, 0.3},
                                    {"relu n=4096", 0.8, 0.3}};

TEST(Calibrate, FindsTheFactorAndTheSpreadOfEachClass) {
  const Result<Calibration> c = calibrate(operators_of(kTruths, 200, 1));
  ASSERT_TRUE(c.ok()) << render(c.diags());
  ASSERT_EQ(c->classes.size(), 3U) << "two classes, and `any`";
  const Correction &matmul = c->classes.at("matmul"), &relu = c->classes.at("relu");
  EXPECT_NEAR(matmul.factor, 1.5, 0.03);
  EXPECT_NEAR(relu.factor, 0.8, 0.03);
  EXPECT_EQ(matmul.programs, 400);
  EXPECT_EQ(matmul.operators, 2);
  EXPECT_EQ(c->programs, 800);
  // 19 in 20 uniform errors of +-0.1 lie above -0.09; the model's interval ends at ln 0.6.
  EXPECT_NEAR(matmul.below, 0.09 / -std::log(0.6), 0.05);
  EXPECT_NEAR(matmul.above, 0.09 / std::log(1.5), 0.05);
  EXPECT_NEAR(relu.above, 0.27 / std::log(1.5), 0.08);
}

// Nine in ten unfitted times lie within intervals that are narrower than the model's.
TEST(Calibrate, HoldsForOtherTimesOfTheSameOperators) {
  const Result<Calibration> c = calibrate(operators_of(kTruths, 200, 1));
  ASSERT_TRUE(c.ok()) << render(c.diags());
  Validation fresh;
  fresh.operators = operators_of(kTruths, 200, 2);
  const Result<Validation> by = calibrated(fresh, *c);
  ASSERT_TRUE(by.ok()) << render(by.diags());
  const Score plain = score_of(fresh), better = score_of(*by);
  EXPECT_LT(*plain.all.coverage, 0.8);
  EXPECT_NEAR(*better.all.coverage, 0.9, 0.04);
  EXPECT_LT(*better.all.half_width, *plain.all.half_width);
  EXPECT_LT(*better.all.mape, 0.11);
}

TEST(Calibrate, AnOperatorIsJudgedByTheOthersAlone) {
  Validation v;
  v.operators = operators_of({{"matmul m=32 n=32 k=32", 1, 0.1},
                              {"matmul m=16 n=48 k=8", 1, 0.1},
                              {"relu n=1000", 2, 0.05}},
                             200, 1);
  const Result<Validation> others = calibrated_by_others(v);
  ASSERT_TRUE(others.ok()) << render(others.diags());
  const Score s = score_of(*others);
  EXPECT_NEAR(*s.operators[2].all.bias, -0.5, 0.03) << "no other operator has the factor 2";
  EXPECT_NEAR(*s.operators[0].all.bias, 0, 0.05) << "one outlier hardly changes the others' fit";
}

TEST(Calibrate, FewTimesChangeLittle) {
  std::vector<OperatorRows> operators = operators_of({{"matmul m=32 n=32 k=32", 1, 0.1}}, 400, 1);
  std::mt19937 rng(3);
  operators.push_back(rows_of({"relu n=1000", 2, 0}, 2, rng));
  const Result<Calibration> c = calibrate(operators);
  ASSERT_TRUE(c.ok()) << render(c.diags());
  EXPECT_NEAR(std::log(c->classes.at("relu").factor), 2 * std::log(2.0) / 12, 0.02)
      << "two against ten of all";
}

TEST(Calibrate, WrongProgramsAndNeighboursDoNotCount) {
  std::vector<OperatorRows> operators = operators_of(kTruths, 20, 1);
  const Calibration before = *calibrate(operators);
  ProgramRow odd = operators[0].rows[1];
  odd.measured *= 100;
  odd.wrong = true;
  operators[0].rows.insert(operators[0].rows.end(), 30, odd);
  odd.wrong = false;
  odd.drawn = Drawn::neighbour;
  operators[0].rows.insert(operators[0].rows.end(), 30, odd);
  EXPECT_EQ(*calibrate(operators), before);
}

TEST(Calibrate, OneOperatorIsNotEnough) {
  const Result<Calibration> c = calibrate(operators_of({kTruths[0]}, 20, 1));
  ASSERT_FALSE(c.ok());
  EXPECT_THAT(render(c.diags()), HasSubstr("at least two operators"));
  EXPECT_FALSE(calibrate({}).ok());
}

Calibration made_up() {
  Calibration c;
  c.name = "a chip";
  c.profile = "0b5c";
  c.api = "cpp";
  c.device = "cpu:0";
  c.data = "77ae";
  c.programs = 44;
  c.operators = 3;
  c.classes[kAnyClass] = {1.042, 0.9, 1.25, 44, 3};
  c.classes["matmul"] = {1.113, 0.85, 0, 20, 2};
  return c;
}

TEST(CalibrationFile, ReadsBackAsWritten) {
  const Result<Calibration> read = parse_calibration(print_calibration(made_up()), "c.yaml");
  ASSERT_TRUE(read.ok()) << render(read.diags());
  EXPECT_EQ(*read, made_up());
  const Calibration fitted = *calibrate(operators_of(kTruths, 20, 1));
  EXPECT_EQ(parse_calibration(print_calibration(fitted), "c.yaml")->classes, fitted.classes);
}

TEST(CalibrationFile, ReportsFaultsWithTheirPlaces) {
  const std::string right = print_calibration(made_up());
  const auto faults = [&](const std::string& what, const std::string& by) {
    std::string text = right;
    text.replace(text.find(what), what.size(), by);
    const Result<Calibration> c = parse_calibration(text, "c.yaml");
    return c.ok() ? "" : render(c.diags());
  };
  EXPECT_THAT(faults("1.113", "fast"),
              HasSubstr("c.yaml:12:20: error: 'factor' is 'fast', expected a factor above 0"));
  EXPECT_THAT(faults("1.113", "-1"), HasSubstr("expected a factor above 0"));
  EXPECT_THAT(faults("1.113", "nan"), HasSubstr("expected a factor above 0"));
  EXPECT_THAT(faults("above: 1.25", "abowe: 1.25"), HasSubstr("did you mean 'above'?"));
  EXPECT_THAT(faults("any:", "anything:"), HasSubstr("the class 'any' is missing"));
  EXPECT_THAT(faults("assay/calibration/1", "assay/profile/1"),
              HasSubstr("schema 'assay/profile/1', expected assay/calibration/1"));
  EXPECT_THAT(faults("api: cpp\n", ""), HasSubstr("'api' is missing"));
  EXPECT_FALSE(parse_calibration("[]", "c.yaml").ok());
  EXPECT_FALSE(parse_calibration("", "c.yaml").ok());
}

TEST(Calibration, CorrectsAnUnknownClassAsAny) {
  model::Estimate e;
  e.seconds = 1;
  e.low = 0.5;
  e.high = 2;
  const Span any = calibrated(made_up(), "gelu", e), matmul = calibrated(made_up(), "matmul", e);
  EXPECT_DOUBLE_EQ(any.seconds, 1.042);
  EXPECT_DOUBLE_EQ(any.high, 1.042 * std::pow(2, 1.25));
  EXPECT_DOUBLE_EQ(matmul.low, 1.113 * std::pow(0.5, 0.85));
  EXPECT_DOUBLE_EQ(matmul.high, 1.113) << "of no width above";
  const std::vector<Span> both = {any, matmul};
  EXPECT_DOUBLE_EQ(sum_of(both).low, any.low + matmul.low);
}

TEST(Calibration, RefusesAnotherApiAndNotesAnotherProfile) {
  Calibration c = made_up();
  EXPECT_TRUE(has_error(misfits(c, small_profile(), "opencl")));
  EXPECT_FALSE(has_error(misfits(c, small_profile(), "cpp")));
  EXPECT_THAT(render(misfits(c, small_profile(), "cpp")),
              HasSubstr("made with another profile, 'a chip'"));
}

RunIdentity run_on(const std::string& device) { return {"", "", device, "cpp", "0", 4, 1, 1}; }

TEST(Calibrate, JournalsOfSeveralDevicesAreRefused) {
  const ScratchDirectory dir;
  const std::string a = dir.at("a.journal"), b = dir.at("b.journal"), same = dir.at("same.journal");
  std::mt19937 rng(1);
  const std::vector<OperatorRows> first = {rows_of(kTruths[0], 20, rng)},
                                  second = {rows_of(kTruths[2], 20, rng)};
  ASSERT_TRUE(ValidationJournal::start(a, run_on("cpu:0"), first).ok());
  ASSERT_TRUE(ValidationJournal::start(b, run_on("cpu:1"), second).ok());
  ASSERT_TRUE(ValidationJournal::start(same, run_on("cpu:0"), second).ok());
  const Result<FromJournals> mixed = calibrate_from(small_profile(), {a, b}, "");
  ASSERT_FALSE(mixed.ok());
  EXPECT_THAT(render(mixed.diags()), HasSubstr("b.journal is of cpu:1 (cpp), "));
  const Result<FromJournals> joined = calibrate_from(small_profile(), {a, same}, "");
  ASSERT_TRUE(joined.ok()) << render(joined.diags());
  EXPECT_EQ(joined->calibration.operators, 2);
  EXPECT_EQ(joined->calibration.device, "cpu:0");
  EXPECT_EQ(joined->plain.operators.size(), 2U);
  EXPECT_FALSE(has_error(misfits(joined->calibration, small_profile(), "cpp")));
  EXPECT_EQ(misfits(joined->calibration, small_profile(), "cpp").size(), 0U)
      << "it is of this profile";
}

}  // namespace
}  // namespace assay::toolkit
