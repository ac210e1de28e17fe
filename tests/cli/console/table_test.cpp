#include "cli/console/table.h"

#include <gtest/gtest.h>

namespace assay::console {
namespace {

TEST(Table, DurationsHaveThreeDigits) {
  EXPECT_EQ(duration(0), "0 s");
  EXPECT_EQ(duration(3.2e-9), "3.20 ns");
  EXPECT_EQ(duration(12.34e-6), "12.3 us");
  EXPECT_EQ(duration(999.6e-6), "1.00 ms");
  EXPECT_EQ(duration(0.1234), "123 ms");
  EXPECT_EQ(duration(61), "61.0 s");
}

TEST(Table, QuantitiesAreRounded) {
  EXPECT_EQ(rounded_quantity("1939188 B"), "1.85 MiB");
  EXPECT_EQ(rounded_quantity("11584 KiB"), "11.3 MiB");
  EXPECT_EQ(rounded_quantity("336160 MB/s"), "336 GB/s");
  EXPECT_EQ(rounded_quantity("53134 ps"), "53.1 ns");
  EXPECT_EQ(rounded_quantity("85403 kHz"), "85.4 MHz");
  EXPECT_EQ(rounded_quantity("3592.5 MHz"), "3.59 GHz");
  EXPECT_EQ(rounded_quantity("5.009 cycles@core"), "5.01 cycles@core");
  EXPECT_EQ(rounded_quantity("107.89"), "108");
  EXPECT_EQ(rounded_quantity("4"), "4");
  EXPECT_EQ(rounded_quantity("unknown"), "unknown");
}

TEST(Table, ColumnsAlign) {
  EXPECT_EQ(table({{"a", "b"}, {"long", "1"}, {"x", "22"}}), "a      b\nlong   1\nx     22\n");
}

TEST(Table, LongNamesKeepBothEnds) { EXPECT_EQ(shortened("abcdefghij", 6), "ab..ij"); }

}  // namespace
}  // namespace assay::console
