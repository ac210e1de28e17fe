#include "probe/journal.h"

#include <gmock/gmock.h>

namespace assay::probe {
namespace {

Observations some() {
  Observations o;
  o.points.push_back(
      {"chase", "chase", {{"bytes", 4096}}, "s", {1.25e-9, 1.3e-9}, {0, 0.5}, 0.125, 3.5e9});
  o.points.push_back({"fma", "stack", {{"chains", 8}, {"lanes", 16}}, "B", {8}, {}, 0, {}});
  o.facts.emplace_back("cpu", "A \"quoted\" name\\with tabs\t");
  o.endings.push_back({"chase", Outcome::done, 3.5, ""});
  o.endings.push_back({"fma", Outcome::timed_out, 60, "took longer than 60 s"});
  return o;
}

std::string text_of(const Observations& o) {
  std::string text;
  for (const Observation& p : o.points) text += to_line(p) + "\n";
  for (const auto& [name, value] : o.facts) text += to_line(name, value) + "\n";
  for (const Ending& e : o.endings) text += to_line(e) + "\n";
  return text;
}

TEST(Journal, ReadsBackWhatItWrote) {
  const auto read = parse_journal(text_of(some()), "journal.jsonl");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, some());
}

TEST(Journal, DropsATruncatedLastLine) {
  const std::string text = text_of(some());
  for (const size_t cut : {1, 10, 40}) {
    const auto read = parse_journal(text.substr(0, text.size() - cut), "journal.jsonl");
    ASSERT_TRUE(read.ok()) << cut;
    EXPECT_EQ(read->endings.size(), 1u);
    EXPECT_EQ(read->points, some().points);
  }
}

TEST(Journal, NamesTheWrongLine) {
  const auto read = parse_journal(
      "{\"kind\":\"fact\",\"name\":\"a\",\"text\":\"b\"}\nnonsense\n{\"kind\":\"song\"}\n", "j");
  ASSERT_FALSE(read.ok());
  ASSERT_EQ(read.diags().size(), 2u);
  EXPECT_EQ(read.diags()[0].line, 2);
  EXPECT_EQ(read.diags()[1].line, 3);
  EXPECT_THAT(read.diags()[1].message, testing::HasSubstr("'song' is no kind of journal line"));
}

TEST(Journal, KnowsWhatIsFinished) {
  EXPECT_TRUE(some().finished("chase"));
  EXPECT_FALSE(some().finished("fma"));
  EXPECT_EQ(some().fact("cpu").substr(0, 1), "A");
}

TEST(Journal, ARepeatedExperimentDoesNotCountTwice) {
  const std::string again = text_of(some()) + again_line("chase") + "\n";
  const auto read = parse_journal(again, "j");
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->finished("chase"));
  ASSERT_EQ(read->points.size(), 1u);
  EXPECT_EQ(read->points[0].experiment, "fma");
}

}  // namespace
}  // namespace assay::probe
