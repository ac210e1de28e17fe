// Plans for a limit of device memory: right results, the limit kept, refusals.
#include "compiler/stream/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "compiler/stream/cuts.h"
#include "compiler/stream/strip.h"
#include "support/quantity.h"
#include "tests/compiler/image_builder.h"
#include "tests/compiler/kind_graphs.h"

namespace assay::compiler {
namespace {

using ::testing::HasSubstr;
using Way = ir::Transfer::Way;

// Chips of cores and of threads; the latter with a link to the host.
std::vector<hwdesc::Target> chips() {
  hwdesc::Target waves = test::small_gpu(8);
  waves.dialect.known = true;
  hwdesc::MemoryLevel host;
  host.name = host.per = "host";
  host.managed = hwdesc::Managed::explicit_;
  host.bandwidth.read.value = hwdesc::Bandwidth{8e9, ""};
  host.bandwidth.write.value = hwdesc::Bandwidth{6e9, ""};
  host.latency.value = hwdesc::Latency{1e-5, ""};
  waves.profile.memory.push_back(host);
  return {test::small_cpu(8, 2), waves};
}

std::vector<test::Floats> inputs_of(const ir::Graph& g, std::mt19937& rng) {
  std::vector<test::Floats> out;
  for (const int t : g.inputs)
    out.push_back(test::random_floats(rng, ir::elements(g.tensors[static_cast<size_t>(t)])));
  return out;
}

// Compiled for ever smaller limits until one is refused. Returns how many plans had transfers.
int expect_right_within(const hwdesc::Target& target, ir::Graph g, std::mt19937& rng,
                        Fuse fuse = Fuse::elementwise) {
  g.name = "network";
  Options options;
  options.fuse = fuse;
  const Result<Compiled> whole = compile(g, target, options);
  EXPECT_TRUE(whole.ok()) << render(whole.diags());
  if (!whole) return 0;
  const std::vector<test::Floats> inputs = inputs_of(g, rng);
  const auto want = ir::evaluate(g, inputs);
  EXPECT_TRUE(want.ok());
  int streamed = 0;
  for (int64_t limit = whole->plan.arena_bytes + whole->plan.weights_bytes;;
       limit = limit * 2 / 3) {
    options.memory = limit;
    const Result<Compiled> made = compile(g, target, options);
    if (!made) {
      EXPECT_THAT(render(made.diags()), HasSubstr("of device memory"));
      EXPECT_GT(limit, 0);
      return streamed;
    }
    if (made->plan.transfers.empty()) {
      EXPECT_EQ(ir::print_plan(made->plan), ir::print_plan(whole->plan));
      continue;
    }
    ++streamed;
    EXPECT_LE(made->plan.arena_bytes + made->plan.weights_bytes, limit);
    EXPECT_EQ(made->transfers.size(), made->plan.transfers.size());
    test::expect_right(target, g, *made, inputs, *want);
    const Result<ir::Plan> back = ir::parse_plan(ir::print_plan(made->plan), "plan.yaml");
    EXPECT_TRUE(back.ok()) << render(back.diags());
    EXPECT_TRUE(back && *back == made->plan);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "limit " << limit << "\n" << ir::print_plan(made->plan);
      return streamed;
    }
  }
}

void expect_networks_right(size_t chip, uint32_t seeds, int least) {
  int streamed = 0;
  for (uint32_t seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    test::ImageBuilder b(seed);
    b.grow(2 + static_cast<int>(seed % 6));
    ASSERT_EQ(render(ir::verify(b.g)), "") << seed;
    SCOPED_TRACE(seed);
    streamed += expect_right_within(chips()[chip], b.g, b.rng,
                                    seed % 4 == 3 ? Fuse::all : Fuse::elementwise);
  }
  EXPECT_GE(streamed, least);
}

TEST(Stream, RandomNetworksAreRightOnCores) { expect_networks_right(0, 20, 20); }
TEST(Stream, RandomNetworksAreRightOnThreads) { expect_networks_right(1, 16, 16); }

// Rows of a product, whose operands are an input and weights that do not fit either.
TEST(Stream, ProductsAreRightAlsoWhereWeightsDoNotFit) {
  for (const hwdesc::Target& target : chips()) {
    test::Builder b;
    std::mt19937 rng(3);
    const int x = b.input({37, 61}), w = b.weights({61, 127}, rng), v = b.weights({127, 1}, rng);
    b.g.outputs = {b.matmul(b.unary(ir::ScalarOp::abs, b.matmul(x, w)), v)};
    EXPECT_GE(expect_right_within(target, b.g, rng), 2);
  }
}

// Scans, sorts and scatters walk whole dimensions.
TEST(Stream, KindsAreRight) {
  int streamed = 0;
  test::Draw d{std::mt19937(2)};
  for (int i = 0; i < 16 && !HasFailure(); ++i)
    streamed +=
        expect_right_within(chips()[static_cast<size_t>(i % 2)], test::graph_of_kinds(d), d.rng);
  EXPECT_GE(streamed, 8);
}

// Rows of softmax(x y) z: y and z come to the device once, rows of x with each strip.
TEST(Stream, WhatAllStripsReadIsUploadedOnce) {
  for (const hwdesc::Target& target : chips()) {
    test::Builder b;
    std::mt19937 rng(9);
    const int x = b.input({211, 16}), y = b.input({16, 96}), z = b.input({96, 16});
    const int s = b.matmul(x, y);
    const int p =
        b.unary(ir::ScalarOp::exp, b.binary(ir::ScalarOp::sub, s, b.reduce(ir::Combiner::max, s)));
    b.g.outputs = {b.matmul(b.binary(ir::ScalarOp::div, p, b.reduce(ir::Combiner::sum, p)), z)};
    EXPECT_GE(expect_right_within(target, b.g, rng), 2);
    Options options;
    options.fuse = Fuse::elementwise;
    const Result<Compiled> whole = compile(b.g, target, options);
    ASSERT_TRUE(whole.ok());
    options.memory = (whole->plan.arena_bytes + whole->plan.weights_bytes) / 4;
    const Result<Compiled> made = compile(b.g, target, options);
    ASSERT_TRUE(made.ok()) << render(made.diags());
    std::map<std::string, int> uploads;
    for (const ir::Transfer& t : made->plan.transfers)
      if (t.way == Way::upload) ++uploads[made->plan.tensors[static_cast<size_t>(t.host)].name];
    EXPECT_EQ(uploads["in1"], 1) << ir::print_plan(made->plan);
    EXPECT_EQ(uploads["in2"], 1);
    EXPECT_GT(made->plan.transfers.size(), 6U);
  }
}

TEST(Stream, LookupsAreRight) {
  test::Builder b;
  std::mt19937 rng(4);
  const int table = b.weights({29, 31}, rng), ids = b.input({53});
  b.g.outputs = {b.unary(ir::ScalarOp::abs, b.scaled(b.gather(table, 0, ids), 3))};
  EXPECT_GE(expect_right_within(chips()[0], b.g, rng), 1);
}

// What differs between strips of one segment is where they begin.
TEST(Stream, StripsBetweenTheBordersAreOneGraph) {
  test::ImageBuilder b(1);
  const int x = b.input({3, 64, 17});
  b.g.outputs = {b.pool(b.conv(b.conv(x, 4, 3, 1, 1), 2, 3, 1, 1), 2, 2, 0)};
  const Result<model::Machine> m = model::prepare(chips()[0]);
  ASSERT_TRUE(m.ok());
  const Cuts cuts(b.g, *m, {1e-3, 1e-3, 1e-3});
  Cut c{.segment = {0, 3}, .dim = 1, .height = 4, .strips = 8, .outputs = {{b.g.outputs[0], 1}}};
  std::vector<std::string> keys;
  for (int64_t k = 0; k < c.strips; ++k) {
    const Strip s = strip_of(b.g, c.segment, cuts.regions_of(c, k, true), b.g.outputs);
    EXPECT_EQ(render(ir::verify(s.graph)), "");
    keys.push_back(key_of(s));
  }
  EXPECT_EQ(keys[1], keys[2]);
  EXPECT_EQ(keys[1], keys[6]);
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_NE(keys[7], keys[1]);
  // A row of the pool reads two rows, each convolution one more on both sides.
  const Regions middle = cuts.regions_of(c, 2, true);
  EXPECT_EQ(middle.at(x)[1], (ir::Range{14, 25}));
  EXPECT_EQ(cuts.regions_of(c, 0, true).at(x)[1], (ir::Range{0, 9}));
}

TEST(Stream, ALargerLimitChangesNothing) {
  test::ImageBuilder b(5);
  b.grow(6);
  const Result<Compiled> whole = compile(b.g, chips()[0], {});
  ASSERT_TRUE(whole.ok());
  Options options;
  options.memory = whole->plan.arena_bytes + whole->plan.weights_bytes;
  const Result<Compiled> limited = compile(b.g, chips()[0], options);
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->plan, whole->plan);
  EXPECT_EQ(limited->total.seconds, whole->total.seconds);
}

// The refusal names the node and a limit; that limit is enough.
TEST(Stream, ARefusalSaysWhatFits) {
  test::ImageBuilder b(6);
  const int x = b.input({5, 23, 61});
  b.g.outputs = {b.scaled(b.conv(x, 7, 3, 1, 1), 2)};
  Options options;
  options.memory = 1000;
  const Result<Compiled> refused = compile(b.g, chips()[0], options);
  ASSERT_FALSE(refused.ok());
  const std::string text = render(refused.diags());
  EXPECT_THAT(text, HasSubstr("conv0"));
  const size_t at = text.find("--memory '") + 10;
  const Result<Quantity> enough =
      parse_quantity(text.substr(at, text.find('\'', at) - at), Dimension::bytes);
  ASSERT_TRUE(enough.ok()) << text;
  options.memory = static_cast<int64_t>(enough->v);
  const Result<Compiled> made = compile(b.g, chips()[0], options);
  EXPECT_TRUE(made.ok()) << render(made.diags());
}

TEST(Stream, AChipWithoutALinkToTheHostIsRefused) {
  test::ImageBuilder b(7);
  b.g.outputs = {b.scaled(b.conv(b.input({3, 16, 16}), 4, 3, 1, 1), 2)};
  Options options;
  options.fuse = Fuse::elementwise;  // of one step the device holds all
  options.memory = 10000;
  const Result<Compiled> made = compile(b.g, test::small_gpu(8), options);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(render(made.diags()), HasSubstr("does not say how fast"));
}

// Twice the bandwidth of the link, half the time of the same transfers.
TEST(Stream, TransfersTakeTheirBytesOverTheBandwidth) {
  test::ImageBuilder b(8);
  b.g.outputs = {b.scaled(b.conv(b.input({3, 40, 16}), 4, 3, 1, 1), 2)};
  const Result<Compiled> whole = compile(b.g, chips()[1], {});
  ASSERT_TRUE(whole.ok());
  Options options;
  options.memory = (whole->plan.arena_bytes + whole->plan.weights_bytes) / 2;
  const Result<Compiled> made = compile(b.g, chips()[1], options);
  ASSERT_TRUE(made.ok()) << render(made.diags());
  ASSERT_FALSE(made->plan.transfers.empty());
  double sum = 0;
  for (const model::Estimate& e : made->estimates) sum += e.seconds;
  for (size_t i = 0; i < made->transfers.size(); ++i) {
    const ir::Transfer& t = made->plan.transfers[i];
    const auto bytes = static_cast<double>(ir::bytes_of(made->plan, t));
    EXPECT_NEAR(made->transfers[i].seconds, 1e-5 + bytes / (t.way == Way::download ? 6e9 : 8e9),
                1e-12);
    sum += made->transfers[i].seconds;
  }
  EXPECT_NEAR(made->total.seconds, sum, 1e-9 * sum);
}

}  // namespace
}  // namespace assay::compiler
