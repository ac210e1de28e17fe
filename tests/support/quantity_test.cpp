// Quantities: parsing, printing, and the whole text of each error.
#include "support/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>

namespace assay {
namespace {

constexpr Dimension kAll[] = {Dimension::bytes,  Dimension::count,  Dimension::hertz,
                              Dimension::watts,  Dimension::joules, Dimension::seconds,
                              Dimension::ratio,  Dimension::rate,   Dimension::bandwidth,
                              Dimension::latency};

void reads(std::string_view text, Dimension d, double v, std::string_view clock = "") {
  const auto q = parse_quantity(text, d);
  ASSERT_TRUE(q.ok()) << render(q.diags());
  EXPECT_EQ(q->v, v) << text;
  EXPECT_EQ(q->clock, clock) << text;
}

// "col: message | hint"
std::string complaint(std::string_view text, Dimension d) {
  const auto q = parse_quantity(text, d);
  if (q.ok()) return "";
  const Diag& e = q.diags().front();
  return std::to_string(e.col) + ": " + e.message + (e.hint.empty() ? "" : " | " + e.hint);
}

TEST(Quantity, reads_every_kind) {
  reads("12 B/cycle@core", Dimension::bandwidth, 12, "core");
  reads("490 GB/s", Dimension::bandwidth, 490e9);
  reads("4 cycles@core", Dimension::latency, 4, "core");
  reads("1 cycle@core", Dimension::latency, 1, "core");
  reads("400 ns", Dimension::latency, 400e-9);
  reads("16 /cycle@core", Dimension::rate, 16, "core");
  reads("1410 MHz", Dimension::hertz, 1410e6);
  reads("164 KiB", Dimension::bytes, 167936);
  reads("40 GB", Dimension::bytes, 40e9);
  reads("1.3 pJ", Dimension::joules, 1.3e-12);
  reads("400 W", Dimension::watts, 400);
  reads("3 us", Dimension::seconds, 3e-6);
  reads("255", Dimension::count, 255);
  reads("1.5e2", Dimension::ratio, 150);
}

TEST(Quantity, prints_the_shortest_exact_text) {
  EXPECT_EQ(print_quantity(167936, "", Dimension::bytes), "164 KiB");
  EXPECT_EQ(print_quantity(40e9, "", Dimension::bytes), "40 GB");
  EXPECT_EQ(print_quantity(128, "", Dimension::bytes), "128 B");
  EXPECT_EQ(print_quantity(1024, "", Dimension::bytes), "1 KiB");
  EXPECT_EQ(print_quantity(1410e6, "", Dimension::hertz), "1410 MHz");
  EXPECT_EQ(print_quantity(400e-9, "", Dimension::latency), "400 ns");
  EXPECT_EQ(print_quantity(1.2e-6, "", Dimension::seconds), "1.2 us");
  EXPECT_EQ(print_quantity(1490e9, "", Dimension::bandwidth), "1490 GB/s");
  EXPECT_EQ(print_quantity(12, "core", Dimension::bandwidth), "12 B/cycle@core");
  EXPECT_EQ(print_quantity(1, "core", Dimension::latency), "1 cycles@core");
  EXPECT_EQ(print_quantity(0.1, "", Dimension::ratio), "0.1");
  EXPECT_EQ(print_quantity(0, "", Dimension::bytes), "0 B");
  EXPECT_EQ(print_quantity(-2.5e-9, "", Dimension::seconds), "-2.5 ns");
}

TEST(Quantity, complaints_are_precise) {
  EXPECT_EQ(
      complaint("490", Dimension::bandwidth),
      "1: '490' has no unit | units of a bandwidth: B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, "
      "GiB/s, TiB/s, B/cycle@core");
  EXPECT_EQ(
      complaint("490 GB", Dimension::bandwidth),
      "5: 'GB' is the unit of a size; a bandwidth is expected here | units of a bandwidth: B/s, "
      "kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, B/cycle@core");
  EXPECT_EQ(complaint("164 KB", Dimension::bytes),
            "5: unknown unit 'KB' | kB is 1000 B, KiB is 1024 B");
  EXPECT_EQ(complaint("1410 Mhz", Dimension::hertz), "6: unknown unit 'Mhz' | did you mean 'MHz'?");
  EXPECT_EQ(complaint("164KiB", Dimension::bytes),
            "4: a space is expected between number and unit | write 164 KiB");
  EXPECT_EQ(
      complaint("4 cycles", Dimension::latency),
      "3: 'cycles' does not say of which clock | write cycles@core, or another name of `clocks`");
  EXPECT_EQ(complaint("4 cycles@", Dimension::latency),
            "9: the name of a clock is expected after '@'");
  EXPECT_EQ(complaint("4 ns@core", Dimension::latency), "5: 'ns' is not counted by a clock");
  EXPECT_EQ(complaint("32 lanes", Dimension::count),
            "4: unit 'lanes' after a count, which has none");
  EXPECT_EQ(complaint("nan", Dimension::count), "1: 'nan' is not a count");
  EXPECT_EQ(complaint("1e999", Dimension::count), "1: '1e999' is out of range");
  EXPECT_EQ(complaint("1e99999999999999999999 B", Dimension::bytes),
            "1: '1e99999999999999999999' is out of range");
  EXPECT_EQ(
      complaint("fast", Dimension::seconds),
      "1: 'fast' is not a time | a number, a space and a unit; units of a time: s, ms, us, ns, ps");
}

TEST(Quantity, every_finite_number_comes_back) {
  EXPECT_TRUE(rc::check("parse(print(v)) == v", [](uint64_t bits, uint8_t pick, bool clocked) {
    double v;
    std::memcpy(&v, &bits, sizeof v);
    RC_PRE(std::isfinite(v));
    const Dimension d = kAll[pick % std::size(kAll)];
    const bool can = d == Dimension::rate || d == Dimension::bandwidth || d == Dimension::latency;
    const std::string clock = can && clocked ? "core" : "";
    const auto q = parse_quantity(print_quantity(v, clock, d), d);
    RC_ASSERT(q.ok());
    RC_ASSERT(*q == (Quantity{v, clock}));
  }));
}

TEST(Quantity, any_text_is_read_or_refused) {
  EXPECT_TRUE(rc::check("no text crashes the reader", [](std::string text, uint8_t pick) {
    const auto q = parse_quantity(text, kAll[pick % std::size(kAll)]);
    const bool answered = q.ok() || !q.diags().empty();
    RC_ASSERT(answered);
  }));
}

}  // namespace
}  // namespace assay
