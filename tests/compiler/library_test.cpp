// What a vendor's library would run: operators of a graph, the catalogue, and candidates.
#include "compiler/library/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "hwdesc/library.h"

namespace assay::test {
namespace {

using compiler::LibraryOperator;
using Kind = LibraryOperator::Kind;

std::vector<LibraryOperator> operators_of(const std::string& text) {
  const Result<ir::Graph> g = compiler::parse_operator(text);
  EXPECT_TRUE(g) << text;
  return g ? compiler::library_operators(*g) : std::vector<LibraryOperator>{};
}

LibraryOperator only(const std::string& text) {
  std::vector<LibraryOperator> all = operators_of(text);
  EXPECT_EQ(all.size(), 1u) << text;
  return all.empty() ? LibraryOperator{} : all[0];
}

TEST(LibraryOperators, ProductsByTheirAxes) {
  const LibraryOperator o = only("matmul b=3 m=5 n=7 k=11");
  EXPECT_EQ(o.kind, Kind::product);
  EXPECT_EQ(o.batches, 3);
  EXPECT_EQ(o.m, 5);
  EXPECT_EQ(o.n, 7);
  EXPECT_EQ(o.k, 11);
  EXPECT_EQ(o.a_bytes, 3 * 5 * 11 * 4);
  EXPECT_EQ(o.b_bytes, 3 * 11 * 7 * 4);
  EXPECT_EQ(o.written, 3 * 5 * 7 * 4);
  EXPECT_EQ(o.flops, 2.0 * 3 * 5 * 7 * 11);
}

TEST(LibraryOperators, ConvolutionsAreProductsAndDepthwiseOnesAreNot) {
  const LibraryOperator o = only("conv n=2 c=16 h=8 w=8 o=32 r=3 s=3");
  EXPECT_EQ(o.kind, Kind::product);
  EXPECT_EQ(o.m * o.n, 2.0 * 8 * 8 * 32);
  EXPECT_EQ(std::min(o.m, o.n), 32);
  EXPECT_EQ(o.k, 16 * 9);
  EXPECT_NE(only("depthwise c=16 h=8 w=8").kind, Kind::product);
}

TEST(LibraryOperators, RowsAreOneLaunch) {
  const LibraryOperator softmax = only("softmax rows=100 columns=64");
  EXPECT_EQ(softmax.kind, Kind::rows);
  EXPECT_EQ(softmax.rows, 100);
  EXPECT_EQ(softmax.columns, 64);
  EXPECT_THAT(softmax.reductions, testing::ElementsAre(ir::Combiner::max, ir::Combiner::sum));
  EXPECT_TRUE(softmax.writes_rows);
  EXPECT_EQ(softmax.read, 6400 * 4) << "read once at least";
  EXPECT_EQ(softmax.written, 6400 * 4);
  EXPECT_GE(softmax.operations.functions, 2 * 6400)
      << "an exponential in the sum, one in the result";
  const LibraryOperator norm = only("layer_norm rows=100 columns=64");
  EXPECT_THAT(norm.reductions, testing::ElementsAre(ir::Combiner::sum, ir::Combiner::sum));
  EXPECT_EQ(norm.read, (6400 + 2 * 64) * 4);
  EXPECT_FALSE(only("reduce_sum rows=100 columns=64").writes_rows);
}

TEST(LibraryOperators, WindowsAndColumnsAreNoRows) {
  for (const char* text : {"max_pool c=4 h=8 w=8 r=3 s=3 stride=2", "column_sum rows=64 columns=8",
                           "avg_pool c=4 h=8 w=8 r=1 s=1 stride=2 pad=0"})
    EXPECT_EQ(only(text).kind, Kind::pointwise) << text;
  EXPECT_EQ(only("max_pool c=4 h=8 w=8 r=3 s=3 stride=2").window_reads, 4.0 * 4 * 4 * 9);
  EXPECT_EQ(only("depthwise c=16 h=8 w=8").operations.multiply_adds, 16.0 * 8 * 8 * 9);
}

TEST(LibraryOperators, ChainsOfElementsAreOneLaunch) {
  const LibraryOperator o = only("gelu n=1000");
  EXPECT_EQ(o.kind, Kind::pointwise);
  EXPECT_EQ(o.nodes.size(), 3u);
  EXPECT_EQ(o.read, 4000);
  EXPECT_EQ(o.written, 4000) << "what lies between is not written";
}

TEST(LibraryOperators, TypesChangeBytes) {
  const LibraryOperator o = only("matmul m=64 n=32 k=16 type=bf16");
  EXPECT_EQ(o.type, ir::DType::bf16);
  EXPECT_EQ(o.read, (64 * 16 + 16 * 32) * 2);
}

TEST(OperatorText, TypesAreKnownOrRefused) {
  EXPECT_TRUE(compiler::parse_operator("relu type=f16 n=10"));
  for (const char* wrong : {"relu n=10 type=f17", "relu n=10 type=", "relu n=10 type=f16 type=f16",
                            "relu n=10 type=i64"})
    EXPECT_FALSE(compiler::parse_operator(wrong)) << wrong;
}

compiler::Catalogue shipped() {
  compiler::Catalogue c;
  for (const hwdesc::LibraryEntry& e : hwdesc::library())
    if (e.kind == hwdesc::LibraryKind::catalogue) {
      EXPECT_EQ(compiler::parse_catalogue(e.text, e.file, c), Diags{}) << e.file;
    }
  return c;
}

TEST(Catalogue, ShippedFilesAreRead) {
  const compiler::Catalogue c = shipped();
  EXPECT_FALSE(c.products.empty());
  EXPECT_FALSE(c.rows.empty());
  EXPECT_FALSE(c.pointwise.empty());
}

// Every fault has its place.
TEST(Catalogue, FaultsAreRefusedWhereTheyStand) {
  const auto fault = [](const std::string& rest) {
    compiler::Catalogue c;
    const Diags diags =
        compiler::parse_catalogue("schema: assay/catalogue/1\nsource: here\n" + rest, "c.yaml", c);
    EXPECT_FALSE(diags.empty()) << rest;
    std::string all;
    for (const Diag& d : diags) {
      EXPECT_EQ(d.line, 4) << rest;
      all += d.message + "\n";
    }
    return all;
  };
  EXPECT_THAT(fault("products:\n  - {name: a, colour: red}\n"), testing::HasSubstr("colour"));
  EXPECT_THAT(fault("products:\n  - {name: a, types: [f99]}\n"), testing::HasSubstr("f99"));
  EXPECT_THAT(fault("products:\n  - {name: a, threads: 0}\n"), testing::HasSubstr("at least 1"));
  EXPECT_THAT(fault("products:\n  - {name: a, tile: [8, 8], threads: 64}\n"),
              testing::HasSubstr("3 numbers"));
  EXPECT_THAT(fault("products:\n  - {name: a, types: [f32], tile: [64, 64, 8], threads: 32, "
                    "lane_tile: [8, 8]}\n"),
              testing::HasSubstr("do not cover"));
  EXPECT_THAT(fault("rows:\n  - {name: a, reductions: [mean]}\n"), testing::HasSubstr("mean"));
  const std::string product = "products:\n  - {name: a, types: [f32], tile: [8, 8, 8], ";
  EXPECT_THAT(fault(product + "threads: 8, wave_tile: [8, 8], slices: 2}\n"),
              testing::HasSubstr("'slices' says nothing of matrix instructions"));
  EXPECT_THAT(fault(product + "threads: 8, lane_tile: [8, 1], operands: registers}\n"),
              testing::HasSubstr("'operands' says nothing of plain lanes"));
  EXPECT_THAT(fault(product + "threads: 8, wave_tile: [8, 8], operands: scratchpad}\n"),
              testing::HasSubstr("'wave_tile' says nothing"));
  EXPECT_THAT(fault(product + "threads: 8, lane_tile: [8, 1], staged: false, stages: 2}\n"),
              testing::HasSubstr("'stages' says nothing without copies"));
  EXPECT_THAT(fault(product + "threads: 8, lane_tile: [8, 1], needs: {vectors: true}}\n"),
              testing::HasSubstr("'threads' says nothing of vectors"));
  EXPECT_THAT(fault("rows:\n  - {name: a, reductions: [sum], threads: 64, most: 9}\n"),
              testing::HasSubstr("'most' says nothing"));
  EXPECT_THAT(fault("pointwise:\n  - {name: a, vector: many}\n"), testing::HasSubstr("number"));
}

// The largest power of two below half a thread for each vector.
TEST(Catalogue, ThreadsFollowTheRow) {
  compiler::RowEntry e;
  e.threads = 0;
  e.vector = 4;
  EXPECT_EQ(compiler::threads_for(e, 1280), 256);
  EXPECT_EQ(compiler::threads_for(e, 2048), 256);
  EXPECT_EQ(compiler::threads_for(e, 2560), 512);
  EXPECT_EQ(compiler::threads_for(e, 100000), 512);
  EXPECT_EQ(compiler::threads_for(e, 10), 32);
}

model::Machine chip_of(const char* profile) {
  const Result<hwdesc::Profile> p = hwdesc::load_from_library(profile);
  EXPECT_TRUE(p) << profile;
  const auto target = hwdesc::select_target(*p, "", "");
  EXPECT_TRUE(target) << profile;
  const auto chip = model::prepare(*target);
  EXPECT_TRUE(chip) << profile;
  return *chip;
}

Result<std::vector<compiler::LibraryStep>> steps(const std::string& op, const char* profile) {
  const Result<ir::Graph> g = compiler::parse_operator(op);
  EXPECT_TRUE(g) << op;
  return compiler::library_steps(*g, shipped(), chip_of(profile), {});
}

// Peak and bandwidth by the datasheet: 14.1 TFLOP/s and 900 GB/s.
TEST(Library, LargeOperatorsNearTheirRoofline) {
  const auto product = steps("matmul m=8192 n=8192 k=8192", "nvidia/v100-pcie-16gb");
  ASSERT_TRUE(product);
  const double peak = 80 * 64 * 2 * 1.38e9, least = 2 * std::pow(8192.0, 3) / peak;
  EXPECT_GE((*product)[0].estimate.seconds, least);
  EXPECT_LE((*product)[0].estimate.seconds, 1.25 * least);
  const auto moved = steps("relu n=268435456", "nvidia/v100-pcie-16gb");
  ASSERT_TRUE(moved);
  const double bytes = 2.0 * 268435456 * 4;
  EXPECT_GE((*moved)[0].estimate.seconds, bytes / 900e9);
  EXPECT_LE((*moved)[0].estimate.seconds, 1.25 * bytes / 900e9);
}

TEST(Library, EachTreeAddsUp) {
  for (const char* profile :
       {"nvidia/h100-sxm5-80gb", "nvidia/v100-pcie-32gb", "qualcomm/adreno-640", "amd/epyc-9654"})
    for (const char* op :
         {"matmul m=4096 n=4096 k=4096", "matmul m=64 n=64 k=65536",
          "softmax rows=4096 columns=777", "layer_norm rows=100 columns=5000", "relu n=1000003"}) {
      const auto found = steps(op, profile);
      ASSERT_TRUE(found.ok()) << profile << " " << op << render(found.diags());
      for (const compiler::LibraryStep& s : *found)
        EXPECT_NEAR(model::time_of(s.estimate.tree), s.estimate.seconds, 1e-9 * s.estimate.seconds)
            << profile << " " << op;
    }
}

TEST(Library, SmallResultsSplitTheirReduction) {
  const auto s = steps("matmul m=128 n=128 k=65536", "nvidia/v100-pcie-16gb");
  ASSERT_TRUE(s);
  EXPECT_THAT((*s)[0].entry, testing::HasSubstr("split"));
  EXPECT_FALSE((*s)[0].lost.empty());
}

TEST(Library, AMissingTypeIsRefusedWithWhatThereIs) {
  const auto s = steps("matmul m=128 n=128 k=128 type=bf16", "nvidia/v100-pcie-16gb");
  ASSERT_FALSE(s);
  EXPECT_THAT(s.diags()[0].message, testing::HasSubstr("bf16"));
  EXPECT_THAT(s.diags()[0].hint, testing::HasSubstr("f32"));
}

}  // namespace
}  // namespace assay::test
