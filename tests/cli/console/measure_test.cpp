// The places of a probe's results, and of an earlier probe's.
#include "cli/console/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "probe/journal.h"
#include "support/files/files.h"
#include "tests/toolkit/scratch_directory.h"

namespace assay::console {
namespace {

namespace fs = std::filesystem;
using ::assay::test::ScratchDirectory;

std::string made_journal(const std::string& directory) {
  fs::create_directories(directory);
  std::ofstream out(directory + "/" + probe::kJournalFile);
  for (const double bytes : {8192.0, 16384.0, 32768.0, 65536.0})
    out << probe::to_line(probe::Observation{
               "chase", "chase", {{"bytes", bytes}}, "s", {1e-9, 1e-9}, {0, 0}, 0, 3e9})
        << "\n";
  out << probe::to_line(
             probe::Observation{"clock", "sentinel", {}, "s", {3e-10, 3e-10}, {0, 0}, 0, 3e9})
      << "\n";
  out << probe::to_line("name", "made <chip>") << "\n";
  return directory;
}

TEST(ProbePlaces, AFileStaysAFile) {
  const ScratchDirectory dir;
  EXPECT_EQ(places_of(dir.at("p.yaml")), (ProbePlaces{"", dir.at("p.yaml"), "", ""}));
  EXPECT_EQ(places_of(dir.at("p.yml")).profile, dir.at("p.yml"));
  std::ofstream(dir.at("there")) << "x";
  const Diags wrong = prepare_places(places_of(dir.at("there")));
  ASSERT_EQ(wrong.size(), 1U) << "a file that may not be a profile is not overwritten";
  EXPECT_EQ(wrong[0].file, dir.at("there"));
}

TEST(ProbePlaces, ADirectoryHoldsProfileObservationsAndReport) {
  const ScratchDirectory dir;
  const ProbePlaces expected{dir.at("out"), dir.at("out/profile.yaml"), dir.at("out/observations"),
                             dir.at("out/report.html")};
  EXPECT_EQ(places_of(dir.at("out")), expected);
  EXPECT_EQ(places_of(dir.at("out") + "/"), expected);
  fs::create_directory(dir.at("odd.yaml"));
  EXPECT_EQ(places_of(dir.at("odd.yaml")).profile, dir.at("odd.yaml/profile.yaml"));
  EXPECT_EQ(places_of(dir.at("new.yaml") + "/").profile, dir.at("new.yaml/profile.yaml"));
}

TEST(ProbePlaces, ReportsUnwritablePlacesBeforeTheWork) {
  const ScratchDirectory dir;
  std::ofstream(dir.at("file")) << "x";
  EXPECT_FALSE(prepare_places(places_of(dir.at("file") + "/inside/")).empty());
  EXPECT_FALSE(prepare_places(places_of(dir.at("absent/p.yaml"))).empty());
  EXPECT_FALSE(prepare_places(places_of(dir.at("absent/out"))).empty());
  EXPECT_TRUE(prepare_places(places_of(dir.at("out"))).empty());
  EXPECT_TRUE(directory_exists(dir.at("out")));
}

TEST(ProbePlaces, AnEarlierProbeIsItsDirectoryOrItsObservations) {
  const ScratchDirectory dir;
  made_journal(dir.at("one/observations"));
  made_journal(dir.at("loose"));
  EXPECT_EQ(observations_of(dir.at("one")), dir.at("one") + "/observations");
  EXPECT_EQ(observations_of(dir.at("one/observations")), dir.at("one/observations"));
  EXPECT_EQ(results_of(dir.at("one")), dir.at("one"));
  EXPECT_EQ(results_of(dir.at("one/observations/")), dir.at("one"));
  EXPECT_EQ(results_of(dir.at("loose")), "");
  EXPECT_TRUE(measure_again(dir.at("one")).ok());
  EXPECT_TRUE(measure_again(dir.at("loose")).ok());
  EXPECT_FALSE(measure_again(dir.at("nowhere")).ok());
}

TEST(ProbePlaces, KeptObservationsCanBeInferredFromAgain) {
  const ScratchDirectory dir;
  const std::string from = made_journal(dir.at("loose"));
  const auto result = measure_again(from);
  ASSERT_TRUE(result.ok()) << render(result.diags());
  const ProbePlaces places = places_of(dir.at("out"));
  ASSERT_TRUE(prepare_places(places).empty());
  ASSERT_TRUE(keep(*result, places, from).empty());
  const auto again = measure_again(dir.at("out"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->profile, result->profile);
  EXPECT_THAT(*read_text(places.report), testing::HasSubstr("<h1>made &lt;chip&gt;</h1>"));
  EXPECT_TRUE(file_exists(places.profile));
  for (const auto& entry : fs::recursive_directory_iterator(dir.at("out")))
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos)
        << entry.path() << " was not removed";
}

}  // namespace
}  // namespace assay::console
