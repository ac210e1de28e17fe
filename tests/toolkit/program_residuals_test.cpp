// Kept journals give the intervals of estimates.
#include "toolkit/program_residuals.h"

#include <gtest/gtest.h>

#include <string>

#include "model/interval.h"
#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::test {
namespace {

const std::string kMeasured = std::string(ASSAY_SOURCE_DIR) + "/tests/data/measured/";

std::string hashes_of(const std::string& text) {
  const size_t from = text.find("journals:\n");
  return text.substr(from, text.find("quantiles:\n") - from);
}

TEST(ProgramResiduals, AreThoseOfTheLibrary) {
  const auto made = toolkit::program_residuals(kMeasured + "index.yaml");
  ASSERT_TRUE(made.ok()) << render(made.diags());
  EXPECT_GT(made->programs, 900);
  EXPECT_GE(made->inside, 0.9) << "a twentieth on either side";
  const auto kept =
      read_text(std::string(ASSAY_SOURCE_DIR) + "/hw_profiles/residuals/programs.yaml");
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(hashes_of(made->text), hashes_of(*kept)) << "of other journals";
  const auto rows = model::parse_residuals(made->text, "made");
  ASSERT_TRUE(rows.ok()) << render(rows.diags());
  EXPECT_EQ(rows->size(), model::program_residuals().size());
}

TEST(ProgramResiduals, NeedAJournalToFit) {
  const ScratchDirectory dir;
  const auto of = [&](const std::string& rows) {
    const std::string index = dir.at("index.yaml");
    EXPECT_TRUE(write_text(index, "schema: assay/journals/1\njournals:\n" + rows).empty());
    return toolkit::program_residuals(index);
  };
  const std::string named = "  - {file: " + kMeasured + "zen4.journal, profile: ";
  EXPECT_FALSE(of(named + kMeasured + "zen4.yaml, use: judge}\n").ok());
  EXPECT_FALSE(of(named + kMeasured + "zen4.yaml, use: both}\n").ok());
  EXPECT_FALSE(of(named + "no-such-chip, use: fit}\n").ok());
  EXPECT_FALSE(of("  - {file: none.journal, profile: nvidia/h200, use: fit}\n").ok());
  EXPECT_FALSE(toolkit::program_residuals(dir.at("none.yaml")).ok());
}

}  // namespace
}  // namespace assay::test
