// Copies of staged operands are loops of their own.
#include "model/copies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text_layout.h"
#include "model/closed_form.h"
#include "model/traffic.h"
#include "tests/model/programs.h"

namespace assay::test {
namespace {

constexpr char kInOrder[] = "[1/16, 0, 1%16]", kTurned[] = "[1, 0]";

constexpr double kWindow = 224;  // instructions

double store_rate(const hwdesc::Target& t) { return machine(t).store_rate.value; }

// 64 columns of 128 numbers, 1024 vectors: more than a reorder window.
TEST(Copies, DoNotOverlapWithArithmetic) {
  hwdesc::Target quick = small_cpu(8, 1);
  for (hwdesc::MemoryLevel& l : quick.profile.memory)  // so that stores are the limit
    l.bandwidth.read.value->v = l.bandwidth.write.value->v = 1e6;
  const hwdesc::Target slow = with(quick, "pipes.store.rate*=0.25");
  ASSERT_DOUBLE_EQ(store_rate(slow), 0.25 * store_rate(quick));
  const auto slower = [&](const ir::Program& p) { return seconds(p, slow) - seconds(p, quick); };
  const ir::Program plain = product(64, 64, 128, 64),
                    copied = product(64, 64, 128, 64, 8, kInOrder);
  const double copies = 1024 * (1 / store_rate(slow) - 1 / store_rate(quick));
  EXPECT_GT(slower(copied) - slower(plain), 0.5 * copies);
}

// Copying takes issue slots of its own, and they do not overlap with arithmetic either.
TEST(Copies, TakeTheirSlotsBeforeTheArithmetic) {
  hwdesc::Target quick = small_cpu(8, 1), slow = quick;
  quick.profile.execution.issue.per = slow.profile.execution.issue.per = "unit";
  quick.profile.execution.issue.rate.value = hwdesc::Rate{100, "core"};
  slow.profile.execution.issue.rate.value = hwdesc::Rate{4, "core"};
  for (hwdesc::Target* t : {&quick, &slow}) {
    t->profile.pipes[0].rate.value =
        hwdesc::Rate{0.5, "core"};  // multiply-adds are slower than all slots
    t->profile.pipes[1].rate.value = t->profile.pipes[2].rate.value = hwdesc::Rate{1000, "core"};
  }
  const auto later = [&](const ir::Program& p) { return seconds(p, slow) - seconds(p, quick); };
  const ir::Program plain = product(64, 64, 128, 64),
                    copied = product(64, 64, 128, 64, 8, kInOrder);
  const double slots =
      model::copy_slots(
          model::copies_of(copied, model::closed_form(copied), machine(slow).window).parts) /
      machine(slow).issue_rate.value;
  EXPECT_GT(later(copied) - later(plain), 0.6 * slots);
}

TEST(Copies, OfGatheredLanesTakeMoreSlots) {
  EXPECT_GT(model::copy_slots({.scattered = 1}), model::copy_slots({.stores = 1}))
      << "an element is extracted from its vector first";
  EXPECT_DOUBLE_EQ(model::copy_slots({.loads = 1, .stores = 2, .gathered = 3}),
                   model::copy_slots({.loads = 1}) + model::copy_slots({.stores = 2}) +
                       model::copy_slots({.gathered = 3}));
}

// What fits a core's reorder window overlaps with the arithmetic.
TEST(Copies, OfFewVectorsOverlap) {
  const hwdesc::Target quick = small_cpu(8, 1), slow = with(quick, "pipes.store.rate*=0.25");
  const ir::Program plain = product(64, 16, 16, 16), copied = product(64, 16, 16, 16, 8, kInOrder);
  const double all = 32 * (1 / store_rate(slow) - 1 / store_rate(quick));
  EXPECT_LT((seconds(copied, slow) - seconds(copied, quick)) -
                (seconds(plain, slow) - seconds(plain, quick)),
            0.5 * all);
}

// Single elements are not vectorised.
TEST(Copies, OfNarrowProgramsAreAsNarrow) {
  const auto of = [](int width, const char* layout) {
    const ir::Program p = product(64, 64, 128, 64, width, layout);
    return model::copies_of(p, model::closed_form(p), kWindow);
  };
  EXPECT_DOUBLE_EQ(of(8, kInOrder).total, 64 * 128 / 8.0);
  EXPECT_DOUBLE_EQ(of(4, kInOrder).total, 64 * 128 / 4.0);
  EXPECT_DOUBLE_EQ(of(8, kInOrder).parts.loads, of(8, kInOrder).parts.stores);
  const model::Copies turned = of(8, kTurned);
  EXPECT_DOUBLE_EQ(turned.parts.scattered + turned.parts.gathered, 64 * 128);
}

// Tiles of 20 columns do not begin at multiples of the vector width. Their elements are copied one
// by one, at the rate of single elements.
TEST(Copies, ByElementsAreNoVectors) {
  ir::Program p = product(64, 80, 128, 80, 8, "[0, 1]");
  EXPECT_EQ(model::copies_of(p, model::closed_form(p), kWindow).single_elements, 0);
  p.tiles[0].extent[1] = p.tiles[1].extent[1] = 20;
  const model::Copies copies = model::copies_of(p, model::closed_form(p), kWindow);
  EXPECT_DOUBLE_EQ(copies.single_elements, 80 * 128);
  EXPECT_DOUBLE_EQ(copies.single_elements, copies.total);
  const model::Machine whole = machine(small_cpu(8, 1));
  model::Machine quick = whole;
  quick.narrow_stores = {{1, 4 * whole.store_rate.value}};
  quick.narrow_loads = {{1, 4 * whole.load_rate.value}};
  const auto saved = [&](const char* what) {
    return term(simulator::estimate(p, whole, {}, {}), what) -
           term(simulator::estimate(p, quick, {}, {}), what);
  };
  EXPECT_NEAR(saved("store"), 0.75 * copies.total / whole.store_rate.value, 1e-12);
  EXPECT_NEAR(saved("load"), 0.75 * copies.total / whole.load_rate.value, 1e-12);
}

// 512 columns in 32 blocks of 16. A row of each of 128 is written to 32 lines at a stride of 8 KiB,
// which fall into one of 64 sets; one of 129 to lines in as many sets. A core looks further ahead
// than 32 lines, so the next ones, in the next set, overlap.
TEST(Copies, ConflictsInASetAreSerialised) {
  const auto moved = [](int64_t deep, const char* layout) {
    const ir::Program p = product(64, 512, deep, 512, 8, layout);
    model::Machine m = machine(small_cpu(8, 1));
    m.levels[0].sets = 64;
    return model::traffic(p, model::streams_of(p), m, {})[0];
  };
  const auto written = [](const model::LevelTraffic& t) {
    double bytes = 0;
    for (const model::BytesMoved& s : t.streams) bytes = std::max(bytes, s.written);
    return bytes;
  };
  const model::LevelTraffic crowded = moved(128, kInOrder);
  ASSERT_GT(written(crowded), 100 * 1024);
  const model::Machine core = machine(small_cpu(8, 1));
  const double ahead = core.hidden_latency * core.clock;
  ASSERT_GT(ahead, 32);
  EXPECT_DOUBLE_EQ(crowded.copy_set_conflicts, written(crowded) / 64 / (ahead / 32));
  EXPECT_EQ(moved(129, kInOrder).copy_set_conflicts, 0);
  EXPECT_EQ(moved(128, "[0, 1]").copy_set_conflicts, 0) << "contiguous lines";

  const auto estimated = [](int64_t deep, double changed) {
    model::Machine m = machine(small_cpu(8, 1));
    m.levels[0].sets = 64;
    m.set_conflict_dirty.value = changed;
    return simulator::estimate(product(64, 512, deep, 512, 8, kInOrder), m, {}, {});
  };
  const auto longer = [&](int64_t deep) {
    return estimated(deep, 100e-9).seconds - estimated(deep, 1e-12).seconds;
  };
  EXPECT_GT(longer(128), 0.5 * (term(estimated(128, 100e-9), "set conflicts") -
                                term(estimated(128, 1e-12), "set conflicts")))
      << "it does not overlap with arithmetic";
  EXPECT_GT(longer(128), 0.3 * 100e-9 * crowded.copy_set_conflicts);
  EXPECT_LT(longer(129), 0.1 * longer(128));
}

// Of 64 rows of one number each the copy's innermost loop is over the rows.
TEST(Copies, LoopOverTheInnermostDimensionWithMoreThanOneElement) {
  ir::Program p = product(64, 64, 1, 64);
  p.staging = {ir::Staging{0, 0, *ir::parse_layout(std::string_view("[0, 1]"))}};
  const model::Streams s = model::streams_of(p);
  const auto copy =
      std::ranges::find_if(s.streams, [](const model::Stream& one) { return one.staging >= 0; });
  ASSERT_NE(copy, s.streams.end());
  EXPECT_EQ(model::rows_written_by_copy(p, *copy, 64).run, 64 * 4);
}

}  // namespace
}  // namespace assay::test
