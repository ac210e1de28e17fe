// The journal as a file: it keeps its lines, whatever happens to the disk, the directory or the
// writer.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "probe/journal.h"

namespace assay::probe {
namespace {

namespace fs = std::filesystem;

class JournalFile : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  std::string text(const char* file = kJournalFile) const {
    std::stringstream all;
    all << std::ifstream(directory_ + "/" + file).rdbuf();
    return all.str();
  }
  void leave(const std::string& content) const {
    fs::create_directories(directory_);
    std::ofstream(directory_ + "/" + kJournalFile) << content;
  }

  const std::string directory_ =
      (fs::temp_directory_path() / ("assay_journal." + std::to_string(::getpid()))).string();
  const std::string fact_ = to_line("a", "b");
};

// In a process of its own; true: it succeeded.
bool in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(JournalFile, ResumesAfterTheLastWholeLine) {
  leave(fact_ + "\n{\"kind\":\"sam");
  auto journal = Journal::resume(directory_);
  ASSERT_TRUE(journal.ok()) << render(journal.diags());
  EXPECT_EQ(text(), fact_ + "\n");
  EXPECT_TRUE(journal->append(fact_).empty());
  EXPECT_EQ(text(), fact_ + "\n" + fact_ + "\n");
}

TEST_F(JournalFile, BeginningAnewKeepsTheEarlierOne) {
  leave("what was\n");
  ASSERT_TRUE(Journal::begin(directory_).ok());
  EXPECT_EQ(text(), "");
  EXPECT_EQ(text(kEarlierJournal), "what was\n");
  ASSERT_TRUE(Journal::begin(directory_).ok());
  EXPECT_EQ(text(kEarlierJournal), "what was\n") << "an empty one is nothing to keep";
}

TEST_F(JournalFile, ThereIsNoneToResume) {
  EXPECT_FALSE(Journal::resume(directory_).ok());
  EXPECT_THAT(render(read_journal(directory_).diags()),
              testing::HasSubstr("give the directory of an earlier probe"));
}

// A full disk truncates a line.
TEST_F(JournalFile, AFullDiskIsAnErrorAndCostsNoWholeLine) {
  const auto write_until_full = [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit room{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &room);
    auto journal = Journal::begin(directory_);
    Diags why;
    for (int i = 0; i < 20 && why.empty(); ++i) why = journal->append(fact_);
    return why.size() == 1 && why[0].hint.starts_with("make room") &&
           why[0].file == directory_ + "/" + kJournalFile;
  };
  ASSERT_TRUE(in_child(write_until_full));
  const size_t whole = (fact_.size() + 1) * (100 / (fact_.size() + 1));
  EXPECT_EQ(text().size(), whole) << text();
  auto journal = Journal::resume(directory_);  // there is room again
  EXPECT_TRUE(journal->append(fact_).empty());
  EXPECT_TRUE(read_journal(directory_).ok());
}

TEST_F(JournalFile, ARemovedOrMovedOneIsAnError) {
  auto journal = Journal::begin(directory_);
  ASSERT_TRUE(journal->append(fact_).empty());
  const std::string elsewhere = directory_ + ".moved";
  fs::rename(directory_, elsewhere);
  const Diags why = journal->append(fact_);
  EXPECT_THAT(render(why), testing::HasSubstr("moved or removed"));
  EXPECT_TRUE(read_journal(elsewhere).ok()) << "what was written went with it";
  fs::remove_all(elsewhere);
  EXPECT_FALSE(journal->append(fact_).empty());
}

TEST_F(JournalFile, TwoProbesDoNotShareOne) {
  auto journal = Journal::begin(directory_);
  ASSERT_TRUE(journal->append(fact_).empty());
  const auto refused = [&](auto open) {
    return in_child([&] {
      const auto other = open(directory_);
      return !other.ok() && other.diags()[0].message.find("another probe") != std::string::npos;
    });
  };
  EXPECT_TRUE(refused(Journal::resume));
  EXPECT_TRUE(refused(Journal::begin));
  EXPECT_EQ(text(), fact_ + "\n");
}

// Its workers may outlive a killed probe for a moment.
TEST_F(JournalFile, ChildrenDoNotHoldIt) {
  pid_t orphan = 0;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_TRUE(in_child([&] {
    auto journal = Journal::begin(directory_);
    orphan = ::fork();
    if (orphan == 0)
      while (true) ::pause();
    return ::write(ready[1], &orphan, sizeof orphan) == sizeof orphan &&
           journal->append(fact_).empty();
  }));
  ASSERT_EQ(::read(ready[0], &orphan, sizeof orphan), ssize_t{sizeof orphan});
  EXPECT_TRUE(Journal::resume(directory_).ok());
  ::kill(orphan, SIGKILL);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(JournalFile, AnUnreadableOneSaysWhereAndWhatToDo) {
  leave(fact_ + "\nnonsense\n" + fact_ + "\n");
  const std::string wrong = render(read_journal(directory_).diags());
  EXPECT_THAT(wrong, testing::HasSubstr("journal.jsonl:2: error:"));
  EXPECT_THAT(wrong, testing::HasSubstr("hint: remove these lines"));
  leave(to_line("journal", "assay/journal/3") + "\n");
  EXPECT_THAT(render(read_journal(directory_).diags()),
              testing::HasSubstr("this is 'assay/journal/3', expected assay/journal/2"));
}

}  // namespace
}  // namespace assay::probe
