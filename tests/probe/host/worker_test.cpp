#include "probe/sampling/worker.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace assay::probe {
namespace {

using Body = std::function<std::string(const Send&)>;

Ending run(const Body& body, std::vector<std::string>& lines, double limit_s = 10) {
  return run_worker("made", body, [&](const std::string& l) { lines.push_back(l); }, {limit_s});
}

// Zombies whose new parent does not reap them do not run.
bool runs(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return stat >> number >> name >> state && state != "Z";
}

TEST(Worker, ForwardsItsLines) {
  std::vector<std::string> lines;
  const Ending e = run(
      [](const Send& send) {
        send("a");
        send("b");
        return std::string();
      },
      lines);
  EXPECT_EQ(e.outcome, Outcome::done);
  EXPECT_THAT(lines, testing::ElementsAre("a", "b"));
}

TEST(Worker, ACrashCostsOnlyWhatItHadNotSent) {
  std::vector<std::string> lines;
  const Ending e = run(
      [](const Send& send) -> std::string {
        send("a");
        ::raise(SIGSEGV);
        return "";
      },
      lines);
  EXPECT_EQ(e.outcome, Outcome::crashed);
  EXPECT_THAT(e.reason, testing::HasSubstr("signal 11"));
  EXPECT_THAT(lines, testing::ElementsAre("a"));
}

TEST(Worker, AHangEndsAtItsLimit) {
  std::vector<std::string> lines;
  const Ending e = run(
      [](const Send&) -> std::string {
        while (true) ::pause();
      },
      lines, 0.3);
  EXPECT_EQ(e.outcome, Outcome::timed_out);
  EXPECT_LT(e.seconds, 2);
}

TEST(Worker, SaysWhatFailed) {
  std::vector<std::string> lines;
  EXPECT_EQ(run([](const Send&) { return std::string("no\nluck"); }, lines).reason, "no luck");
  EXPECT_EQ(run([](const Send&) -> std::string { throw std::runtime_error("bad"); }, lines).reason,
            "bad");
}

TEST(Worker, CanBeCancelled) {
  int looks = 0;
  const Ending e = run_worker(
      "made",
      [](const Send&) -> std::string {
        while (true) ::pause();
      },
      [](const std::string&) {}, {10, [&] { return ++looks < 4; }});
  EXPECT_EQ(e.outcome, Outcome::cancelled);
  EXPECT_LT(e.seconds, 2);
}

// Compilers, and daemons that drivers start, keep the pipe open.
TEST(Worker, EndsWithItsChildWhateverThatStarted) {
  std::vector<std::string> lines;
  const auto start_another = [] {
    const pid_t other = ::fork();
    if (other == 0)
      while (true) ::pause();
    return other;
  };
  const Ending e = run(
      [&](const Send& send) {
        send(std::to_string(start_another()));
        return std::string();
      },
      lines, 5);
  EXPECT_EQ(e.outcome, Outcome::done) << e.reason;
  EXPECT_LT(e.seconds, 2);
  ASSERT_EQ(lines.size(), 1u);
  const pid_t other = std::stoi(lines[0]);
  for (int i = 0; i < 100 && runs(other); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(runs(other));
}

TEST(Worker, ATerminatedChildIsACrash) {
  std::vector<std::string> lines;
  ::signal(SIGTERM, SIG_IGN);  // like a program that cleans up
  const Ending e = run(
      [](const Send&) -> std::string {
        ::raise(SIGTERM);
        return "";
      },
      lines);
  ::signal(SIGTERM, SIG_DFL);
  EXPECT_EQ(e.outcome, Outcome::crashed);
  EXPECT_THAT(e.reason, testing::HasSubstr("signal 15"));
}

}  // namespace
}  // namespace assay::probe
