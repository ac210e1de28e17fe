#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "ir/text_body.h"
#include "ir/text_index.h"
#include "ir/text_layout.h"

namespace assay::ir {
namespace {

const std::vector<std::string> kAxes = {"x", "y", "long name", "inf", "it's", "r"};
const std::vector<std::string> kTensors = {"a", "b.out", "/conv/Conv_output_0", "w"};

Index index_of(const std::string& text) {
  Scanner s(text);
  Index a = parse_index(s, kAxes);
  s.expect_end();
  return a;
}

std::string index_text(const Index& a) { return spell_index(a, kAxes); }

// The fault of an index, as "place: message".
std::string index_fault(const std::string& text) {
  try {
    index_of(text);
    return "none";
  } catch (const TextFault& f) {
    return std::to_string(f.at) + ": " + f.message;
  }
}

struct Random {
  std::mt19937 engine{7};
  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); }
};

Index random_index(Random& r, int depth);

Term random_term(Random& r, int depth) {
  Term t;
  t.coeff = std::array<int64_t, 6>{1, 1, -1, 2, -7, 0}[static_cast<size_t>(r.below(6))];
  if (depth > 0 && r.below(3) == 0)
    t.of.push_back(random_index(r, depth - 1));
  else
    t.var = static_cast<int>(r.below(static_cast<int64_t>(kAxes.size())));
  if (r.below(3) == 0) t.div = 1 + r.below(4);
  if (r.below(4) == 0) t.mod = 1 + r.below(5);
  return t;
}

Index random_index(Random& r, int depth) {
  Index a;
  for (int64_t i = r.below(4); i > 0; --i) a.terms.push_back(random_term(r, depth));
  if (r.below(2)) a.offset = r.below(9) - 4;
  return a;
}

TEST(TextIndex, ReadsAsOneWrites) {
  EXPECT_EQ(index_text(variable(0, 2) + variable(5) + -3), "2*x + r - 3");
  EXPECT_EQ(index_text(index_of("x*2+r-3")), "2*x + r - 3");
  EXPECT_EQ(index_text(index_of("(y*7 + x) % 49")), "(7*y + x)%49");
  EXPECT_EQ(index_text(index_of("2*x/3")), "(2*x)/3");
  EXPECT_EQ(index_text(index_of("2*(x/3)")), "2*(x/3)");
  EXPECT_EQ(index_text(index_of("-x/2")), "(-x)/2");
  EXPECT_EQ(index_text(index_of("-(x/2)")), "-(x/2)");
  EXPECT_EQ(index_text(index_of("'long name' - 'inf' + 'it\\'s'")),
            "'long name' - 'inf' + 'it\\'s'");
}

TEST(TextIndex, MeansWhatItSays) {
  const std::vector<int64_t> at = {7, -5, 0, 0, 0, 3};
  EXPECT_EQ(evaluate(index_of("2*x/3"), at), 4);
  EXPECT_EQ(evaluate(index_of("2*(x/3)"), at), 4);
  EXPECT_EQ(evaluate(index_of("x - r - 1 - (x - r)"), at), -1);
  EXPECT_EQ(evaluate(index_of("-x/2"), at), -4);
  EXPECT_EQ(evaluate(index_of("-(x/2)"), at), -3);
  EXPECT_EQ(evaluate(index_of("x/2%2*5"), at), 5);
  EXPECT_EQ(evaluate(index_of("2*(x + 1)*3"), at), 48);
}

TEST(TextIndex, EveryStructureComesBack) {
  Random r;
  for (int i = 0; i < 20000; ++i) {
    const Index a = random_index(r, 3);
    const std::string text = index_text(a);
    ASSERT_EQ(index_of(text), a) << text;
  }
}

TEST(TextIndex, FaultsSayWhere) {
  EXPECT_EQ(index_fault("x + z"), "4: there is no axis z");
  EXPECT_EQ(index_fault("x * y"), "2: two axes are multiplied");
  EXPECT_EQ(index_fault("x / 0"), "2: the divisor must be at least 1");
  EXPECT_EQ(index_fault("x +"), "3: expected an axis, a number or a parenthesis");
  EXPECT_EQ(index_fault("(x"), "2: found the end, expected ')'");
  EXPECT_EQ(index_fault("x y"), "2: found 'y', expected the end of the expression");
  EXPECT_EQ(index_fault("99999999999999999999"), "0: this number is too large");
  EXPECT_EQ(index_fault("9223372036854775807*x*9 - 1").substr(2),
            ": the numbers of this index are too large");
  EXPECT_NE(index_fault(std::string(100000, '(')), "none");
  std::string deep = "x";
  for (int i = 0; i < 100000; ++i) deep += "%3/2";
  EXPECT_NE(index_fault(deep), "none");
}

Scalar random_body(Random& r, int depth) {
  if (depth == 0 || r.below(5) == 0) {
    if (r.below(3) == 0)
      return number(std::array<double, 6>{
          0, -3, 0.1, 1e-30, 1.0 / 3,
          -std::numeric_limits<double>::infinity()}[static_cast<size_t>(r.below(6))]);
    if (r.below(3) == 0) {
      Scalar axis = apply(ScalarOp::axis, {});
      axis.operand = static_cast<int>(r.below(6));
      return axis;
    }
    return read(static_cast<int>(r.below(3)));
  }
  static constexpr ScalarOp kOps[] = {
      ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::div,   ScalarOp::max,
      ScalarOp::pow, ScalarOp::neg, ScalarOp::exp, ScalarOp::floor, ScalarOp::select};
  const ScalarOp op = kOps[r.below(10)];
  const int arity = op == ScalarOp::select                                                ? 3
                    : op == ScalarOp::neg || op == ScalarOp::exp || op == ScalarOp::floor ? 1
                                                                                          : 2;
  std::vector<Scalar> args;
  for (int i = 0; i < arity; ++i) args.push_back(random_body(r, depth - 1));
  return apply(op, std::move(args));
}

TEST(TextBody, EveryTreeComesBack) {
  Random r;
  std::vector<Read> reads(3);
  for (Read& read : reads)
    read = {static_cast<int>(r.below(4)),
            {random_index(r, 1), random_index(r, 1)},
            r.below(2) == 0,
            -0.5};
  for (int i = 0; i < 5000; ++i) {
    const Scalar body = random_body(r, 5);
    const std::string text = spell_body(body, kAxes, [](int k) { return "$" + std::to_string(k); });
    Scanner s(text);
    std::vector<Read> same = reads;
    ASSERT_EQ(parse_body(s, {kAxes, kTensors}, same), body) << text;
    ASSERT_TRUE(s.done()) << text;
    ASSERT_EQ(same, reads);
  }
}

TEST(TextBody, ReadsAreCollectedInOrder) {
  const std::string text =
      "'/conv/Conv_output_0'[2*y + r - 3, x : guard -inf] * w[] + max(w[], -b.out[0])";
  Scanner s(text);
  std::vector<Read> reads;
  const Scalar body = parse_body(s, {kAxes, kTensors}, reads);
  ASSERT_EQ(reads.size(), 3u);
  EXPECT_EQ(reads[0].fill, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(reads[0].guarded);
  EXPECT_EQ(spell_body(body, kAxes,
                       [&](int i) {
                         return spell_read(reads[static_cast<size_t>(i)], {kAxes, kTensors});
                       }),
            text);
}

TEST(TextLayout, ComesBack) {
  std::vector<Layout> layouts = {
      row_major(0), row_major(4), blocked(4, 1, 16), {{{1, 16, 4}, {0, 1, 0}}, {}}};
  layouts.push_back({row_major(4).dims, {{}, {}, {1, 1}, {0, 3}}});
  layouts.push_back({row_major(2).dims, {{}, {}}});
  layouts.push_back({row_major(2).dims, {{1, 1}, {}}, -128});
  for (const Layout& l : layouts) {
    const Result<Layout> back = parse_layout(print(l));
    ASSERT_TRUE(back.ok()) << print(l);
    EXPECT_EQ(back.value(), l) << print(l);
  }
  EXPECT_EQ(print(layouts[4]), "[0, 1, 2, 3] pad 2:1,1 3:0,3");
  EXPECT_EQ(print(layouts[2]), "[0, 1/16, 2, 3, 1%16]");
  EXPECT_FALSE(parse_layout("[0, 1/0]").ok());
  EXPECT_FALSE(parse_layout("[0 1]").ok());
  EXPECT_EQ(print(layouts.back()), "[0, 1] pad 0:1,1 of -128");
  EXPECT_FALSE(parse_layout("[0] pad").ok());
  EXPECT_FALSE(parse_layout("[0] pad 0:1,1 of 256").ok());
}

}  // namespace
}  // namespace assay::ir
